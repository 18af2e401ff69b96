// The eigenbases of the two Gram matrices and the class statistics seen in them: everything about
// the data that does not depend on l1..l4, on k or on the start. Computed once, shared by any
// number of fits, by several threads at once.
#pragma once

#include "jcmspl/eigenbasis.hpp"
#include "jcmspl/statistics.hpp"

namespace jcmspl {

struct Spectrum {
  // class_vectors: d x c, a column for each class of the statistics. Every class must have samples.
  Spectrum(const Statistics& statistics, const MatrixD& class_vectors, const Poll& poll);

  Index n_classes() const { return counts.size(); }

  // The visual and the semantic side of a matrix of classes or concepts, one on top of the other.
  template <class M>
  auto visual_rows(M&& a) const {
    return a.topRows(visual.rank());
  }
  template <class M>
  auto semantic_rows(M&& a) const {
    return a.bottomRows(semantic.rank());
  }

  Eigenbasis visual;    // of G = XX'
  Eigenbasis semantic;  // of YY' = Yc N Yc'
  MatrixD class_sums;   // V' M on top of Vy' Yc N       (r + q) x c
  MatrixD vectors;      // Vy' Yc                        q x c
  MatrixD cross;        // XY' in the two bases          r x q
  VectorD counts;       // the diagonal of N
  double visual_trace, semantic_trace;
  double visual_seconds, semantic_seconds;
};

}  // namespace jcmspl
