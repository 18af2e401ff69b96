// The Sylvester equations of the descent. With S = CC' symmetric (k x k) and the other coefficient diagonal they read
//
//   z_j (weight S + shift_j I) = factor_j t_j      for every row j of a thin matrix,
//
// one symmetric matrix with many shifts. S = Q T Q' is reduced to tridiagonal form once; in the basis Q each row then
// costs O(k). Where the shifts are so small that weight T + shift_j I may not be positive definite in floating point, S
// is diagonalised instead: then T is diagonal, and a zero denominator gives a zero (the solution of minimum norm).
#pragma once

#include <array>
#include <optional>

#include "jcmspl/linalg/tridiagonal.hpp"

namespace jcmspl {

// Neighbouring rows of the right-hand side that share a weight. Weights and shifts are not negative.
struct ShiftedRows {
  double weight;
  VectorD factors;  // one for each row
  VectorD shifts;   // one for each row
};

class ShiftedSolver {
public:
  // Writes the solutions in the basis Q, that is z Q, and returns Q, which is valid until the next call. If both
  // weights are zero, S is not reduced: writes z itself and returns null. The right-hand side and z Q have the rows of
  // the first part on top of those of the second; they must not overlap in memory.
  const MatrixD* solve(const MatrixD& S_lower, const ConstView<double>& rhs, const std::array<ShiftedRows, 2>& parts,
                       View<double> zQ, const Team& team);

private:
  // The diagonal form of S. Eigenvalues below the noise, which bounds the rounding errors of S, are set to zero.
  struct Diagonal {
    VectorD eigenvalues;
    double noise;
  };

  // Reduces S to tridiagonal form where that is safe for both parts, else to the diagonal form that is returned.
  std::optional<Diagonal> reduce(const MatrixD& S_lower, const std::array<ShiftedRows, 2>& parts, const Team& team);

  // Replace the rows of the right-hand side, in the basis Q, by those of the solution.
  void solve_tridiagonal(const ShiftedRows& part, View<double> rows, const Team& team) const;
  static void solve_diagonal(const ShiftedRows& part, const Diagonal& S, View<double> rows);

  Tridiagonal<double> tridiagonal_;
  MatrixD basis_;  // Q
};

}  // namespace jcmspl
