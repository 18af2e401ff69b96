#include "jcmspl/recognition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "jcmspl/kernels.hpp"

namespace jcmspl {

namespace {

constexpr Index query_block = 512;
constexpr Index candidate_block = 2048;

// A block of samples as contiguous columns: the caller's memory where it fits, a copy where not.
template <class T>
class SampleBlock {
public:
  SampleBlock(const Samples<T>& samples, Index step) : samples_(samples) {
    in_place_ = samples.col_stride == 1 && samples.row_stride >= samples.cols;
    if (!in_place_) copy_.resize(samples.cols, std::min(step, samples.rows));
  }

  ConstView<T> load(Index first, Index rows) {
    const T* start = samples_.data + first * samples_.row_stride;
    if (!in_place_) {
      for (Index i = 0; i < rows; ++i)
        for (Index j = 0; j < samples_.cols; ++j)
          copy_(j, i) = start[i * samples_.row_stride + j * samples_.col_stride];
      start = copy_.data();
    }
    const Index stride = in_place_ ? samples_.row_stride : samples_.cols;
    const ConstView<T> block(start, samples_.cols, rows, Eigen::OuterStride<>(stride));
    for (Index i = 0; i < rows; ++i) {
      const T* x = block.data() + i * stride;
      int bad = 0;
      for (Index j = 0; j < samples_.cols; ++j) bad |= !(std::abs(x[j]) <= std::numeric_limits<T>::max());
      if (bad) throw BadValue(first + i);
    }
    return block;
  }

private:
  const Samples<T>& samples_;
  bool in_place_;
  Matrix<T> copy_;
};

// Lengths are summed in double: squares of float overflow early.
template <class T>
double length(const T* x, Index n) {
  const double sum = Eigen::Map<const Vector<T>>(x, n).template cast<double>().squaredNorm();
  if (std::isfinite(sum) && sum > 1e-290) return std::sqrt(sum);
  return Eigen::Map<const Vector<T>>(x, n).template cast<double>().stableNorm();
}

template <class T>
void inverse_lengths(const ConstView<T>& block, Vector<T>& out) {
  out.resize(block.cols());
  for (Index i = 0; i < block.cols(); ++i) {
    const double norm = length(block.data() + i * block.outerStride(), block.rows());
    out[i] = norm > 0 ? static_cast<T>(1 / norm) : T(0);
  }
}

// The n best (score, index) pairs seen so far; offered in ascending order of index.
template <class T>
class Best {
public:
  explicit Best(Index n) : n_(static_cast<std::size_t>(n)) { heap_.reserve(n_); }

  void clear() { heap_.clear(); }

  void offer(const T* scores, Index count, std::int64_t first) {
    constexpr Index stride = 16;  // looked at together: most of them hold nothing new
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

  void write(std::int64_t* indices, T* scores) {
    std::sort(heap_.begin(), heap_.end(), before);
    for (std::size_t i = 0; i < heap_.size(); ++i) {
      scores[i] = heap_[i].first;
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

// scores (candidates x samples) = weights' x [/ |x|] + bias
template <class T, class Weights, class Bias, class Out>
void score_block(const Weights& weights, const Bias& bias, const ConstView<T>& x, const Vector<T>* inverse, Out&& out) {
  gemm(Op::transpose, Op::none, 1, weights, x, 0, out);
  if (inverse)
    for (Index i = 0; i < x.cols(); ++i) out.col(i) = out.col(i) * (*inverse)[i] + bias;
  else if ((bias.array() != T(0)).any())
    out.colwise() += bias;
}

// An origin near the prototypes: distances do not change with it, and less is lost to cancellation. It is rounded to
// multiples of a power of two of the size of their spread, so that it adds no digits: whole numbers stay whole numbers,
// and equal distances stay equal.
template <class T>
VectorD rounded_mean(const Matrix<T>& prototypes) {
  VectorD mean = VectorD::Zero(prototypes.rows());
  for (Index c = 0; c < prototypes.cols(); ++c) mean += prototypes.col(c).template cast<double>();
  mean /= static_cast<double>(prototypes.cols());
  const double spread = (prototypes.template cast<double>().colwise() - mean).cwiseAbs().maxCoeff();
  if (!(spread > 0) || !std::isfinite(spread)) return mean;
  const double unit = std::exp2(std::floor(std::log2(spread)));
  return (mean / unit).array().round() * unit;
}

}  // namespace

template <class T>
void AffineScorer<T>::top_k(const Samples<T>& samples, Index n_best, bool unit_rows, std::int64_t* indices,
                            T* best_scores, const Poll& poll) const {
  SampleBlock<T> reader(samples, query_block);
  std::vector<Best<T>> best(static_cast<std::size_t>(std::min(query_block, samples.rows)), Best<T>(n_best));
  Matrix<T> buffer(std::min(candidate_block, weights.cols()), std::min(query_block, samples.rows));
  Vector<T> inverse;
  for (Index first = 0; first < samples.rows; first += query_block) {
    const Index rows = std::min(query_block, samples.rows - first);
    const ConstView<T> x = reader.load(first, rows);
    if (unit_rows) inverse_lengths(x, inverse);
    for (auto& b : best) b.clear();
    for (Index c = 0; c < weights.cols(); c += candidate_block) {
      const Index width = std::min(candidate_block, weights.cols() - c);
      auto block = buffer.topLeftCorner(width, rows);
      score_block<T>(weights.middleCols(c, width), bias.segment(c, width), x, unit_rows ? &inverse : nullptr, block);
      for (Index i = 0; i < rows; ++i) best[i].offer(&block(0, i), width, c);
      poll();
    }
    for (Index i = 0; i < rows; ++i) best[i].write(indices + (first + i) * n_best, best_scores + (first + i) * n_best);
  }
}

template <class T>
void AffineScorer<T>::scores(const Samples<T>& samples, bool unit_rows, T* out, const Poll& poll) const {
  SampleBlock<T> reader(samples, query_block);
  Vector<T> inverse;
  for (Index first = 0; first < samples.rows; first += query_block) {
    const Index rows = std::min(query_block, samples.rows - first);
    const ConstView<T> x = reader.load(first, rows);
    if (unit_rows) inverse_lengths(x, inverse);
    View<T> block(out + first * weights.cols(), weights.cols(), rows, Eigen::OuterStride<>(weights.cols()));
    score_block<T>(weights, bias, x, unit_rows ? &inverse : nullptr, block);
    poll();
  }
}

AffineScorer<double> fold(const MatrixD& at, const MatrixD& bt, const MatrixD& candidates, Space space, Metric metric) {
  const Index n = candidates.cols();
  AffineScorer<double> scorer{MatrixD(at.rows(), n), VectorD::Zero(n)};
  MatrixD concepts(bt.cols(), n);  // B y
  gemm(Op::transpose, Op::none, 1, bt, candidates, 0, concepts);
  gemm(Op::none, Op::none, 1, at, concepts, 0, scorer.weights);  // A'B y
  if (metric == Metric::dot) return scorer;
  // What a candidate looks like in the space where it is compared
  const MatrixD& seen_as = space == Space::visual ? scorer.weights : space == Space::semantic ? candidates : concepts;
  const VectorD norms = seen_as.colwise().stableNorm();
  if (metric == Metric::euclidean)
    scorer.bias = -0.5 * norms.array().square();
  else
    for (Index c = 0; c < n; ++c) scorer.weights.col(c) *= norms[c] > 0 ? 1 / norms[c] : 0;
  return scorer;
}

template <class T>
void nearest(const Samples<T>& samples, const Matrix<T>& prototypes, Index n_best, Metric metric, std::int64_t* indices,
             T* values, const Poll& poll) {
  const Index n = prototypes.cols(), m = prototypes.rows();
  AffineScorer<T> scorer{prototypes, Vector<T>::Zero(n)};
  if (metric == Metric::cosine) {
    for (Index c = 0; c < n; ++c) {
      const double norm = length(prototypes.col(c).data(), m);
      scorer.weights.col(c) = norm > 0
                                  ? Vector<T>((prototypes.col(c).template cast<double>() / norm).template cast<T>())
                                  : Vector<T>(Vector<T>::Zero(m));
    }
  } else if (metric == Metric::euclidean) {
    const VectorD centre = rounded_mean(prototypes);
    for (Index c = 0; c < n; ++c) {
      const VectorD offset = prototypes.col(c).template cast<double>() - centre;
      scorer.weights.col(c) = offset.template cast<T>();
      scorer.bias[c] = static_cast<T>(-0.5 * offset.squaredNorm() - offset.dot(centre));
    }
  }
  if (!scorer.bias.allFinite()) throw std::overflow_error("prototypes too large");
  scorer.top_k(samples, n_best, metric == Metric::cosine, indices, values, poll);
  if (metric != Metric::euclidean) return;

  // The winners' distances, from the differences themselves.
  SampleBlock<T> reader(samples, query_block);
  std::vector<std::pair<T, std::int64_t>> order(static_cast<std::size_t>(n_best));
  for (Index first = 0; first < samples.rows; first += query_block) {
    const Index rows = std::min(query_block, samples.rows - first);
    const ConstView<T> x = reader.load(first, rows);
    for (Index i = 0; i < rows; ++i) {
      std::int64_t* best = indices + (first + i) * n_best;
      for (Index b = 0; b < n_best; ++b) {
        const Vector<T> difference = x.col(i) - prototypes.col(best[b]);
        order[b] = {static_cast<T>(length(difference.data(), m)), best[b]};
      }
      std::sort(order.begin(), order.end());
      for (Index b = 0; b < n_best; ++b) std::tie(values[(first + i) * n_best + b], best[b]) = order[b];
    }
    poll();
  }
}

template <class T>
void projected_norms(const Samples<T>& samples, const Matrix<T>& projection, T* out, const Poll& poll) {
  SampleBlock<T> reader(samples, query_block);
  Matrix<T> projected(projection.cols(), std::min(query_block, samples.rows));
  for (Index first = 0; first < samples.rows; first += query_block) {
    const Index rows = std::min(query_block, samples.rows - first);
    gemm(Op::transpose, Op::none, 1, projection, reader.load(first, rows), 0, projected.leftCols(rows));
    for (Index i = 0; i < rows; ++i) out[first + i] = static_cast<T>(length(projected.col(i).data(), projected.rows()));
    poll();
  }
}

#define JCMSPL_INSTANTIATE(T)                                                                                \
  template struct AffineScorer<T>;                                                                           \
  template void nearest(const Samples<T>&, const Matrix<T>&, Index, Metric, std::int64_t*, T*, const Poll&); \
  template void projected_norms(const Samples<T>&, const Matrix<T>&, T*, const Poll&);
JCMSPL_INSTANTIATE(float)
JCMSPL_INSTANTIATE(double)
#undef JCMSPL_INSTANTIATE

}  // namespace jcmspl
