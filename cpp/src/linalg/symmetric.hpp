// Symmetric matrices that are given by their lower triangle.
#pragma once

#include "jcmspl/support/types.hpp"

namespace jcmspl {

// Both triangles.
MatrixD full_symmetric(MatrixD lower);

// The transpose of a lower triangular matrix.
MatrixD transposed_lower(MatrixD lower);

struct SymmetricProduct {
  double value;  // <a, b>
  double size;   // |a| |b|, an upper bound on |<a, b>|, and the scale of its rounding errors
};

SymmetricProduct symmetric_product(const MatrixD& a_lower, const MatrixD& b_lower);

}  // namespace jcmspl
