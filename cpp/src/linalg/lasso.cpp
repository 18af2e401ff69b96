#include "jcmspl/linalg/lasso.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/parallel.hpp"

namespace jcmspl {

namespace {

constexpr int inner_sweeps = 10;  // over the nonzero values, between two sweeps over all

class Coder {
public:
  Coder(const MatrixD& gram, const LassoSettings& settings) : gram_(gram), settings_(settings) {}

  void code(const VectorD& product, double square, const Poll& poll) {
    codes_.setZero(gram_.rows());
    residual_ = product;
    for (Index sweep = 0;; ++sweep) {
      find_gap(product, square);
      if (gap <= settings_.tolerance * square / 2 || sweep == settings_.max_sweeps) return;
      for (Index j = 0; j < codes_.size(); ++j) improve(j);
      for (int again = 0; again < inner_sweeps; ++again)
        for (Index j = 0; j < codes_.size(); ++j)
          if (codes_[j] != 0) improve(j);
      poll();
    }
  }

  const VectorD& codes() const { return codes_; }
  double value = 0, gap = 0;

private:
  void improve(Index j) {
    const double curvature = gram_(j, j);
    if (!(curvature > 0)) return;
    const double target = residual_[j] + curvature * codes_[j];
    const double size = std::abs(target) - settings_.penalty;
    const double change = (size > 0 ? std::copysign(size, target) / curvature : 0.0) - codes_[j];
    if (change == 0) return;
    codes_[j] += change;
    residual_ -= change * gram_.col(j);
  }

  // The duality gap, for the best multiple of the residual that is feasible in the dual problem.
  void find_gap(const VectorD& product, double square) {
    constexpr double tiny = std::numeric_limits<double>::min();
    const double along = square - codes_.dot(product);                 // x'(x - Da)
    const double rest = std::max(along - codes_.dot(residual_), 0.0);  // |x - Da|^2
    const double largest = residual_.cwiseAbs().maxCoeff();            // of D'(x - Da)
    const double most = settings_.penalty / std::max(largest, tiny);   // the largest feasible multiple
    const double share = std::clamp(along / std::max(rest, tiny), -most, most);
    value = rest / 2 + settings_.penalty * codes_.cwiseAbs().sum();
    gap = std::max(value - share * (along - share * rest / 2), 0.0);
  }

  const MatrixD& gram_;
  LassoSettings settings_;
  VectorD codes_, residual_;  // residual: D'(x - Da)
};

}  // namespace

void sparse_codes(const MatrixD& gram, const ConstView<double>& products, const VectorD& squares,
                  const LassoSettings& settings, MatrixD& codes, VectorD& values, VectorD& gaps, Index n_threads,
                  const Poll& poll) {
  codes.resize(products.rows(), products.cols());
  values.resize(products.cols());
  gaps.resize(products.cols());
  for_ranges_in_parallel(products.cols(), 64 * gram.rows(), n_threads, poll, [&] {
    return
        [&, coder = Coder(gram, settings), product = VectorD()](Index first, Index last, const Poll& own_poll) mutable {
          for (Index i = first; i < last; ++i) {
            product = products.col(i);
            coder.code(product, squares[i], own_poll);
            codes.col(i) = coder.codes();
            values[i] = coder.value;
            gaps[i] = coder.gap;
          }
        };
  });
}

}  // namespace jcmspl
