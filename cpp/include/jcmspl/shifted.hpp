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
  // lower: the lower triangle of S, which is used up. z: the right-hand side, which becomes the solution. Its first
  // rows have one weight and factor, the others another; weights and shifts are non-negative. spare: memory to work in.
  void solve(MatrixD&& lower, const std::array<ShiftedRows, 2>& parts, MatrixD& z, MatrixD& spare);

private:
  void solve_tridiagonal(const ShiftedRows& part, Index first_row, MatrixD& z);
  // With eigenvalues of S (or zeros where S has no weight). Those below noise are zero.
  void solve_diagonal(const ShiftedRows& part, const VectorD& eigenvalues, double noise, Index first_row,
                      MatrixD& z) const;
  // Makes the eigenvectors the basis, and returns their eigenvalues.
  VectorD diagonalise(double noise);

  Tridiagonal<double> tridiagonal_;
  MatrixD basis_;
  Eigen::ArrayXXd pivots_;
};

}  // namespace jcmspl
