#pragma once

#include "descent/concept_basis.hpp"
#include "descent/problem.hpp"
#include "descent/workspace.hpp"
#include "jcmspl/descent/results.hpp"

namespace jcmspl::descent {

// The relative residuals of the equations of A, B and C, all three at their last values.
Stationarity stationarity(const Problem& problem, const ConceptBasis& basis, const Workspace& workspace);

}  // namespace jcmspl::descent
