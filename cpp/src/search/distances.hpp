// The nearest prototypes of each sample by Euclidean distance.
//
// Candidates are ranked by (x - o) . (p - o) - |p - o|^2 / 2, which takes one matrix product, for an origin o amid the
// prototypes. Its rounding error is bounded for each pair, and all prototypes that may be among the nearest within that
// error are compared by their true distances, from differences of the raw coordinates. So one far prototype does not
// cost the others their digits.
#pragma once

#include "jcmspl/data/samples.hpp"
#include "jcmspl/support/types.hpp"

namespace jcmspl::search {

// For each sample its n_best prototypes (columns, m x C), nearest first, ties to the lower index, and their distances;
// out: n_best x n. Throws std::overflow_error if a distance is too large for T.
template <class T>
void nearest_by_distance(const Samples<T>& samples, const ConstView<T>& prototypes, Index n_best, std::int64_t* indices,
                         T* distances, Index n_threads, const Poll& poll);

}  // namespace jcmspl::search
