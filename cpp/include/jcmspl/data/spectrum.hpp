// The eigenbases of the two Gram matrices and the data in them: everything about the data that does not depend on
// l1..l4, on k or on the start. Computed once and shared by any number of fits, in several threads at once.
//
// The rows of all matrices of the descent are linear combinations of the rows of X and of L', the one-hot labels. In an
// orthonormal basis of their span each row has s <= r + c coordinates in place of n samples, and every inner product
// over samples is one over coordinates. The first r coordinates span the rows of X, the others the part of the labels
// that is orthogonal to them. Where that part is at the level of rounding errors its computed Gram matrix may have
// negative eigenvalues; they belong to the last n_negative coordinates, whose products are subtracted.
#pragma once

#include "jcmspl/data/statistics.hpp"
#include "jcmspl/linalg/eigenbasis.hpp"

namespace jcmspl {

struct Spectrum {
  // class_vectors: d x c, a column for each class of the statistics. Every class must have samples.
  Spectrum(Statistics statistics, const MatrixD& class_vectors, const Team& team, double idle_labels = 0);

  Index n_classes() const { return labels.cols(); }

  // The dimension of the span of the rows of X and of L'.
  Index n_coordinates() const { return labels.rows(); }

  // The coordinates whose products are added, and those whose products are subtracted.
  template <class M>
  auto positive_rows(M&& a) const {
    return a.topRows(n_coordinates() - n_negative);
  }
  template <class M>
  auto negative_rows(M&& a) const {
    return a.bottomRows(n_negative);
  }

  // |x|^2 over the samples, for x in coordinates (s rows).
  double squared_norm(const MatrixD& x) const {
    return positive_rows(x).squaredNorm() - negative_rows(x).squaredNorm();
  }

  Eigenbasis visual;        // V, of G = XX'
  Eigenbasis semantic;      // Vy, of YY' = Yc N Yc'
  VectorD roots;            // g^1/2, the singular values of X: V'X in coordinates is [diag(roots) 0]   r
  MatrixD labels;           // L in coordinates            s x c
  Index n_negative;         // coordinates whose products are subtracted
  MatrixD semantic_target;  // (Vy'Y)' in coordinates      s x q
  MatrixD vectors;          // Vy'Yc                       q x c
  VectorD counts;           // weight of each class        c
  double visual_trace, semantic_trace;
  // |H|^2 of concepts that are left out because neither samples nor class vectors reach them: A and B are zero there,
  // and C is a multiple of H. They count only in the objective.
  double idle_labels;
  // On the clock: the latter is the time for the classes that remains after the former.
  double visual_seconds, semantic_seconds;

private:
  void decompose_samples(Statistics statistics, const Team& team);
  void decompose_classes(const MatrixD& class_vectors, const Team& team);
};

}  // namespace jcmspl
