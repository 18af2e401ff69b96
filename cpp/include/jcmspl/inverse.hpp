#pragma once

#include "jcmspl/types.hpp"

namespace jcmspl {

// Replaces a symmetric positive definite matrix, given by its lower triangle, by its inverse, both
// triangles. Recursive halving: nearly all the work is in matrix products, where LAPACK's potrf and
// potri spend most of theirs in small triangular kernels. A matrix that is not positive definite
// gives NaN.
void invert_positive_definite(MatrixD& a);

}  // namespace jcmspl
