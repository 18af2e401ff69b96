// The general Sylvester equation  a x + x b = q  for real square a (k x k) and b (m x m).
//
// The structure of each coefficient is found first. Symmetric ones are diagonalised; diagonal, triangular and real
// Schur forms are used as they are. Of two general ones the smaller is reduced to real Schur form and the other only to
// Hessenberg form (Golub, Nash and Van Loan), which saves the more expensive of Bartels and Stewart's two QR
// iterations.
#pragma once

#include <complex>
#include <stdexcept>

#include "jcmspl/support/types.hpp"

namespace jcmspl {

template <class T>
struct SylvesterResults {
  Matrix<T> x;
  bool nearly_singular = false;
  double separation = 0;  // if nearly singular: an estimate of the smallest singular value of x -> a x + x b
};

// An eigenvalue of a and one of b add up to zero.
struct SingularEquation : std::domain_error {
  SingularEquation(std::complex<double> eigenvalue_a, std::complex<double> eigenvalue_b)
      : std::domain_error("singular Sylvester equation"), of_a(eigenvalue_a), of_b(eigenvalue_b) {}
  std::complex<double> of_a, of_b;
};

template <class T>
SylvesterResults<T> solve_sylvester(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& q, const Poll& poll);

// |q - a x - x b| / ((|a| + |b|) |x| + |q|) in Frobenius norms; 0 for 0 / 0.
template <class T>
double sylvester_residual(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& q, const Matrix<T>& x);

}  // namespace jcmspl
