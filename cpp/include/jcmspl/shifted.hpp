// The Sylvester equations of the descent. With S = CC' symmetric (k x k) and the other coefficient
// diagonal they read
//
//   z (weight S + shift_j I) = t_j      for every row j of a thin matrix,
//
// one symmetric matrix under many shifts. S is reduced to tridiagonal form once; each row then
// costs O(k). Where the shifts are too small for that to be safe, S is diagonalised instead and
// zero denominators give zero (minimum norm).
#pragma once

#include <array>

#include "jcmspl/tridiagonal.hpp"

namespace jcmspl {

// Rows of the right-hand side that share a weight, and a factor to be multiplied with.
struct ShiftedRows {
  double weight, factor;
  VectorD shifts;  // one for each row
};

class ShiftedSolver {
public:
  // Starts on a new S, given by its lower triangle; decomposes it only when a solve needs that.
  // Keeps a reference.
  void reset(const MatrixD& lower);

  // The first rows have one weight and factor, the others another; weights and shifts are
  // non-negative.
  void solve(const std::array<ShiftedRows, 2>& parts, const MatrixD& rhs, MatrixD& solution);

private:
  void diagonalise();
  bool tridiagonal_is_safe(const ShiftedRows& part) const;
  void solve_tridiagonal(const ShiftedRows& part, Index first_row);
  void solve_diagonal(const ShiftedRows& part, Index first_row);

  const MatrixD* lower_ = nullptr;
  bool reduced_ = false, diagonalised_ = false;
  Tridiagonal<double> tridiagonal_;
  MatrixD basis_;    // Q of the tridiagonal form, then of the diagonal one
  VectorD values_;   // eigenvalues, once diagonalised
  MatrixD rotated_;  // the right-hand side in the basis
  Eigen::ArrayXXd pivots_;
};

}  // namespace jcmspl
