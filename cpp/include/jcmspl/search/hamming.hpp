// Binary codes, 64 bits a word: Hamming distances, and the nearest codes.
#pragma once

#include <cstdint>

#include "jcmspl/support/types.hpp"

namespace jcmspl::search {

// count codes of n_words words each, one after the other.
struct Codes {
  const std::uint64_t* words;
  Index count, n_words;
};

// The score of a candidate is its bias minus the number of bits in which it differs from a sample.
//
// All scores; out: candidates x samples.
void hamming_scores(const Codes& samples, const Codes& candidates, const VectorD& bias, double* out, Index n_threads,
                    const Poll& poll);

// The n_best candidates of each sample, best first, ties to the lower index; out: n_best x samples.
void hamming_top_k(const Codes& samples, const Codes& candidates, const VectorD& bias, Index n_best,
                   std::int64_t* indices, double* scores, Index n_threads, const Poll& poll);

}  // namespace jcmspl::search
