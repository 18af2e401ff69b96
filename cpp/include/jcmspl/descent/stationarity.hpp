#pragma once

#include "jcmspl/descent/concept_basis.hpp"
#include "jcmspl/descent/problem.hpp"
#include "jcmspl/descent/results.hpp"
#include "jcmspl/descent/workspace.hpp"

namespace jcmspl::descent {

// How far A, B and C are from solving their own equations, all three at their last values.
Stationarity stationarity(const Problem& problem, const ConceptBasis& basis, const Workspace& workspace);

}  // namespace jcmspl::descent
