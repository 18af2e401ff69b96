#pragma once

#include "jcmspl/descent/concept_basis.hpp"
#include "jcmspl/descent/problem.hpp"
#include "jcmspl/descent/results.hpp"
#include "jcmspl/descent/workspace.hpp"

namespace jcmspl::descent {

struct Objective {
  Terms terms;
  double noise;  // how far rounding errors can put the sum of the terms off (docs/algorithm.md)
};

// The value after an update of C: from products where that is accurate enough, else from differences.
Objective objective(const Problem& problem, const ConceptBasis& basis, const Workspace& workspace);

// From inner products that the updates leave behind: costs nearly nothing, but each term is a difference of larger
// numbers.
Objective objective_from_products(const Problem& problem, const Workspace& workspace);

// From the differences AX - C, BY - C, ... themselves: four more matrix products, and no cancellation of squares.
Objective objective_from_differences(const Problem& problem, const ConceptBasis& basis, const Workspace& workspace);

}  // namespace jcmspl::descent
