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

#include "jcmspl/linalg/tridiagonal.hpp"

namespace jcmspl {

// Neighbouring rows of the right-hand side that share a weight.
struct ShiftedRows {
  double weight;
  VectorD factors;  // one for each row, which is multiplied with it
  VectorD shifts;   // one for each row
};

class ShiftedSolver {
public:
  // lower: the lower triangle of S, which is used up. z: the solutions. Both z and the right-hand side have the rows of
  // the first part on top of those of the second. Weights and shifts are non-negative.
  void solve(MatrixD&& lower, const ConstView<double>& rhs, const std::array<ShiftedRows, 2>& parts, MatrixD& z);
  // The same, but leaves z in the orthonormal basis Q where it was found, as z Q, and follows it with w: w becomes w Q.
  void solve_and_turn(MatrixD&& lower, const ConstView<double>& rhs, const std::array<ShiftedRows, 2>& parts,
                      MatrixD& z, MatrixD& w);

private:
  // The solutions in the basis. False if there is none, for want of weights: then they are in no other.
  bool solve_in_basis(MatrixD&& lower, const ConstView<double>& rhs, const std::array<ShiftedRows, 2>& parts,
                      MatrixD& z);
  // Both take the rows of the right-hand side, in the basis, to the solution.
  void solve_tridiagonal(const ShiftedRows& part, View<double> rows);
  // With eigenvalues of S (or zeros where S has no weight). Those below noise are zero.
  void solve_diagonal(const ShiftedRows& part, const VectorD& eigenvalues, double noise, View<double> rows) const;
  // Makes the eigenvectors the basis, and returns their eigenvalues.
  VectorD diagonalise(double noise);

  Tridiagonal<double> tridiagonal_;
  MatrixD basis_;
  MatrixD work_;
  Eigen::ArrayXXd pivots_;
};

}  // namespace jcmspl
