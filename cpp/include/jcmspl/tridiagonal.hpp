// Orthogonal reduction of a symmetric matrix to tridiagonal form, S = Q T Q', and what can be done with it.
//
// Q stays a product of Householder reflectors: applying it to a thin matrix is far cheaper than forming it.
#pragma once

#include "jcmspl/types.hpp"

namespace jcmspl {

enum class Side : char { left = 'L', right = 'R' };

template <class T>
class Tridiagonal {
 public:
  // Reduces the matrix whose lower triangle is given.
  void reduce(const Matrix<T>& lower);

  const Vector<T>& diagonal() const { return diagonal_; }
  const Vector<T>& off_diagonal() const { return off_diagonal_; }
  // The largest row sum of |T|: a bound on the spectral radius.
  T norm_bound() const;

  // c = Q c, Q' c, c Q or c Q'
  void apply(Side side, bool transpose, View<T> c);

  // Eigenvalues (ascending) and eigenvectors of T itself, so that S = (Q W) diag(values) (Q W)'.
  void eigen(Vector<T>& values, Matrix<T>& vectors) const;

 private:
  Matrix<T> reflectors_;
  Vector<T> diagonal_, off_diagonal_, tau_, work_;
};

}  // namespace jcmspl
