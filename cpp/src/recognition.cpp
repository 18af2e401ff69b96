#include "jcmspl/recognition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "jcmspl/kernels.hpp"

namespace jcmspl {

namespace {

constexpr Index query_block = 2048;
constexpr Index candidate_block = 2048;

template <class T>
ConstView<T> as_const(const View<T>& a) {
  return {a.data(), a.rows(), a.cols(), Eigen::OuterStride<>(a.outerStride())};
}

// Lengths are summed in double: squares of float overflow early.
template <class T>
double length(const T* x, Index n) {
  const auto values = Eigen::Map<const Vector<T>>(x, n).template cast<double>();
  const double sum = values.squaredNorm();
  return std::isfinite(sum) && sum > 1e-290 ? std::sqrt(sum) : values.stableNorm();
}

// Reads samples of type From block by block, as columns of type T: in the caller's memory where that fits, else copied.
template <class T, class From>
class SampleReader {
public:
  explicit SampleReader(const Samples<From>& samples, const VectorD* origin = nullptr)
      : samples_(samples), origin_(origin) {
    in_place_ = std::is_same_v<T, From> && !origin && samples.col_stride == 1 && samples.row_stride >= samples.cols &&
                samples.row_stride <= std::numeric_limits<int>::max();
  }

  Index size() const { return samples_.rows; }

  // The samples from first on, less the origin. Refuses NaN and infinity.
  ConstView<T> load(Index first, Index rows) {
    const From* start = samples_.data + first * samples_.row_stride;
    for (Index i = 0; i < rows; ++i) {
      int bad = 0;
      for (Index j = 0; j < samples_.cols; ++j) bad |= !(std::abs(at(start, i, j)) <= std::numeric_limits<From>::max());
      if (bad) throw BadValue(first + i, false);
    }
    if (in_place_)
      return {reinterpret_cast<const T*>(start), samples_.cols, rows, Eigen::OuterStride<>(samples_.row_stride)};
    copy_.resize(samples_.cols, rows);
    for (Index i = 0; i < rows; ++i)
      for (Index j = 0; j < samples_.cols; ++j)
        copy_(j, i) = static_cast<T>(at(start, i, j) - (origin_ ? (*origin_)[j] : 0));
    return {copy_.data(), samples_.cols, rows, Eigen::OuterStride<>(samples_.cols)};
  }

  // The same, with what each sample must be multiplied with to have length one.
  ConstView<T> load_unit(Index first, Index rows, Vector<T>& inverse_length) {
    // within these bounds neither an inverse length nor a product with a unit vector over- or underflows
    constexpr double safe = std::is_same_v<T, float> ? 1e30 : 1e290;
    ConstView<T> block = load(first, rows);
    inverse_length.resize(rows);
    for (Index i = 0; i < rows; ++i) {
      const double norm = length(block.data() + i * block.outerStride(), block.rows());
      inverse_length[i] = norm > 0 ? static_cast<T>(1 / norm) : T(0);
      if (norm == 0 || (norm < safe && norm > 1 / safe)) continue;
      if (block.data() != copy_.data()) {
        copy_ = block;
        new (&block) ConstView<T>(copy_.data(), copy_.rows(), rows, Eigen::OuterStride<>(copy_.rows()));
      }
      // in two steps, as the inverse itself may overflow
      copy_.col(i) /= copy_.col(i).cwiseAbs().maxCoeff();
      copy_.col(i) /= static_cast<T>(length(copy_.col(i).data(), copy_.rows()));
      inverse_length[i] = 1;
    }
    return block;
  }

private:
  const From& at(const From* start, Index i, Index j) const {
    return start[i * samples_.row_stride + j * samples_.col_stride];
  }

  const Samples<From>& samples_;
  const VectorD* origin_;
  bool in_place_;
  Matrix<T> copy_;
};

// The n best (score, index) pairs seen so far; offered in ascending order of index.
template <class T>
class Best {
public:
  explicit Best(Index n) : n_(static_cast<std::size_t>(n)) { heap_.reserve(n_); }

  void clear() { heap_.clear(); }

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

  void write(std::int64_t* indices, T* scores) {
    for (const Entry& entry : heap_)
      if (!std::isfinite(entry.first)) throw std::overflow_error("a score is not finite");
    std::sort(heap_.begin(), heap_.end(), before);
    for (std::size_t i = 0; i < heap_.size(); ++i) std::tie(scores[i], indices[i]) = heap_[i];
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

// out (candidates x samples) = weights' x [times inverse lengths] + bias
template <class T, class Weights, class Bias, class Out>
void score_block(const Weights& weights, const Bias& bias, const ConstView<T>& x, const Vector<T>* inverse, Out&& out) {
  gemm(Op::transpose, Op::none, 1, weights, x, 0, out);
  if (inverse)
    for (Index i = 0; i < x.cols(); ++i) out.col(i) = out.col(i) * (*inverse)[i] + bias;
  else if ((bias.array() != T(0)).any())
    out.colwise() += bias;
}

// Calls with(first, rows, x, inverse lengths or null) for each block of samples.
template <class T, class From, class Function>
void for_each_block(SampleReader<T, From>& reader, bool unit_rows, Function with) {
  Vector<T> inverse;
  for (Index first = 0; first < reader.size(); first += query_block) {
    const Index rows = std::min(query_block, reader.size() - first);
    if (unit_rows) {
      const ConstView<T> x = reader.load_unit(first, rows, inverse);
      with(first, rows, x, &inverse);
    } else {
      with(first, rows, reader.load(first, rows), static_cast<Vector<T>*>(nullptr));
    }
  }
}

template <class T, class From>
void search(const AffineScorer<T>& scorer, SampleReader<T, From>& reader, Index n_best, bool unit_rows,
            std::int64_t* indices, T* best_scores, const Poll& poll) {
  const Index count = scorer.weights.cols(), step = std::min(query_block, reader.size());
  std::vector<Best<T>> best(static_cast<std::size_t>(step), Best<T>(n_best));
  Matrix<T> buffer(std::min(candidate_block, count), step);
  // Without a bias the length of a sample does not change the order of its scores: only the best are divided by it.
  const bool divide_all = (scorer.bias.array() != T(0)).any();
  for_each_block(reader, unit_rows, [&](Index first, Index rows, const ConstView<T>& x, const Vector<T>* inverse) {
    for (auto& b : best) b.clear();
    for (Index c = 0; c < count; c += candidate_block) {
      const Index width = std::min(candidate_block, count - c);
      auto block = buffer.topLeftCorner(width, rows);
      score_block<T>(scorer.weights.middleCols(c, width), scorer.bias.segment(c, width), x,
                     divide_all ? inverse : nullptr, block);
      for (Index i = 0; i < rows; ++i) best[i].offer(&block(0, i), width, c);
      poll();
    }
    for (Index i = 0; i < rows; ++i) {
      T* scores = best_scores + (first + i) * n_best;
      best[i].write(indices + (first + i) * n_best, scores);
      if (inverse && !divide_all)
        for (Index b = 0; b < n_best; ++b) scores[b] *= (*inverse)[i];
    }
  });
}

// An origin near the prototypes: distances do not change with it, and less is lost to cancellation. Each coordinate is
// rounded to a multiple of a power of two of the size of their spread in it, so that it adds no digits: whole numbers
// stay whole numbers, and equal distances stay equal.
VectorD rounded_mean(const MatrixD& prototypes) {
  VectorD mean = prototypes.rowwise().mean();
  for (Index j = 0; j < mean.size(); ++j) {
    const double spread = (prototypes.row(j).array() - mean[j]).abs().maxCoeff();
    if (!(spread > 0) || !std::isfinite(spread)) continue;
    const double unit = std::exp2(std::floor(std::log2(spread)));
    if (std::isfinite(mean[j] / unit)) mean[j] = std::round(mean[j] / unit) * unit;
  }
  return mean;
}

template <class T>
void nearest_by_distance(const Samples<T>& samples, const MatrixD& prototypes, Index n_best, std::int64_t* indices,
                         T* values, const Poll& poll) {
  const VectorD origin = rounded_mean(prototypes);
  MatrixD centred = prototypes.colwise() - origin;
  const AffineScorer<double> scorer{as_const(view(centred)), -0.5 * centred.colwise().squaredNorm()};
  if (!scorer.bias.allFinite()) throw std::overflow_error("prototypes too large");
  SampleReader<double, T> reader(samples, &origin);
  MatrixD scores(n_best, samples.rows);
  search(scorer, reader, n_best, false, indices, scores.data(), poll);

  // The winners' distances, from the differences themselves.
  std::vector<std::pair<double, std::int64_t>> order(static_cast<std::size_t>(n_best));
  for_each_block(reader, false, [&](Index first, Index rows, const ConstView<double>& x, const VectorD*) {
    for (Index i = 0; i < rows; ++i) {
      std::int64_t* best = indices + (first + i) * n_best;
      for (Index b = 0; b < n_best; ++b) {
        const VectorD difference = x.col(i) - centred.col(best[b]);
        order[b] = {length(difference.data(), difference.size()), best[b]};
      }
      std::sort(order.begin(), order.end());
      for (Index b = 0; b < n_best; ++b) {
        values[(first + i) * n_best + b] = static_cast<T>(order[b].first);
        best[b] = order[b].second;
      }
    }
    poll();
  });
}

}  // namespace

template <class T>
void AffineScorer<T>::top_k(const Samples<T>& samples, Index n_best, bool unit_rows, std::int64_t* indices,
                            T* best_scores, const Poll& poll) const {
  SampleReader<T, T> reader(samples);
  search(*this, reader, n_best, unit_rows, indices, best_scores, poll);
}

template <class T>
void AffineScorer<T>::scores(const Samples<T>& samples, bool unit_rows, T* out, const Poll& poll) const {
  SampleReader<T, T> reader(samples);
  for_each_block(reader, unit_rows, [&](Index first, Index rows, const ConstView<T>& x, const Vector<T>* inverse) {
    View<T> block(out + first * weights.cols(), weights.cols(), rows, Eigen::OuterStride<>(weights.cols()));
    score_block<T>(weights, bias, x, inverse, block);
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
void nearest(const Samples<T>& samples, const ConstView<T>& prototypes, Index n_best, Metric metric,
             std::int64_t* indices, T* values, const Poll& poll) {
  if (metric == Metric::euclidean)
    return nearest_by_distance(samples, prototypes.template cast<double>().eval(), n_best, indices, values, poll);
  const Vector<T> no_bias = Vector<T>::Zero(prototypes.cols());
  if (metric == Metric::dot)
    return AffineScorer<T>{prototypes, no_bias}.top_k(samples, n_best, false, indices, values, poll);
  Matrix<T> unit = Matrix<T>::Zero(prototypes.rows(), prototypes.cols());
  for (Index c = 0; c < prototypes.cols(); ++c) {
    const double norm = length(prototypes.col(c).data(), prototypes.rows());
    if (norm > 0) unit.col(c) = (prototypes.col(c).template cast<double>() / norm).template cast<T>();
  }
  AffineScorer<T>{as_const(view(unit)), no_bias}.top_k(samples, n_best, true, indices, values, poll);
}

#define JCMSPL_INSTANTIATE(T)      \
  template struct AffineScorer<T>; \
  template void nearest(const Samples<T>&, const ConstView<T>&, Index, Metric, std::int64_t*, T*, const Poll&);
JCMSPL_INSTANTIATE(float)
JCMSPL_INSTANTIATE(double)
#undef JCMSPL_INSTANTIATE

}  // namespace jcmspl
