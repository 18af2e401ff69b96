// Sparse codes of many samples: a minimises |x - D a|^2 / 2 + penalty |a|_1.
#pragma once

#include "jcmspl/support/types.hpp"

namespace jcmspl {

struct LassoSettings {
  double penalty;    // above zero
  double tolerance;  // stop when the duality gap of a code is at most this times |x|^2 / 2
  Index max_sweeps;
};

// Coordinate descent from zero. gram: D'D (r x r), products: D'x (r x n), squares: |x|^2 (n). values: the objective
// reached. gaps: the duality gaps, which bound its distance from the minimum.
void sparse_codes(const MatrixD& gram, const ConstView<double>& products, const VectorD& squares,
                  const LassoSettings& settings, MatrixD& codes, VectorD& values, VectorD& gaps, Index n_threads,
                  const Poll& poll);

}  // namespace jcmspl
