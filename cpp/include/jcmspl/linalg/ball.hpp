// Least squares over vectors that are of length one at most.
#pragma once

#include "jcmspl/support/types.hpp"

namespace jcmspl {

// Lowers <F, F G> / 2 - <F, A> over one column of F after the other, each kept within the unit ball. G (b x b) is
// symmetric; owed is A - F G, and follows for columns that are still to come. Columns whose G_jj is not above noise
// stay as they are.
void descend_within_ball(const ConstView<double>& gram, double noise, MatrixD& owed, MatrixD& columns);

}  // namespace jcmspl
