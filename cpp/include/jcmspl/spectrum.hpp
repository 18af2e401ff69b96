// The eigenbases of the two Gram matrices and the class statistics seen in them: everything about the data that does
// not depend on l1..l4, on k or on the start. Computed once, shared by any number of fits, by several threads at once.
#pragma once

#include "jcmspl/eigenbasis.hpp"
#include "jcmspl/statistics.hpp"

namespace jcmspl {

struct Spectrum {
  // class_vectors: d x c, a column for each class of the statistics. Every class must have samples.
  Spectrum(const Statistics& statistics, const MatrixD& class_vectors, const Poll& poll);

  Index n_classes() const { return counts.size(); }

  Eigenbasis visual;    // of G = XX'
  Eigenbasis semantic;  // of YY' = Yc N Yc'
  MatrixD class_sums;   // V' M     r x c
  MatrixD vectors;      // Vy' Yc   q x c
  VectorD counts;       // the diagonal of N
  MatrixD weighted_vectors;  // Vy' Yc N        q x c
  MatrixD cross;             // V' M Yc' Vy     r x q, that is XY' in the two bases
  double visual_trace, semantic_trace;
  double visual_seconds, semantic_seconds;
};

}  // namespace jcmspl
