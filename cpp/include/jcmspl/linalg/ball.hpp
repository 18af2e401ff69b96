// Least squares over vectors in the unit ball.
#pragma once

#include "jcmspl/support/types.hpp"

namespace jcmspl {

// Minimises <F, F G> / 2 - <F, A> over one column of F after the other, each kept within the unit ball. gram: G (b x
// b), symmetric; residual: A - F G, kept up to date for the columns that follow. Columns whose G_jj is at most noise do
// not change.
void descend_within_ball(const ConstView<double>& gram, double noise, MatrixD& residual, MatrixD& columns);

}  // namespace jcmspl
