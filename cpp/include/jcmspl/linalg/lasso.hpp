// Sparse codes of many samples: a minimises |x - D a|^2 / 2 + penalty |a|_1.
#pragma once

#include "jcmspl/support/types.hpp"

namespace jcmspl {

struct LassoSettings {
  double penalty;    // above zero
  double tolerance;  // a code is done when its duality gap is below this part of |x|^2 / 2
  Index max_sweeps;
};

// By coordinate descent, from zero. gram: D'D (r x r), products: D'x (r x n), squares: |x|^2 (n). values: what was
// least. gaps: how far it is above the least value, at most.
void sparse_codes(const MatrixD& gram, const ConstView<double>& products, const VectorD& squares,
                  const LassoSettings& settings, MatrixD& codes, VectorD& values, VectorD& gaps, Index n_threads,
                  const Poll& poll);

}  // namespace jcmspl
