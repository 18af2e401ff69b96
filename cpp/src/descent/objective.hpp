#pragma once

#include "descent/concept_basis.hpp"
#include "descent/problem.hpp"
#include "descent/workspace.hpp"
#include "jcmspl/descent/results.hpp"

namespace jcmspl::descent {

struct Objective {
  Terms terms;
  double noise;  // bound on the rounding error of the sum of the terms (docs/algorithm.md)
};

// The value after an update of C: from products where that is accurate enough, else from differences.
Objective objective(const Problem& problem, const ConceptBasis& basis, const Workspace& workspace);

// From inner products that the updates have computed: costs nearly nothing, but each term is a difference of larger
// numbers.
Objective objective_from_products(const Problem& problem, const Workspace& workspace);

// From the differences AX - C, BY - C, ... themselves: four more matrix products, and no cancellation of squares.
Objective objective_from_differences(const Problem& problem, const ConceptBasis& basis, const Workspace& workspace);

}  // namespace jcmspl::descent
