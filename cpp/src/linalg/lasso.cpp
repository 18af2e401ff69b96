#include "jcmspl/linalg/lasso.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "jcmspl/support/parallel.hpp"

namespace jcmspl {

namespace {

constexpr int inner_sweeps = 10;  // over values that are not zero, between two over all

class Coder {
public:
  Coder(const MatrixD& gram, const LassoSettings& settings) : gram_(gram), settings_(settings) {}

  void code(const VectorD& product, double square, const Poll& poll) {
    codes_.setZero(gram_.rows());
    left_ = product;
    for (Index sweep = 0;; ++sweep) {
      judge(product, square);
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
    const double target = left_[j] + curvature * codes_[j];
    const double size = std::abs(target) - settings_.penalty;
    const double change = (size > 0 ? std::copysign(size, target) / curvature : 0.0) - codes_[j];
    if (change == 0) return;
    codes_[j] += change;
    left_ -= change * gram_.col(j);
  }

  // The gap for the best multiple of the residual that the dual problem allows.
  void judge(const VectorD& product, double square) {
    constexpr double tiny = std::numeric_limits<double>::min();
    const double along = square - codes_.dot(product);                // x'(x - Da)
    const double rest = std::max(along - codes_.dot(left_), 0.0);     // |x - Da|^2
    const double largest = left_.cwiseAbs().maxCoeff();               // of D'(x - Da)
    const double most = settings_.penalty / std::max(largest, tiny);  // that it may be multiplied with
    const double share = std::clamp(along / std::max(rest, tiny), -most, most);
    value = rest / 2 + settings_.penalty * codes_.cwiseAbs().sum();
    gap = std::max(value - share * (along - share * rest / 2), 0.0);
  }

  const MatrixD& gram_;
  LassoSettings settings_;
  VectorD codes_, left_;  // left: D'(x - Da)
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
