// Recognition: the best candidates of each sample under an affine score x . w_c + b_c, found block by block.
//
// All built-in spaces and metrics lead to this score (docs/algorithm.md derives it), so that no projection of the
// samples is formed and only one block of scores is in memory. A large search runs on n_threads threads; a small one
// leaves threads to BLAS.
#pragma once

#include <string>

#include "jcmspl/data/samples.hpp"
#include "jcmspl/support/types.hpp"

namespace jcmspl::search {

enum class Space { visual, semantic, concept_space };
enum class Metric { cosine, euclidean, dot };

// The threads that a search may start: for bounds, which BLAS does not compute; and for products, each of which is one
// call of BLAS: more than one thread pays only where BLAS itself uses a single one.
struct SearchThreads {
  SearchThreads(Index bounds_, Index products_ = 1) : bounds(bounds_), products(products_) {}
  Index bounds, products;
};

template <class T>
struct AffineScorer {
  ConstView<T> weights;  // m x C, in the caller's memory
  Vector<T> bias;        // C

  // Both throw std::overflow_error if a score is not finite.
  //
  // For each sample its n_best candidates, best first, ties to the lower index; out: n_best x n.
  void top_k(const Samples<T>& samples, Index n_best, Scaling scaling, std::int64_t* indices, T* scores,
             SearchThreads threads, const Poll& poll) const;

  // All scores; out: C x n.
  void scores(const Samples<T>& samples, Scaling scaling, T* out, const Poll& poll) const;
};

struct FoldedScorer {
  MatrixD weights;  // m x C
  VectorD bias;     // C
};

// Folds the two projections (A' m x k, B' d x k) and the candidates' vectors (d x C) into a score. For cosine the score
// is still to be divided by the length of the sample in the space, which is the same for all candidates.
FoldedScorer fold(const MatrixD& at, const MatrixD& bt, const MatrixD& candidates, Space space, Metric metric);

// The nearest prototypes (m x C) of each sample: n_best x n indices, and cosine similarities, inner products, or
// distances.
template <class T>
void nearest(const Samples<T>& samples, const ConstView<T>& prototypes, Index n_best, Metric metric,
             std::int64_t* indices, T* values, Index n_threads, const Poll& poll);

// The instructions by which large searches screen candidates: "avx512_vnni", "avx_vnni", "avx2", "neon", or "none".
std::string byte_products();

// Uses others than the fastest of this CPU, for tests and comparisons: one of the above, "portable" and what begins so
// in plain C++ (slower than no screen), or "fastest". Returns false where there are none of this name.
bool use_byte_products(const std::string& name);

}  // namespace jcmspl::search
