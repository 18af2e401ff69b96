#include "jcmspl/linalg/simplex.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "linalg/blas.hpp"
#include "support/parallel.hpp"

namespace jcmspl {

namespace {

constexpr int first_steps = 15;  // of projected gradients
constexpr Index batch = 256;     // right-hand sides whose gradients are computed by one product

// The nearest point of the simplex is max(0, v - t) for the threshold t that makes the sum one: t = (sum - 1) / count
// over the values above t, which are found by dropping those below again and again.
template <class Column>
void project(Column&& v, VectorD& above) {
  above = v.array() - v.maxCoeff();  // large values must not cost the sums their digits
  v = above;
  double threshold = 0;
  for (Index count = above.size(), before = count + 1; count < before;) {
    before = count;
    threshold = (above.head(count).sum() - 1) / static_cast<double>(count);
    count = std::remove_if(above.data(), above.data() + count, [=](double x) { return x <= threshold; }) - above.data();
  }
  v = (v.array() - threshold).max(0.0);
}

// Power-iteration estimate of the spectral norm, padded by 10 %, at most the largest row sum.
double estimated_norm(const MatrixD& q) {
  VectorD v = VectorD::LinSpaced(q.rows(), 1, 2), product;
  double norm = 0;
  for (int i = 0; i < 20; ++i) {
    product.noalias() = q * v;
    norm = product.norm() / v.norm();
    if (!(norm > 0)) return 1;
    v = product / product.norm();
  }
  return std::min(1.1 * norm, q.cwiseAbs().rowwise().sum().maxCoeff());
}

// A few steps of accelerated projected gradients.
void guess(const MatrixD& q, double step, const ConstView<double>& b, View<double> z) {
  VectorD scratch;
  const auto project_all = [&] {
    for (Index i = 0; i < z.cols(); ++i) project(z.col(i), scratch);
  };
  z = step * b;
  project_all();
  MatrixD ahead = z, before;
  double momentum = 1;
  for (int i = 0; i < first_steps; ++i) {
    before = z;
    z = ahead + step * b;
    gemm(Op::none, Op::none, -step, q, ahead, 1, z);
    project_all();
    const double next = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    ahead = z + (momentum - 1) / next * (z - before);
    momentum = next;
  }
}

// Minimises for one right-hand side after the other, each from a guess.
class Minimiser {
public:
  explicit Minimiser(const MatrixD& q) : q_(q), largest_(q.cwiseAbs().maxCoeff()), factor_(q.rows(), q.rows()) {}

  // Moves to the solution and returns its duality gap.
  double solve(const VectorD& b, VectorD& z) {
    take_support(z);
    const double size = static_cast<double>(q_.rows()) * (largest_ + b.cwiseAbs().maxCoeff());
    const double enough = 8 * std::numeric_limits<double>::epsilon() * size;
    Index newest = -1;
    for (Index round = 0;; ++round) {
      const bool moved = minimise_on_support(b, z, newest);
      gradient_ = -b;
      for (const Index j : support_) gradient_ += z[j] * q_.col(j);
      Index least;
      const double gap = gradient_.dot(z) - gradient_.minCoeff(&least);
      // A point that no longer moves is optimal to rounding.
      if (gap <= enough || !moved || round > 20 * q_.rows() || z[least] > 0) return std::max(gap, 0.0);
      if (!append(least)) return gap;
      newest = least;
    }
  }

private:
  // The support, and the Cholesky factor of Q on it, without members that are dependent to rounding.
  void take_support(VectorD& z) {
    support_.clear();
    for (Index j = 0; j < z.size(); ++j)
      if (z[j] > 0 && !append(j)) z[j] = 0;
    z /= z.sum();
  }

  bool append(Index j) {
    const Index k = static_cast<Index>(support_.size());
    double rest = q_(j, j);
    for (Index i = 0; i < k; ++i) {
      double sum = q_(support_[static_cast<std::size_t>(i)], j);
      sum -= factor_.col(k).head(i).dot(factor_.col(i).head(i));
      factor_(i, k) = sum / factor_(i, i);
      rest -= factor_(i, k) * factor_(i, k);
    }
    if (!(rest > std::numeric_limits<double>::epsilon() * q_(j, j))) return false;
    factor_(k, k) = std::sqrt(rest);
    support_.push_back(j);
    return true;
  }

  // Moves z to the minimum on its support and drops members that become zero on the way. False if it cannot move
  // because the newest member is at its bound: its gradient was a rounding error.
  bool minimise_on_support(const VectorD& b, VectorD& z, Index newest) {
    while (true) {
      const Index k = static_cast<Index>(support_.size());
      const auto upper = factor_.topLeftCorner(k, k).triangularView<Eigen::Upper>();
      target_.resize(k);
      for (Index i = 0; i < k; ++i) target_[i] = b[support_[static_cast<std::size_t>(i)]];
      ones_.setOnes(k);
      for (VectorD* right : {&target_, &ones_}) {
        upper.transpose().solveInPlace(*right);
        upper.solveInPlace(*right);
      }
      target_ += (1 - target_.sum()) / ones_.sum() * ones_;  // the minimum among the points whose sum is one

      double share = 1;
      for (Index i = 0; i < k; ++i) {
        const double from = z[support_[static_cast<std::size_t>(i)]];
        if (target_[i] <= 0) share = std::min(share, from > 0 ? from / (from - target_[i]) : 0.0);
      }
      const bool whole = share >= 1;
      std::vector<Index> kept;
      for (Index i = 0; i < k; ++i) {
        const Index j = support_[static_cast<std::size_t>(i)];
        const bool blocks = target_[i] <= 0 && (z[j] <= 0 || z[j] / (z[j] - target_[i]) <= share);
        z[j] = blocks ? 0.0 : z[j] + share * (target_[i] - z[j]);
        if (!blocks) kept.push_back(j);
      }
      if (whole && static_cast<Index>(kept.size()) == k) return true;
      support_.clear();
      for (const Index j : kept)
        if (!append(j)) z[j] = 0;
      z /= z.sum();
      if (share == 0 && (newest < 0 || z[newest] == 0)) return false;
    }
  }

  const MatrixD& q_;
  double largest_;
  MatrixD factor_;  // upper triangular: Q = R'R on the support
  std::vector<Index> support_;
  VectorD gradient_, target_, ones_;
};

}  // namespace

void project_onto_simplex(MatrixD& columns, const Poll& poll) {
  VectorD scratch;
  for (Index i = 0; i < columns.cols(); ++i) {
    project(columns.col(i), scratch);
    poll();
  }
}

void minimise_on_simplex(const MatrixD& q, const ConstView<double>& b, MatrixD& z, VectorD& gaps, Index n_threads,
                         const Poll& poll) {
  z.resize(b.rows(), b.cols());
  gaps.resize(b.cols());
  const double step = 1 / estimated_norm(q);
  for (Index start = 0; start < b.cols(); start += batch) {
    const Index size = std::min(batch, b.cols() - start);
    const ConstView<double> some(b.data() + start * b.outerStride(), b.rows(), size,
                                 Eigen::OuterStride<>(b.outerStride()));
    guess(q, step, some, {z.data() + start * z.rows(), z.rows(), size, Eigen::OuterStride<>(z.rows())});
    for_ranges_in_parallel(size, 4 * q.size(), n_threads, poll, [&] {
      return [&, minimiser = Minimiser(q), right = VectorD(), solution = VectorD()](Index first, Index last,
                                                                                    const Poll& own_poll) mutable {
        for (Index i = first; i < last; ++i) {
          right = some.col(i);
          solution = z.col(start + i);
          gaps[start + i] = minimiser.solve(right, solution);
          z.col(start + i) = solution;
          own_poll();
        }
      };
    });
  }
}

}  // namespace jcmspl
