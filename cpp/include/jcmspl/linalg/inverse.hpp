#pragma once

#include "jcmspl/support/types.hpp"

namespace jcmspl {

// The inverse L^-1 of the Cholesky factor of a symmetric positive definite matrix K = L L'. Multiplying with L^-1 and
// then with its transpose leaves residuals of epsilon sqrt(cond K), where multiplying with an explicit K^-1 leaves
// epsilon cond K, and takes no longer. A matrix that is not positive definite gives NaN.
class InverseCholeskyFactor {
public:
  // Takes the lower triangle of K, which is used up: other memory is left in its place.
  void compute(MatrixD&& lower);
  // Whether that was positive definite.
  bool exists() const { return factor_.diagonal().allFinite(); }

  // x = x K^-1
  void divide(View<double> x) const;

private:
  MatrixD factor_;  // lower triangle
};

}  // namespace jcmspl
