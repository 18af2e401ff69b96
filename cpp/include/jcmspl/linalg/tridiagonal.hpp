// Orthogonal reduction of a symmetric matrix to tridiagonal form, S = Q T Q', products with Q, and eigenvectors of T.
#pragma once

#include <vector>

#include "jcmspl/linalg/kernels.hpp"
#include "jcmspl/support/team.hpp"

namespace jcmspl {

template <class T>
class Tridiagonal {
public:
  // Reduces S, given by its lower triangle. The first overload consumes S: the reflectors take its memory. The second
  // copies S into the memory of the previous reduction.
  void reduce(Matrix<T>&& S_lower);
  void reduce(const Matrix<T>& S_lower);

  const Vector<T>& diagonal() const { return diagonal_; }
  const Vector<T>& off_diagonal() const { return off_diagonal_; }
  // The largest row sum of |T|, which bounds the absolute values of the eigenvalues.
  T norm_bound() const;

  Matrix<T> form_q(const Team& team) const;
  // c = Q c, Q' c, c Q or c Q' without forming Q: cheaper where c is thin.
  void apply(Side side, bool transpose, Matrix<T>& c, const Team& team = {}) const;

  // T = W diag(values) W', and so S = (Q W) diag(values) (Q W)'.
  struct Decomposition {
    Vector<T> values;   // ascending
    Matrix<T> vectors;  // W
  };
  Decomposition eigen() const;

private:
  // Q is the product of blocks I - V F V' of neighbouring reflectors (the compact WY form).
  // LAPACK's ormtr takes blocks of 32 and rebuilds them at each call; wider ones that are kept run at nearly the speed
  // of a matrix product.
  struct Block {
    Index first;       // column of V; its rows up to this one are zero
    Matrix<T> factor;  // F, upper triangular
  };
  void reduce_vectors();  // which hold S before, and V after
  void build_blocks(const Vector<T>& tau);
  void apply_left(bool transpose, View<T> c) const;
  void apply_right(bool transpose, View<T> c) const;
  auto reflectors(Index first, Index count) const {  // a block's V
    return vectors_.block(first + 1, first, vectors_.rows() - 1 - first, count);
  }

  Matrix<T> vectors_;  // all V, lower trapezoidal: column j is one in row j + 1 and, within its block, zero above
  std::vector<Block> blocks_;
  Vector<T> diagonal_, off_diagonal_, work_;
};

}  // namespace jcmspl
