// The best of a stream of scores.
#pragma once

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "jcmspl/types.hpp"

namespace jcmspl {

// The n best (score, index) pairs seen so far. Offered in ascending order of index, equal scores go to the lower one.
template <class T>
class Best {
public:
  explicit Best(Index n) : n_(static_cast<std::size_t>(n)) { heap_.reserve(n_); }

  void clear() { heap_.clear(); }

  void offer(T score, std::int64_t index) {
    if (heap_.size() < n_)
      insert(score, index);
    else
      replace(score, index);
  }

  void offer(const T* scores, Index count, std::int64_t first) {
    constexpr Index stride = 32;  // looked at together: most of them hold nothing new
    Index i = 0;
    for (; i < count && heap_.size() < n_; ++i) insert(scores[i], first + i);
    for (; i + stride <= count; i += stride) {
      const T worst = heap_.front().first;
      int better = 0;
      for (Index j = 0; j < stride; ++j) better |= scores[i + j] > worst;
      if (better)
        for (Index j = 0; j < stride; ++j) replace(scores[i + j], first + i + j);
    }
    for (; i < count; ++i) replace(scores[i], first + i);
  }

  // Best first. Throws std::overflow_error if a score is not finite.
  template <class Out>
  void write(std::int64_t* indices, Out* scores) {
    for (const Entry& entry : heap_)
      if (!std::isfinite(static_cast<Out>(entry.first))) throw std::overflow_error("a score is not finite");
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
    std::push_heap(heap_.begin(), heap_.end(), before);  // the front is the last in order
  }

  void replace(T score, std::int64_t index) {
    if (!(score > heap_.front().first)) return;
    std::pop_heap(heap_.begin(), heap_.end(), before);
    heap_.back() = {score, index};
    std::push_heap(heap_.begin(), heap_.end(), before);
  }

  std::size_t n_;
  std::vector<Entry> heap_;
};

}  // namespace jcmspl
