// Orthogonal reduction of a symmetric matrix to tridiagonal form, S = Q T Q', and what can be done
// with it.
#pragma once

#include <vector>

#include "jcmspl/linalg/kernels.hpp"
#include "jcmspl/support/types.hpp"

namespace jcmspl {

template <class T>
class Tridiagonal {
public:
  // Reduces the matrix whose lower triangle is given. It is used up: other memory is left in its place.
  void reduce(Matrix<T>&& lower);

  const Vector<T>& diagonal() const { return diagonal_; }
  const Vector<T>& off_diagonal() const { return off_diagonal_; }
  // The largest row sum of |T|: a bound on the spectral radius.
  T norm_bound() const;

  void form_q(Matrix<T>& q) const;
  // c = Q c, Q' c, c Q or c Q' without forming Q: pays where c is thin
  void apply(Side side, bool transpose, Matrix<T>& c) const;

  // Eigenvalues (ascending) and eigenvectors of T itself, so that S = (Q W) diag(values) (Q W)'.
  void eigen(Vector<T>& values, Matrix<T>& vectors) const;

private:
  // Q is the product of blocks I - V F V' of neighbouring reflectors (the compact WY form).
  // LAPACK's ormtr takes blocks of 32 and builds them anew at each call; wider ones, kept, run at
  // nearly the speed of a matrix product.
  struct Block {
    Index first;       // column of V; its rows up to this one are zero
    Matrix<T> factor;  // F, upper triangular
  };
  void build_blocks(const Vector<T>& tau);
  auto reflectors(Index first, Index count) const {  // a block's V
    return vectors_.block(first + 1, first, vectors_.rows() - 1 - first, count);
  }

  Matrix<T> vectors_;  // all V, lower trapezoidal: column j is one in row j + 1 and, within its block, zero above
  std::vector<Block> blocks_;
  Vector<T> diagonal_, off_diagonal_, work_;
};

}  // namespace jcmspl
