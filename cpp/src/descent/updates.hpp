// The start and the two steps of an iteration.
#pragma once

#include "descent/concept_basis.hpp"
#include "descent/problem.hpp"
#include "descent/workspace.hpp"
#include "jcmspl/descent/solve.hpp"

namespace jcmspl::descent {

// Computes the parts of C that the first update of A and B needs: CC', Y C' and its first r coordinates. Throws
// Diverged if one of them is not finite.
void begin(const Problem& problem, const Start& start, Workspace& workspace);

// A:  (l3 CC') A + A XX'      = (1 + l3)  C X'
// B:  (l4 CC') B + B (l1 YY') = (l1 + l4) C Y'
void update_projections(const Problem& problem, ConceptBasis& basis, Workspace& workspace);

// C:  K C = l2 H + (1 + l3) A X + (l1 + l4) B Y
void update_concepts(const Problem& problem, const ConceptBasis& basis, Workspace& workspace);

// K = (1 + l1 + l2) I + l3 AA' + l4 BB', its lower triangle, from AA' and BB'.
MatrixD concept_coefficient(const Problem& problem, const Workspace& workspace);

}  // namespace jcmspl::descent
