// A search through a screen, on several threads; samples that the screen leaves undecided go to another search.
#pragma once

#include <algorithm>
#include <mutex>
#include <optional>
#include <vector>

#include "search/query_reader.hpp"
#include "search/screen.hpp"
#include "support/parallel.hpp"

namespace jcmspl::search {

// Starts loading a vector that is needed soon. It is far from the last one in memory.
template <class T>
void prefetch(const T* x, Index n) {
#ifdef __GNUC__
  constexpr Index line = 64 / static_cast<Index>(sizeof(T));
  for (Index j = 0; j < n; j += line) __builtin_prefetch(x + j);
#else
  static_cast<void>(x), static_cast<void>(n);
#endif
}

// An origin for a screen, near the samples.
template <class T, class From>
VectorD mean_of_first(QueryReader<T, From> reader) {
  const ConstView<T> x = reader.read(0, std::min<Index>(256, reader.size()));
  const Vector<T>* factors = reader.factors();
  VectorD sum = VectorD::Zero(x.rows());
  for (Index i = 0; i < x.cols(); ++i)
    sum += (factors ? double((*factors)[i]) : 1.0) * x.col(i).template cast<double>();
  return sum / static_cast<double>(x.cols());
}

// Writes the best candidates of the samples that the bounds decide, and returns the other samples. If there are no
// bounds, or they decide fewer than half of the first samples and do not pay, returns nothing, and the output is
// undefined. exact: makes the keys by which ScreenedSearch compares the candidates of a block.
template <class T, class From, class Exact, class Out>
std::optional<std::vector<Index>> search_by_bounds(const Screen<T>& screen, const QueryReader<T, From>& reader,
                                                   const Exact& exact, Index n_best, std::int64_t* indices,
                                                   Out* best_scores, Index n_threads, const Poll& poll) {
  if (!screen.exists()) return std::nullopt;
  const Index n = reader.size(), step = ScreenedSearch<T>::block_rows;
  const auto make_worker = [&] {
    return [&, own_reader = reader, find = ScreenedSearch<T>(screen, n_best)](Index first, Index last,
                                                                              const Poll& own_poll) mutable {
      const ConstView<T> x = own_reader.read(first, last - first);
      const auto keys = exact.of_block(first, x, own_reader.factors());
      return find(x, own_reader.factors(), keys, indices + first * n_best, best_scores + first * n_best, own_poll);
    };
  };
  const Index n_trials = std::min<Index>(n, 8 * tile_height);
  if (2 * static_cast<Index>(make_worker()(0, n_trials, poll).size()) > n_trials) return std::nullopt;

  std::vector<Index> rest;
  std::mutex rest_mutex;
  for_each_in_parallel((n + step - 1) / step, n_threads, poll, [&] {
    return [&, worker = make_worker()](Index block, const Poll& own_poll) mutable {
      const Index first = block * step;
      const std::vector<Index> undecided = worker(first, std::min(n, first + step), own_poll);
      const std::lock_guard lock(rest_mutex);
      for (const Index i : undecided) rest.push_back(first + i);
    };
  });
  std::sort(rest.begin(), rest.end());  // threads finish their blocks in any order
  return rest;
}

// The best candidates of some of the samples, by another search: search(samples, indices, scores).
template <class T, class Search>
void search_rest(const Samples<T>& samples, const std::vector<Index>& rest, Index n_best, std::int64_t* indices,
                 T* best_scores, Search search) {
  constexpr Index block = 2048;
  SampleReader<T, T> reader(samples);
  Matrix<T> gathered, scores;
  Matrix<std::int64_t> found;
  for (std::size_t first = 0; first < rest.size(); first += block) {
    const auto size = std::min<Index>(block, static_cast<Index>(rest.size() - first));
    gathered.resize(samples.cols, size);
    for (Index i = 0; i < size; ++i) gathered.col(i) = reader.read(rest[first + i], 1).col(0);
    found.resize(n_best, size);
    scores.resize(n_best, size);
    search(Samples<T>{gathered.data(), size, samples.cols, samples.cols, 1}, found.data(), scores.data());
    for (Index i = 0; i < size; ++i) {
      std::copy_n(found.col(i).data(), n_best, indices + rest[first + i] * n_best);
      std::copy_n(scores.col(i).data(), n_best, best_scores + rest[first + i] * n_best);
    }
  }
}

}  // namespace jcmspl::search
