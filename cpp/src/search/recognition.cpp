#include "jcmspl/search/recognition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "linalg/blas.hpp"
#include "linalg/norm.hpp"
#include "search/best.hpp"
#include "search/distances.hpp"
#include "search/query_reader.hpp"
#include "search/screened_search.hpp"
#include "support/parallel.hpp"

namespace jcmspl::search {

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

// The number of samples that are read at a time. With few candidates the samples should stay in the cache of a core
// from their check to their product; with many candidates, which each block reads again, blocks are large.
template <class T>
Index rows_at_a_time(Index n_features, Index n_candidates) {
  constexpr Index cache = 1 << 19;
  const Index size = n_features * static_cast<Index>(sizeof(T));
  return size * n_candidates > cache ? query_block : std::clamp<Index>(cache / size, 64, query_block);
}

// The best candidates, from all scores, a block of samples at a time.
template <class T>
class SearchByProduct {
public:
  SearchByProduct(const AffineScorer<T>& scorer, const Samples<T>& samples, Scaling scaling, Index n_best, Index rows)
      : scorer_(scorer),
        reader_(samples, nullptr, scaling),
        n_best_(n_best),
        rows_(rows),
        scales_all_((scorer.bias.array() != T(0)).any()),
        best_(static_cast<std::size_t>(rows), Best<T>(n_best)),
        buffer_(std::min(candidate_block, scorer.weights.cols()), rows) {}

  void operator()(Index block, std::int64_t* indices, T* best_scores, const Poll& poll) {
    const Index first = block * rows_, count = scorer_.weights.cols();
    const ConstView<T> x = reader_.read(first, std::min(rows_, reader_.size() - first));
    const Vector<T>* factors = reader_.factors();
    for (auto& b : best_) b.clear();
    for (Index c = 0; c < count; c += candidate_block) {
      const Index width = std::min(candidate_block, count - c);
      auto scores = buffer_.topLeftCorner(width, x.cols());
      score_block<T>(scorer_.weights.middleCols(c, width), scorer_.bias.segment(c, width), x,
                     scales_all_ ? factors : nullptr, scores);
      for (Index i = 0; i < x.cols(); ++i) best_[i].offer(&scores(0, i), width, c);
      poll();
    }
    for (Index i = 0; i < x.cols(); ++i) {
      T* scores = best_scores + (first + i) * n_best_;
      best_[i].write(indices + (first + i) * n_best_, scores);
      if (factors && !scales_all_)
        for (Index b = 0; b < n_best_; ++b) scores[b] *= (*factors)[i];
    }
  }

private:
  const AffineScorer<T>& scorer_;
  QueryReader<T, T> reader_;
  Index n_best_, rows_;
  // Without a bias the length of a sample does not change the order of its scores: then only the best are scaled.
  bool scales_all_;
  std::vector<Best<T>> best_;
  Matrix<T> buffer_;
};

template <class T>
void search_by_product(const AffineScorer<T>& scorer, const Samples<T>& samples, Scaling scaling, Index n_best,
                       std::int64_t* indices, T* best_scores, Index n_threads, const Poll& poll) {
  const Index most = rows_at_a_time<T>(samples.cols, scorer.weights.cols());
  const Index rows = std::max<Index>(1, std::min(most, samples.rows));
  for_each_in_parallel((samples.rows + rows - 1) / rows, n_threads, poll, [&] {
    return [&, search = SearchByProduct<T>(scorer, samples, scaling, n_best, rows)](
               Index block, const Poll& own_poll) mutable { search(block, indices, best_scores, own_poll); };
  });
}

// Scores by product, for the candidates that the bounds keep.
template <class T>
struct ProductScores {
  const AffineScorer<T>& scorer;

  struct OfBlock {
    const AffineScorer<T>& scorer;
    const ConstView<T> x;
    const Vector<T>* factors;
    double key(Index i, Index c) const {
      const double factor = factors ? static_cast<double>((*factors)[i]) : 1;
      const double product = dot_in_double(x.col(i).data(), scorer.weights.col(c).data(), x.rows());
      return factor * product + static_cast<double>(scorer.bias[c]);
    }
    double score_of(Index, double key) const { return key; }
    void prefetch(Index c) const { search::prefetch(scorer.weights.col(c).data(), scorer.weights.rows()); }
  };
  OfBlock of_block(Index, const ConstView<T>& x, const Vector<T>* factors) const { return {scorer, x, factors}; }
};

}  // namespace

template <class T>
void AffineScorer<T>::top_k(const Samples<T>& samples, Index n_best, Scaling scaling, std::int64_t* indices,
                            T* best_scores, SearchThreads threads, const Poll& poll) const {
  QueryReader<T, T> reader(samples, nullptr, scaling);
  const auto by_product = [&](const Samples<T>& some, std::int64_t* found, T* scores) {
    search_by_product(*this, some, scaling, n_best, found, scores, threads.products, poll);
  };
  const auto rest = [&]() -> std::optional<std::vector<Index>> {
    if (!Screen<T>::pays(samples.rows, samples.cols, weights.cols(), n_best)) return std::nullopt;
    const Screen<T> screen(weights, bias, 0, mean_of_first(reader), threads.bounds, poll);
    return search_by_bounds(screen, reader, ProductScores<T>{*this}, n_best, indices, best_scores, threads.bounds,
                            poll);
  }();
  if (rest)
    search_rest(samples, *rest, n_best, indices, best_scores, by_product);
  else
    by_product(samples, indices, best_scores);
}

template <class T>
void AffineScorer<T>::scores(const Samples<T>& samples, Scaling scaling, T* out, const Poll& poll) const {
  QueryReader<T, T> reader(samples, nullptr, scaling);
  for (Index first = 0; first < reader.size(); first += query_block) {
    const ConstView<T> x = reader.read(first, std::min(query_block, reader.size() - first));
    View<T> block(out + first * weights.cols(), weights.cols(), x.cols(), Eigen::OuterStride<>(weights.cols()));
    score_block<T>(weights, bias, x, reader.factors(), block);
    if (!block.allFinite()) throw std::overflow_error("a score is not finite");
    poll();
  }
}

FoldedScorer fold(const MatrixD& at, const MatrixD& bt, const MatrixD& candidates, Space space, Metric metric) {
  const Index n = candidates.cols();
  FoldedScorer scorer{MatrixD(at.rows(), n), VectorD::Zero(n)};
  MatrixD concepts(bt.cols(), n);  // B y
  gemm(Op::transpose, Op::none, 1, bt, candidates, 0, concepts);
  gemm(Op::none, Op::none, 1, at, concepts, 0, scorer.weights);  // A'B y
  if (metric == Metric::dot) return scorer;
  // The candidates in the space where they are compared.
  const MatrixD& compared = space == Space::visual ? scorer.weights : space == Space::semantic ? candidates : concepts;
  if (metric == Metric::euclidean) {
    scorer.bias = -0.5 * compared.colwise().squaredNorm();
    return scorer;
  }
  // A prototype that is zero to rounding has no direction and gets the scores of zero. The error of B y is a multiple
  // of epsilon |B| |y|, that of A'B y of epsilon |A| |B| |y|; class vectors themselves have no error.
  const double size_b = frobenius_norm(bt), size = space == Space::visual ? frobenius_norm(at) * size_b : size_b;
  const double rounding = space == Space::semantic ? 0
                                                   : 32 * std::numeric_limits<double>::epsilon() *
                                                         static_cast<double>(bt.rows() + bt.cols()) * size;
  for (Index c = 0; c < n; ++c) {
    const double norm = frobenius_norm(compared.col(c));
    if (norm > rounding * frobenius_norm(candidates.col(c)))
      scorer.weights.col(c) /= norm;
    else
      scorer.weights.col(c).setZero();
  }
  return scorer;
}

template <class T>
void nearest(const Samples<T>& samples, const ConstView<T>& prototypes, Index n_best, Metric metric,
             std::int64_t* indices, T* values, Index n_threads, const Poll& poll) {
  if (metric == Metric::euclidean)
    return nearest_by_distance(samples, prototypes, n_best, indices, values, n_threads, poll);
  const Vector<T> no_bias = Vector<T>::Zero(prototypes.cols());
  if (metric == Metric::dot)
    return AffineScorer<T>{prototypes, no_bias}.top_k(samples, n_best, {}, indices, values, n_threads, poll);
  Matrix<T> unit(prototypes.rows(), prototypes.cols());
  for_ranges_in_parallel(prototypes.cols(), prototypes.rows(), n_threads, poll, [&] {
    return [&](Index first, Index last, const Poll&) {
      for (Index c = first; c < last; ++c) {
        unit.col(c) = prototypes.col(c);
        scale_to_unit(unit.col(c));
      }
    };
  });
  AffineScorer<T>{as_const(view(unit)), no_bias}.top_k(samples, n_best, {false, true}, indices, values, n_threads,
                                                       poll);
}

#define JCMSPL_INSTANTIATE(T)      \
  template struct AffineScorer<T>; \
  template void nearest(const Samples<T>&, const ConstView<T>&, Index, Metric, std::int64_t*, T*, Index, const Poll&);
JCMSPL_INSTANTIATE(float)
JCMSPL_INSTANTIATE(double)
#undef JCMSPL_INSTANTIATE

}  // namespace jcmspl::search
