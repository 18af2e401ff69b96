#pragma once

#include <vector>

#include "jcmspl/support/types.hpp"

namespace jcmspl::descent {

// Divides the k concepts into one consecutive block for each class, as evenly as possible. Returns c + 1 values: the
// block of class i begins at the i-th and ends before the next.
std::vector<Index> concept_blocks(Index n_concepts, Index n_classes);

}  // namespace jcmspl::descent
