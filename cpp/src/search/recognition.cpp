#include "jcmspl/search/recognition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "jcmspl/linalg/kernels.hpp"
#include "jcmspl/linalg/norm.hpp"
#include "jcmspl/search/best.hpp"
#include "jcmspl/search/distances.hpp"
#include "jcmspl/search/query_reader.hpp"
#include "jcmspl/search/screened_search.hpp"
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
template <class T, class Function>
void for_each_block(QueryReader<T, T>& reader, Function with) {
  for (Index first = 0; first < reader.size(); first += query_block)
    with(first, reader.read(first, std::min(query_block, reader.size() - first)));
}

// The best candidates, from all scores, a block at a time.
template <class T>
void search_by_product(const AffineScorer<T>& scorer, QueryReader<T, T>& reader, Index n_best, std::int64_t* indices,
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

// Scores by product, for candidates that bounds leave.
template <class T>
struct ProductScores {
  const AffineScorer<T>& scorer;

  struct OfBlock {
    const AffineScorer<T>& scorer;
    const ConstView<T> x;
    const Vector<T>* factors;
    double key(Index i, Index c) const {
      const double factor = factors ? static_cast<double>((*factors)[i]) : 1;
      const double product = bytes::dot(x.col(i).data(), scorer.weights.col(c).data(), x.rows());
      return factor * product + static_cast<double>(scorer.bias[c]);
    }
    double score_of(Index, double key) const { return key; }
  };
  OfBlock of_block(Index, const ConstView<T>& x, const Vector<T>* factors) const { return {scorer, x, factors}; }
};

template <class T>
void search(const AffineScorer<T>& scorer, const Samples<T>& samples, Scaling scaling, Index n_best,
            std::int64_t* indices, T* best_scores, Index n_threads, const Poll& poll) {
  QueryReader<T, T> reader(samples, nullptr, scaling);
  const auto by_product = [&](const Samples<T>& some, std::int64_t* found, T* scores) {
    QueryReader<T, T> some_reader(some, nullptr, scaling);
    search_by_product(scorer, some_reader, n_best, found, scores, poll);
  };
  const auto rest = [&]() -> std::optional<std::vector<Index>> {
    if (!Screen<T>::pays(samples.rows, samples.cols, scorer.weights.cols(), n_best)) return std::nullopt;
    const Screen<T> screen(scorer.weights, scorer.bias, 0, mean_of_first(reader), n_threads, poll);
    return search_by_bounds(screen, reader, ProductScores<T>{scorer}, n_best, indices, best_scores, n_threads, poll);
  }();
  if (rest)
    search_rest(samples, *rest, n_best, indices, best_scores, by_product);
  else
    by_product(samples, indices, best_scores);
}

}  // namespace

template <class T>
void AffineScorer<T>::top_k(const Samples<T>& samples, Index n_best, Scaling scaling, std::int64_t* indices,
                            T* best_scores, Index n_threads, const Poll& poll) const {
  search(*this, samples, scaling, n_best, indices, best_scores, n_threads, poll);
}

template <class T>
void AffineScorer<T>::scores(const Samples<T>& samples, Scaling scaling, T* out, const Poll& poll) const {
  QueryReader<T, T> reader(samples, nullptr, scaling);
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
  if (metric == Metric::euclidean) {
    scorer.bias = -0.5 * seen_as.colwise().squaredNorm();
    return scorer;
  }
  // A prototype that is zero but for rounding has no direction: it scores as zero does. B y has an error of a multiple
  // of epsilon |B| |y|, and A'B y of epsilon |A| |B| |y|. For class vectors themselves there is no such error.
  const double size_b = frobenius_norm(bt), size = space == Space::visual ? frobenius_norm(at) * size_b : size_b;
  const double rounding = space == Space::semantic ? 0
                                                   : 32 * std::numeric_limits<double>::epsilon() *
                                                         static_cast<double>(bt.rows() + bt.cols()) * size;
  for (Index c = 0; c < n; ++c) {
    const double norm = frobenius_norm(seen_as.col(c));
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

}  // namespace jcmspl
