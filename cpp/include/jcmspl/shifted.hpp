// The Sylvester equations of the descent. With S = CC' symmetric (k x k) and the other coefficient diagonal they read
//
//   z (weight S + shift_j I) = t_j      for every row j of a thin matrix,
//
// one symmetric matrix under many shifts. S is reduced to tridiagonal form once; each row then costs O(k). Where the
// shifts are too small for that to be safe, S is diagonalised instead and zero denominators give zero (minimum norm).
#pragma once

#include "jcmspl/tridiagonal.hpp"

namespace jcmspl {

class ShiftedSolver {
 public:
  // Starts on a new S, given by its lower triangle; decomposes it only when a solve needs that. Keeps a reference.
  void reset(const MatrixD& lower);

  // Replaces each row t_j of rhs (rows x k) by the solution; shifts are non-negative, weight too.
  void solve(double weight, const VectorD& shifts, MatrixD& rhs);

 private:
  void diagonalise();
  void solve_tridiagonal(double weight, const VectorD& shifts);
  void solve_diagonal(double weight, const VectorD& shifts);

  const MatrixD* lower_ = nullptr;
  bool reduced_ = false, diagonalised_ = false;
  Tridiagonal<double> tridiagonal_;
  MatrixD basis_;    // Q of the tridiagonal form, then of the diagonal one
  VectorD values_;   // eigenvalues, once diagonalised
  MatrixD rotated_;  // the right-hand side in the basis
  Eigen::ArrayXXd pivots_;
};

}  // namespace jcmspl
