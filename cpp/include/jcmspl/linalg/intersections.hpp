// Weighted intersections of vectors, sum_k w_k min(x_k, v_k), of all samples with all thresholds, and their gradients.
#pragma once

#include "jcmspl/support/types.hpp"

namespace jcmspl {

// samples: m x n, thresholds: m x c, weights: m. out: c x n.
void intersections(const ConstView<double>& samples, const ConstView<double>& thresholds, const VectorD& weights,
                   MatrixD& out, Index n_threads, const Poll& poll);

// Adds the gradients of sum_ij factors_ij out_ij with respect to weights (m) and thresholds (m x c). Where a threshold
// equals a value, the derivative from above counts. factors: c x n.
void add_intersection_gradients(const ConstView<double>& samples, const ConstView<double>& thresholds,
                                const VectorD& weights, const ConstView<double>& factors, VectorD& of_weights,
                                MatrixD& of_thresholds, Index n_threads, const Poll& poll);

}  // namespace jcmspl
