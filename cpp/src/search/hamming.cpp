#include "jcmspl/search/hamming.hpp"

#include <algorithm>
#include <vector>

#include "search/best.hpp"
#include "support/parallel.hpp"
#include "support/targets.hpp"

namespace jcmspl::search {

namespace {

constexpr Index chunk = 2048;  // of candidates, whose scores stay in the cache

JCMSPL_INLINE std::int64_t count_bits(std::uint64_t word) {
#ifdef __GNUC__
  return __builtin_popcountll(word);
#else
  word -= (word >> 1) & 0x5555555555555555u;
  word = (word & 0x3333333333333333u) + ((word >> 2) & 0x3333333333333333u);
  return static_cast<std::int64_t>((((word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u) >> 56);
#endif
}

JCMSPL_INLINE void score(const std::uint64_t* sample, const std::uint64_t* candidates, Index count, Index n_words,
                         const double* bias, double* out) {
  for (Index c = 0; c < count; ++c) {
    std::int64_t different = 0;
    for (Index w = 0; w < n_words; ++w) different += count_bits(sample[w] ^ candidates[c * n_words + w]);
    out[c] = bias[c] - static_cast<double>(different);
  }
}

JCMSPL_TARGET("popcnt")
void score_by_popcnt(const std::uint64_t* sample, const std::uint64_t* candidates, Index count, Index n_words,
                     const double* bias, double* out) {
  score(sample, candidates, count, n_words, bias, out);
}

void score_candidates(const std::uint64_t* sample, const Codes& candidates, Index first, Index count,
                      const VectorD& bias, double* out) {
  const auto best = JCMSPL_HAS("popcnt") ? score_by_popcnt : score;
  best(sample, candidates.words + first * candidates.n_words, count, candidates.n_words, bias.data() + first, out);
}

}  // namespace

void hamming_scores(const Codes& samples, const Codes& candidates, const VectorD& bias, double* out, Index n_threads,
                    const Poll& poll) {
  const Index cost = candidates.count * candidates.n_words;
  for_ranges_in_parallel(samples.count, cost, n_threads, poll, [&] {
    return [&](Index first, Index last, const Poll& own_poll) {
      for (Index i = first; i < last; ++i) {
        score_candidates(samples.words + i * samples.n_words, candidates, 0, candidates.count, bias,
                         out + i * candidates.count);
        own_poll();
      }
    };
  });
}

void hamming_top_k(const Codes& samples, const Codes& candidates, const VectorD& bias, Index n_best,
                   std::int64_t* indices, double* scores, Index n_threads, const Poll& poll) {
  const Index cost = candidates.count * candidates.n_words;
  for_ranges_in_parallel(samples.count, cost, n_threads, poll, [&] {
    return [&, best = Best<double>(n_best), some = std::vector<double>(chunk)](Index first, Index last,
                                                                               const Poll& own_poll) mutable {
      for (Index i = first; i < last; ++i) {
        best.clear();
        for (Index c = 0; c < candidates.count; c += chunk) {
          const Index count = std::min(chunk, candidates.count - c);
          score_candidates(samples.words + i * samples.n_words, candidates, c, count, bias, some.data());
          best.offer(some.data(), count, c);
        }
        best.write(indices + i * n_best, scores + i * n_best);
        own_poll();
      }
    };
  });
}

}  // namespace jcmspl::search
