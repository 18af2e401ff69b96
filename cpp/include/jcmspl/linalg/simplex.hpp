// Quadratic programs on the probability simplex, for many right-hand sides at once.
#pragma once

#include "jcmspl/support/types.hpp"

namespace jcmspl {

// Replaces each column by the nearest point of the simplex.
void project_onto_simplex(MatrixD& columns, const Poll& poll);

// Column i of z minimises z'Qz / 2 - b_i'z over the simplex. Q (p x p) must be symmetric and positive definite.
//
// A few steps of projected gradients guess which values are zero; an active-set method continues from there until the
// duality gap is within rounding. gaps[i] is that gap, an upper bound on the distance from the minimum.
void minimise_on_simplex(const MatrixD& q, const ConstView<double>& b, MatrixD& z, VectorD& gaps, Index n_threads,
                         const Poll& poll);

}  // namespace jcmspl
