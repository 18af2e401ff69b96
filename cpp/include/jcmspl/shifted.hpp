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
  // lower: the lower triangle of S. size: the norm of what was added up to S, to which its rounding errors are
  // relative. The first rows of rhs have one weight and factor, the others another; weights and shifts are
  // non-negative. The solution is given in a new basis of the k-dimensional space: z = solution * basis()'. Rotating
  // back is left to the caller, who may prefer to move on in that basis.
  void solve(const MatrixD& lower, double size, const std::array<ShiftedRows, 2>& parts, const MatrixD& rhs,
             MatrixD& solution);

  // Whether the last solve changed the basis, and to which: an orthogonal k x k matrix.
  bool has_rotated() const { return has_rotated_; }
  const MatrixD& basis() const { return basis_; }

private:
  void solve_tridiagonal(const ShiftedRows& part, Index first_row, MatrixD& z);
  // With eigenvalues of S (or zeros where S has no weight). Those below noise are zero.
  void solve_diagonal(const ShiftedRows& part, const VectorD& eigenvalues, double noise, Index first_row,
                      MatrixD& z) const;
  // Turns the basis of the tridiagonal form into that of the eigenvectors, whose eigenvalues it returns.
  VectorD diagonalise(double noise);

  Tridiagonal<double> tridiagonal_;
  MatrixD basis_;
  bool has_rotated_ = false;
  Eigen::ArrayXXd pivots_;
};

}  // namespace jcmspl
