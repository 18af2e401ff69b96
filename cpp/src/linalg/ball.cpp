#include "jcmspl/linalg/ball.hpp"

#include <cmath>

namespace jcmspl {

void descend_within_ball(const ConstView<double>& gram, double noise, MatrixD& residual, MatrixD& columns) {
  VectorD change;
  for (Index j = 0; j < columns.cols(); ++j) {
    const double curvature = gram(j, j);
    if (!(curvature > noise)) continue;
    auto column = columns.col(j);
    change = column;
    column += residual.col(j) / curvature;
    const double length = column.norm();
    if (!std::isfinite(length))  // overflow: the vector is far outside the ball
      column = column.allFinite() ? column.stableNormalized() : residual.col(j).stableNormalized();
    else if (length > 1)
      column /= length;
    change = column - change;
    const Index after = columns.cols() - j - 1;
    residual.rightCols(after).noalias() -= change * gram.col(j).tail(after).transpose();
  }
}

}  // namespace jcmspl
