// The best of a stream of scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "jcmspl/support/types.hpp"

namespace jcmspl::search {

// The n best (score, index) pairs seen so far; of equal scores the one with the lower index.
template <class T>
class Best {
public:
  explicit Best(Index n) : n_(static_cast<std::size_t>(n)) { heap_.reserve(n_); }

  void clear() { heap_.clear(); }
  bool is_full() const { return heap_.size() == n_; }
  T worst() const { return heap_.front().first; }

  void offer(T score, std::int64_t index) {
    if (!is_full())
      insert(score, index);
    else if (before({score, index}, heap_.front()))
      replace(score, index);
  }

  // The scores of consecutive indices, which must be greater than all indices offered before.
  void offer(const T* scores, Index count, std::int64_t first) {
    constexpr Index stride = 32;  // compared together, without a branch for each: most groups have nothing better
    Index i = 0;
    for (; i < count && !is_full(); ++i) insert(scores[i], first + i);
    for (; i + stride <= count; i += stride) {
      const T bound = worst();
      int better = 0;
      for (Index j = 0; j < stride; ++j) better |= scores[i + j] > bound;
      if (better)
        for (Index j = 0; j < stride; ++j)
          if (scores[i + j] > worst()) replace(scores[i + j], first + i + j);
    }
    for (; i < count; ++i)
      if (scores[i] > worst()) replace(scores[i], first + i);
  }

  // Writes the pairs best first, with scores of type Out; scores that are equal after that conversion are ordered by
  // index. Throws std::overflow_error if a score is not finite.
  template <class Out>
  void write(std::int64_t* indices, Out* scores) {
    for (Entry& entry : heap_) {
      if (!std::isfinite(static_cast<Out>(entry.first))) throw std::overflow_error("a score is not finite");
      entry.first = static_cast<Out>(entry.first);
    }
    std::sort(heap_.begin(), heap_.end(), before);
    for (std::size_t i = 0; i < heap_.size(); ++i) {
      scores[i] = static_cast<Out>(heap_[i].first);
      indices[i] = heap_[i].second;
    }
  }

private:
  using Entry = std::pair<T, std::int64_t>;

  static bool before(const Entry& a, const Entry& b) {
    return a.first > b.first || (a.first == b.first && a.second < b.second);
  }

  void insert(T score, std::int64_t index) {
    heap_.emplace_back(score, index);
    std::push_heap(heap_.begin(), heap_.end(), before);  // the front is the worst
  }

  void replace(T score, std::int64_t index) {
    std::pop_heap(heap_.begin(), heap_.end(), before);
    heap_.back() = {score, index};
    std::push_heap(heap_.begin(), heap_.end(), before);
  }

  std::size_t n_;
  std::vector<Entry> heap_;
};

}  // namespace jcmspl::search
