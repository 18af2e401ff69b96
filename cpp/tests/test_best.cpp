#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "search/best.hpp"
#include "testing.hpp"

namespace jcmspl::search {

namespace {

using Entries = std::vector<std::pair<double, std::int64_t>>;

template <class Out, class T>
Entries written(Best<T>& best, std::size_t count) {
  std::vector<std::int64_t> indices(count);
  std::vector<Out> scores(count);
  best.write(indices.data(), scores.data());
  Entries entries;
  for (std::size_t i = 0; i < count; ++i) entries.emplace_back(scores[i], indices[i]);
  return entries;
}

// The definition: of equal scores the lower index goes first.
Entries sorted(const std::vector<double>& scores, std::size_t count) {
  Entries all;
  for (const double score : scores) all.emplace_back(score, all.size());
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  all.resize(std::min(count, all.size()));
  return all;
}

// Whole numbers, so that many scores are equal.
std::vector<double> scores_with_ties(std::size_t count, unsigned n_values, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<double> scores(count);
  for (double& score : scores) score = static_cast<double>(generator() % n_values);
  return scores;
}

TEST(best_of_a_stream_is_that_of_sorting) {
  for (const std::size_t count : {1, 31, 32, 33, 64, 200})
    for (const std::size_t n_best : {1, 2, 7, 32, 250})
      for (const unsigned n_values : {1u, 3u, 50u, 1000000u}) {
        const std::vector<double> scores = scores_with_ties(count, n_values, static_cast<unsigned>(count + n_best));
        const Entries expected = sorted(scores, n_best);

        Best<double> in_blocks(static_cast<Index>(n_best));
        for (std::size_t first = 0, size = 1; first < count; first += size, size = 2 * size + 1)
          in_blocks.offer(scores.data() + first, static_cast<Index>(std::min(size, count - first)),
                          static_cast<std::int64_t>(first));
        CHECK(in_blocks.is_full() == (count >= n_best));
        CHECK(written<double>(in_blocks, expected.size()) == expected);

        // one by one and in any order
        std::vector<std::int64_t> order(count);
        for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::int64_t>(i);
        std::shuffle(order.begin(), order.end(), std::mt19937(2));
        Best<double> one_by_one(static_cast<Index>(n_best));
        for (const std::int64_t i : order) one_by_one.offer(scores[static_cast<std::size_t>(i)], i);
        CHECK(written<double>(one_by_one, expected.size()) == expected);
      }
}

TEST(best_can_be_used_again_after_clear) {
  Best<float> best(2);
  for (const float score : {5.f, 6.f, 7.f}) best.offer(score, 0);
  best.clear();
  CHECK(!best.is_full());
  best.offer(1, 3);
  best.offer(2, 4);
  CHECK(best.worst() == 1);
  CHECK(written<float>(best, 2) == (Entries{{2, 4}, {1, 3}}));
}

TEST(scores_that_become_equal_are_ordered_by_index) {
  Best<double> best(3);
  best.offer(1, 0);
  best.offer(1 + 1e-12, 1);  // is 1 as a float
  best.offer(2, 2);
  CHECK(written<float>(best, 3) == (Entries{{2, 2}, {1, 0}, {1, 1}}));
}

TEST(a_score_that_is_not_finite_is_refused) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {infinity, -infinity, std::nan("")}) {
    Best<double> best(2);
    best.offer(bad, 0);
    best.offer(1, 1);
    CHECK_THROWS(std::overflow_error, written<double>(best, 2));
  }
  Best<double> too_large_for_float(1);
  too_large_for_float.offer(1e300, 0);
  CHECK_THROWS(std::overflow_error, written<float>(too_large_for_float, 1));
  CHECK(written<double>(too_large_for_float, 1) == (Entries{{1e300, 0}}));
}

}  // namespace

}  // namespace jcmspl::search
