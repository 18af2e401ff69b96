#include "jcmspl/linalg/simplex.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "jcmspl/support/parallel.hpp"

namespace jcmspl {

namespace {

constexpr int first_steps = 15;  // of projected gradients

// The nearest point of the simplex is max(0, v - t) for the t that makes the sum one.
void project(VectorD& v, VectorD& sorted) {
  sorted = v;
  std::sort(sorted.data(), sorted.data() + sorted.size(), [](double a, double b) { return a > b; });
  double sum = -1, threshold = 0;
  for (Index j = 0; j < sorted.size(); ++j) {
    sum += sorted[j];
    const double t = sum / static_cast<double>(j + 1);
    if (sorted[j] <= t) break;
    threshold = t;
  }
  v = (v.array() - threshold).max(0.0);
}

// Finds the minimum for one right-hand side after the other.
class Minimiser {
public:
  explicit Minimiser(const MatrixD& q)
      : q_(q), largest_(q.cwiseAbs().maxCoeff()), factor_(q.rows(), q.rows()), step_(1 / bound_on_norm(q)) {}

  // Writes the solution and returns its duality gap.
  double solve(const VectorD& b, VectorD& z) {
    guess(b, z);
    take_support(z);
    const double size = static_cast<double>(q_.rows()) * (largest_ + b.cwiseAbs().maxCoeff());
    const double enough = 8 * std::numeric_limits<double>::epsilon() * size;
    Index newest = -1;
    for (Index round = 0;; ++round) {
      const bool moved = minimise_on_support(b, z, newest);
      gradient_ = q_.lazyProduct(z) - b;
      Index least;
      const double gap = gradient_.dot(z) - gradient_.minCoeff(&least);
      // what does not move any more is as good as rounding lets it be
      if (gap <= enough || !moved || round > 20 * q_.rows() || z[least] > 0) return std::max(gap, 0.0);
      if (!append(least)) return gap;
      newest = least;
    }
  }

private:
  static double bound_on_norm(const MatrixD& q) {
    const double bound = std::min(q.norm(), q.cwiseAbs().rowwise().sum().maxCoeff());
    return bound > 0 ? bound : 1;
  }

  void guess(const VectorD& b, VectorD& z) {
    z = b * step_;
    project(z, sorted_);
    ahead_ = z;
    double momentum = 1;
    for (int i = 0; i < first_steps; ++i) {
      before_ = z;
      z = ahead_ - step_ * (q_.lazyProduct(ahead_) - b);
      project(z, sorted_);
      const double next = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
      ahead_ = z + (momentum - 1) / next * (z - before_);
      momentum = next;
    }
  }

  // The support, and the Cholesky factor of Q on it. What rounding makes dependent is left out.
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

  // Moves z to the least value on its support, dropping what becomes zero on the way. False if it cannot move because
  // the newest member is at its bound: its gradient was rounding.
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
      target_ += (1 - target_.sum()) / ones_.sum() * ones_;  // the least value where the sum is one

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
  double step_;
  std::vector<Index> support_;
  VectorD ahead_, before_, gradient_, sorted_, target_, ones_;
};

}  // namespace

void project_onto_simplex(MatrixD& columns, const Poll& poll) {
  VectorD column, sorted;
  for (Index i = 0; i < columns.cols(); ++i) {
    column = columns.col(i);
    project(column, sorted);
    columns.col(i) = column;
    poll();
  }
}

void minimise_on_simplex(const MatrixD& q, const ConstView<double>& b, MatrixD& z, VectorD& gaps, Index n_threads,
                         const Poll& poll) {
  z.resize(b.rows(), b.cols());
  gaps.resize(b.cols());
  for_ranges_in_parallel(b.cols(), 32 * q.size(), n_threads, poll, [&] {
    return [&, minimiser = Minimiser(q), right = VectorD(), solution = VectorD()](Index first, Index last,
                                                                                  const Poll& own_poll) mutable {
      for (Index i = first; i < last; ++i) {
        right = b.col(i);
        gaps[i] = minimiser.solve(right, solution);
        z.col(i) = solution;
        own_poll();
      }
    };
  });
}

}  // namespace jcmspl
