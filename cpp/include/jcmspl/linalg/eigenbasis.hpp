// The range of a positive semidefinite matrix, spanned by its eigenvectors: G = V diag(values) V'.
#pragma once

#include "jcmspl/linalg/tridiagonal.hpp"
#include "jcmspl/support/team.hpp"

namespace jcmspl {

class Eigenbasis {
public:
  Eigenbasis() = default;

  // Decomposes G, given by its lower triangle. Eigenvalues of at most epsilon * noise_dimension * largest are rounding
  // noise: their eigenvectors are left out, so that every denominator built on the others is positive and every
  // solution is the minimum-norm one.
  Eigenbasis(MatrixD G_lower, Index noise_dimension, const Poll& poll);

  Index dimension() const { return dimension_; }
  Index rank() const { return values_.size(); }
  const VectorD& values() const { return values_; }

  using Argument = Eigen::Ref<const MatrixD>;
  MatrixD project(const Argument& a, const Team& team) const;  // V' a
  MatrixD lift(const Argument& a, const Team& team) const;     // V a

private:
  Index dimension_ = 0;
  VectorD values_;
  // V = Q W is kept as its two factors: forming the product would cost more than all its later uses.
  Tridiagonal<double> reflectors_;  // Q
  MatrixD vectors_;                 // W, the columns of eigenvalues above the noise
};

}  // namespace jcmspl
