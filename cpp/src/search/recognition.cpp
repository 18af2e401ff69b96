#include "jcmspl/search/recognition.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "jcmspl/linalg/kernels.hpp"
#include "jcmspl/search/best.hpp"
#include "jcmspl/search/query_reader.hpp"
#include "jcmspl/search/screen.hpp"
#include "jcmspl/support/parallel.hpp"

namespace jcmspl {

namespace {

constexpr Index query_block = 2048;
constexpr Index candidate_block = 2048;

template <class T>
ConstView<T> as_const(const View<T>& a) {
  return {a.data(), a.rows(), a.cols(), Eigen::OuterStride<>(a.outerStride())};
}

// out (candidates x samples) = weights' x [times factors] + bias
template <class T, class Weights, class Bias, class Out>
void score_block(const Weights& weights, const Bias& bias, const ConstView<T>& x, const Vector<T>* factors, Out&& out) {
  gemm(Op::transpose, Op::none, 1, weights, x, 0, out);
  if (factors)
    for (Index i = 0; i < x.cols(); ++i) out.col(i) = out.col(i) * (*factors)[i] + bias;
  else if ((bias.array() != T(0)).any())
    out.colwise() += bias;
}

// Calls with(first, x) for each block of samples.
template <class T, class From, class Function>
void for_each_block(QueryReader<T, From>& reader, Function with) {
  for (Index first = 0; first < reader.size(); first += query_block)
    with(first, reader.read(first, std::min(query_block, reader.size() - first)));
}

// The best candidates, from all scores, a block at a time.
template <class T, class From>
void search_by_product(const AffineScorer<T>& scorer, QueryReader<T, From>& reader, Index n_best, std::int64_t* indices,
                       T* best_scores, const Poll& poll) {
  const Index count = scorer.weights.cols(), step = std::min(query_block, reader.size());
  std::vector<Best<T>> best(static_cast<std::size_t>(step), Best<T>(n_best));
  Matrix<T> buffer(std::min(candidate_block, count), step);
  // Without a bias the length of a sample does not change the order of its scores: only the best are divided by it.
  const bool divide_all = (scorer.bias.array() != T(0)).any();
  for_each_block(reader, [&](Index first, const ConstView<T>& x) {
    const Vector<T>* factors = reader.factors();
    for (auto& b : best) b.clear();
    for (Index c = 0; c < count; c += candidate_block) {
      const Index width = std::min(candidate_block, count - c);
      auto block = buffer.topLeftCorner(width, x.cols());
      score_block<T>(scorer.weights.middleCols(c, width), scorer.bias.segment(c, width), x,
                     divide_all ? factors : nullptr, block);
      for (Index i = 0; i < x.cols(); ++i) best[i].offer(&block(0, i), width, c);
      poll();
    }
    for (Index i = 0; i < x.cols(); ++i) {
      T* scores = best_scores + (first + i) * n_best;
      best[i].write(indices + (first + i) * n_best, scores);
      if (factors && !divide_all)
        for (Index b = 0; b < n_best; ++b) scores[b] *= (*factors)[i];
    }
  });
}

template <class T, class From>
VectorD mean_of_first(QueryReader<T, From> reader) {
  const ConstView<T> x = reader.read(0, std::min<Index>(256, reader.size()));
  const Vector<T>* factors = reader.factors();
  VectorD sum = VectorD::Zero(x.rows());
  for (Index i = 0; i < x.cols(); ++i)
    sum += (factors ? double((*factors)[i]) : 1.0) * x.col(i).template cast<double>();
  return sum / static_cast<double>(x.cols());
}

// Writes the best candidates of the samples for which bounds decide them, and returns the other samples. Returns none,
// and what is written does not count, if bounds decide fewer than half of the first samples: then they do not pay.
template <class T, class From>
std::optional<std::vector<Index>> search_by_bounds(const AffineScorer<T>& scorer, const QueryReader<T, From>& reader,
                                                   Index n_best, std::int64_t* indices, T* best_scores, Index n_threads,
                                                   const Poll& poll) {
  const Index n = reader.size(), step = ScreenedSearch<T>::block_rows;
  const Screen<T> screen(scorer.weights, scorer.bias, mean_of_first(reader), n_threads, poll);
  if (!screen.exists()) return std::nullopt;
  const auto make_worker = [&] {
    return [&, own_reader = reader, find = ScreenedSearch<T>(screen, n_best)](Index first, Index last,
                                                                              const Poll& own_poll) mutable {
      const ConstView<T> x = own_reader.read(first, last - first);
      return find(x, own_reader.factors(), indices + first * n_best, best_scores + first * n_best, own_poll);
    };
  };
  const Index n_trials = std::min<Index>(n, 8 * bytes::tile_height);
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

// The best candidates of some of the samples, by products.
template <class T, class From>
void search_rest(const AffineScorer<T>& scorer, const Samples<From>& samples, const VectorD* origin, bool unit_rows,
                 const std::vector<Index>& rest, Index n_best, std::int64_t* indices, T* best_scores,
                 const Poll& poll) {
  QueryReader<T, From> plain(samples, origin, false);
  Matrix<T> gathered, scores;
  Matrix<std::int64_t> found;
  for (std::size_t first = 0; first < rest.size(); first += query_block) {
    const auto size = std::min<Index>(query_block, static_cast<Index>(rest.size() - first));
    gathered.resize(samples.cols, size);
    for (Index i = 0; i < size; ++i) gathered.col(i) = plain.read(rest[first + i], 1).col(0);
    if (!gathered.allFinite()) throw std::overflow_error("a sample is too far from the origin");
    const Samples<T> some{gathered.data(), size, samples.cols, samples.cols, 1};
    QueryReader<T, T> some_reader(some, nullptr, unit_rows);
    found.resize(n_best, size);
    scores.resize(n_best, size);
    search_by_product(scorer, some_reader, n_best, found.data(), scores.data(), poll);
    for (Index i = 0; i < size; ++i) {
      std::copy_n(found.col(i).data(), n_best, indices + rest[first + i] * n_best);
      std::copy_n(scores.col(i).data(), n_best, best_scores + rest[first + i] * n_best);
    }
  }
}

template <class T, class From>
void search(const AffineScorer<T>& scorer, const Samples<From>& samples, const VectorD* origin, bool unit_rows,
            Index n_best, std::int64_t* indices, T* best_scores, Index n_threads, const Poll& poll) {
  QueryReader<T, From> reader(samples, origin, unit_rows);
  if (Screen<T>::pays(samples.rows, samples.cols, scorer.weights.cols(), n_best))
    if (const auto rest = search_by_bounds(scorer, reader, n_best, indices, best_scores, n_threads, poll))
      return search_rest(scorer, samples, origin, unit_rows, *rest, n_best, indices, best_scores, poll);
  search_by_product(scorer, reader, n_best, indices, best_scores, poll);
}

// An origin near the prototypes: distances do not depend on it, and there is less cancellation. Each coordinate is
// rounded to a multiple of a power of two as large as the spread of the prototypes in it, so that differences need no
// more digits: whole numbers stay whole numbers, and equal distances stay equal.
template <class T>
VectorD rounded_mean(const ConstView<T>& prototypes) {
  const Index m = prototypes.rows();
  VectorD mean = VectorD::Zero(m), spread = VectorD::Zero(m);
  for (Index c = 0; c < prototypes.cols(); ++c) mean += prototypes.col(c).template cast<double>();
  mean /= static_cast<double>(prototypes.cols());
  for (Index c = 0; c < prototypes.cols(); ++c)
    for (Index j = 0; j < m; ++j)
      spread[j] = std::max(spread[j], std::abs(static_cast<double>(prototypes(j, c)) - mean[j]));
  for (Index j = 0; j < m; ++j) {
    if (!(spread[j] > 0) || !std::isfinite(spread[j])) continue;
    const double unit = std::exp2(std::floor(std::log2(spread[j])));
    if (std::isfinite(mean[j] / unit)) mean[j] = std::round(mean[j] / unit) * unit;
  }
  return mean;
}

template <class T>
void nearest_by_distance(const Samples<T>& samples, const ConstView<T>& prototypes, Index n_best, std::int64_t* indices,
                         T* values, Index n_threads, const Poll& poll) {
  const VectorD origin = rounded_mean(prototypes);
  MatrixD centred = prototypes.template cast<double>().colwise() - origin;
  const AffineScorer<double> scorer{as_const(view(centred)), -0.5 * centred.colwise().squaredNorm()};
  if (!scorer.bias.allFinite()) throw std::overflow_error("prototypes too large");
  MatrixD scores(n_best, samples.rows);
  search(scorer, samples, &origin, false, n_best, indices, scores.data(), n_threads, poll);

  // The distances of the best, from the differences themselves: no cancellation.
  for_ranges_in_parallel(samples.rows, samples.cols * n_best, n_threads, poll, [&] {
    return [&, reader = QueryReader<double, T>(samples, &origin, false),
            order = std::vector<std::pair<double, std::int64_t>>(static_cast<std::size_t>(n_best))](
               Index first, Index last, const Poll& own_poll) mutable {
      for (Index i = first; i < last; ++i) {
        const ConstView<double> x = reader.read(i, 1);
        std::int64_t* best = indices + i * n_best;
        for (Index b = 0; b < n_best; ++b) {
          const VectorD difference = x.col(0) - centred.col(best[b]);
          order[b] = {length(difference.data(), difference.size()), best[b]};
        }
        std::sort(order.begin(), order.end());
        for (Index b = 0; b < n_best; ++b) {
          values[i * n_best + b] = static_cast<T>(order[b].first);
          best[b] = order[b].second;
        }
        own_poll();
      }
    };
  });
}

}  // namespace

template <class T>
void AffineScorer<T>::top_k(const Samples<T>& samples, Index n_best, bool unit_rows, std::int64_t* indices,
                            T* best_scores, Index n_threads, const Poll& poll) const {
  search(*this, samples, nullptr, unit_rows, n_best, indices, best_scores, n_threads, poll);
}

template <class T>
void AffineScorer<T>::scores(const Samples<T>& samples, bool unit_rows, T* out, const Poll& poll) const {
  QueryReader<T, T> reader(samples, nullptr, unit_rows);
  for_each_block(reader, [&](Index first, const ConstView<T>& x) {
    View<T> block(out + first * weights.cols(), weights.cols(), x.cols(), Eigen::OuterStride<>(weights.cols()));
    score_block<T>(weights, bias, x, reader.factors(), block);
    if (!block.allFinite()) throw std::overflow_error("a score is not finite");
    poll();
  });
}

FoldedScorer fold(const MatrixD& at, const MatrixD& bt, const MatrixD& candidates, Space space, Metric metric) {
  const Index n = candidates.cols();
  FoldedScorer scorer{MatrixD(at.rows(), n), VectorD::Zero(n)};
  MatrixD concepts(bt.cols(), n);  // B y
  gemm(Op::transpose, Op::none, 1, bt, candidates, 0, concepts);
  gemm(Op::none, Op::none, 1, at, concepts, 0, scorer.weights);  // A'B y
  if (metric == Metric::dot) return scorer;
  // The candidate in the space where it is compared.
  const MatrixD& seen_as = space == Space::visual ? scorer.weights : space == Space::semantic ? candidates : concepts;
  const VectorD norms = seen_as.colwise().stableNorm();
  if (metric == Metric::euclidean)
    scorer.bias = -0.5 * norms.array().square();
  else
    for (Index c = 0; c < n; ++c) scorer.weights.col(c) *= norms[c] > 0 ? 1 / norms[c] : 0;
  return scorer;
}

template <class T>
void nearest(const Samples<T>& samples, const ConstView<T>& prototypes, Index n_best, Metric metric,
             std::int64_t* indices, T* values, Index n_threads, const Poll& poll) {
  if (metric == Metric::euclidean)
    return nearest_by_distance(samples, prototypes, n_best, indices, values, n_threads, poll);
  const Vector<T> no_bias = Vector<T>::Zero(prototypes.cols());
  if (metric == Metric::dot)
    return AffineScorer<T>{prototypes, no_bias}.top_k(samples, n_best, false, indices, values, n_threads, poll);
  Matrix<T> unit(prototypes.rows(), prototypes.cols());
  for_ranges_in_parallel(prototypes.cols(), prototypes.rows(), n_threads, poll, [&] {
    return [&](Index first, Index last, const Poll&) {
      for (Index c = first; c < last; ++c) {
        const double norm = length(prototypes.col(c).data(), prototypes.rows());
        unit.col(c) = (prototypes.col(c).template cast<double>() / (norm > 0 ? norm : 1)).template cast<T>();
      }
    };
  });
  AffineScorer<T>{as_const(view(unit)), no_bias}.top_k(samples, n_best, true, indices, values, n_threads, poll);
}

#define JCMSPL_INSTANTIATE(T)      \
  template struct AffineScorer<T>; \
  template void nearest(const Samples<T>&, const ConstView<T>&, Index, Metric, std::int64_t*, T*, Index, const Poll&);
JCMSPL_INSTANTIATE(float)
JCMSPL_INSTANTIATE(double)
#undef JCMSPL_INSTANTIATE

}  // namespace jcmspl
