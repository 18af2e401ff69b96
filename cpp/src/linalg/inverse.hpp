#pragma once

#include <utility>

#include "jcmspl/support/team.hpp"

namespace jcmspl {

// The inverse L^-1 of the Cholesky factor of a symmetric positive definite matrix K = L L'. Multiplying with L^-1 and
// then with its transpose leaves residuals of epsilon sqrt(cond K), where multiplying with an explicit K^-1 leaves
// epsilon cond K, and takes no longer.
class InverseCholeskyFactor {
public:
  InverseCholeskyFactor() = default;
  // From the lower triangle of K.
  explicit InverseCholeskyFactor(MatrixD K_lower, const Team& team = {});

  // Whether K was positive definite. If not, the factor is NaN.
  bool exists() const { return factor_.diagonal().allFinite(); }

  // L^-1, lower triangle; the upper one is that of K_lower.
  MatrixD matrix() && { return std::move(factor_); }

  // x = x K^-1
  void divide(View<double> x, const Team& team) const;

private:
  MatrixD factor_;  // L^-1, lower triangle
};

}  // namespace jcmspl
