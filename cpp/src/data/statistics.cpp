#include "jcmspl/data/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "jcmspl/linalg/kernels.hpp"

namespace jcmspl {

namespace {

// Sums of squares of values up to this stay finite for any number of samples that fits in memory,
// and the sums themselves stay below its square.
constexpr double largest_value = 1e145;

template <class Values>
bool acceptable(const Values& values, double limit) {
  return values.size() == 0 || static_cast<double>(values.cwiseAbs().template maxCoeff<Eigen::PropagateNaN>()) <= limit;
}

// Copies rows [first, first + block.cols()) of the chunk into the columns of block.
template <class T>
void gather(const Samples<T>& chunk, Index first, View<double> block) {
  const T* start = chunk.data + first * chunk.row_stride;
  if (chunk.col_stride == 1) {
    for (Index i = 0; i < block.cols(); ++i) {
      const T* row = start + i * chunk.row_stride;
      double* out = block.data() + i * block.outerStride();
      for (Index j = 0; j < block.rows(); ++j) out[j] = static_cast<double>(row[j]);
    }
    return;
  }
  // Fortran order, or any other: walk small tiles so that neither side jumps through memory.
  constexpr Index tile = 16;
  for (Index j0 = 0; j0 < block.rows(); j0 += tile) {
    const Index j1 = std::min(j0 + tile, block.rows());
    for (Index i = 0; i < block.cols(); ++i)
      for (Index j = j0; j < j1; ++j)
        block(j, i) = static_cast<double>(start[i * chunk.row_stride + j * chunk.col_stride]);
  }
}

// A sample with infinity becomes NaN here, and is found out later like NaN itself.
void scale_to_unit(View<double> block) {
  for (Index i = 0; i < block.cols(); ++i) {
    double norm = block.col(i).norm();
    if (!(norm > 1e-140 && norm < 1e140)) norm = block.col(i).stableNorm();  // squares under- or overflowed
    if (norm != 0) block.col(i) /= norm;
  }
}

// Throws for the first sample with a value beyond the limit; NaN is beyond any.
template <class T>
void check_values(const Samples<T>& chunk, double limit) {
  for (Index i = 0; i < chunk.rows; ++i) {
    const Eigen::Map<const Vector<T>, 0, Eigen::InnerStride<>> row(chunk.data + i * chunk.row_stride, chunk.cols,
                                                                   Eigen::InnerStride<>(chunk.col_stride));
    if (!acceptable(row, limit)) throw BadValue(i, acceptable(row, std::numeric_limits<double>::max()));
  }
}

void check_labels(const std::int64_t* labels, Index count, Index n_classes) {
  for (Index i = 0; i < count; ++i)
    if (labels[i] < 0 || labels[i] >= n_classes)
      throw std::out_of_range("label " + std::to_string(labels[i]) + " of sample " + std::to_string(i) +
                              " is outside 0.." + std::to_string(n_classes - 1));
}

}  // namespace

Statistics::Statistics(Index n_features, Index n_classes)
    : gram_lower(MatrixD::Zero(n_features, n_features)),
      class_sums(MatrixD::Zero(n_features, n_classes)),
      counts(Counts::Zero(n_classes)) {}

MatrixD Statistics::gram() const {
  MatrixD full = gram_lower;
  mirror_lower(full);
  return full;
}

Index Statistics::block_rows() const {
  constexpr Index block_values = Index(1) << 21;  // 16 MB of doubles
  return std::clamp<Index>(block_values / std::max<Index>(1, n_features()), 64, 8192);
}

void Statistics::accumulate(const ConstView<double>& block, const std::int64_t* labels) {
  const bool first = counts.sum() == 0;
  add_class_sums(block, labels);
  syrk(Op::none, 1, block, first ? 0 : 1, gram_lower);  // reading fresh memory is not free
}

// Class by class and four samples at a time: the sum stays in cache, and memory delivers several samples faster than
// one.
void Statistics::add_class_sums(const ConstView<double>& block, const std::int64_t* labels) {
  const Index n = block.cols(), c = n_classes();
  std::vector<Index> next(static_cast<std::size_t>(c) + 1, 0);  // where the samples of a class begin
  std::vector<Index> by_class(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) ++next[labels[i] + 1];
  for (Index cls = 0; cls < c; ++cls) {
    counts[cls] += next[cls + 1];
    next[cls + 1] += next[cls];
  }
  for (Index i = 0; i < n; ++i) by_class[next[labels[i]]++] = i;  // in the end, where they end
  Index at = 0;
  for (Index cls = 0; cls < c; ++cls) {
    const auto sample = [&](Index i) { return block.col(by_class[at + i]); };
    auto sum = class_sums.col(cls);
    for (; at + 4 <= next[cls]; at += 4) sum += (sample(0) + sample(1)) + (sample(2) + sample(3));
    for (; at < next[cls]; ++at) sum += sample(0);
  }
}

template <class T>
void Statistics::accumulate_chunk(const Samples<T>& chunk, const std::int64_t* labels, bool unit_rows,
                                  const Poll& poll) {
  const bool in_place = std::is_same_v<T, double> && chunk.col_stride == 1 && chunk.row_stride >= chunk.cols &&
                        chunk.row_stride <= std::numeric_limits<int>::max() && !unit_rows;
  // Every step reads and writes the whole Gram matrix once. Without a copy to keep in cache, larger steps are better.
  // Equal steps: a short one at the end would cost as much of that as a long one.
  const Index largest_step = in_place ? 4 * block_rows() : block_rows();
  const Index steps = std::max<Index>(1, (chunk.rows + largest_step - 1) / largest_step);
  const Index step = (chunk.rows + steps - 1) / steps;
  MatrixD buffer(in_place ? 0 : chunk.cols, in_place ? 0 : std::min(step, chunk.rows));
  for (Index first = 0; first < chunk.rows; first += step) {
    const Index rows = std::min(step, chunk.rows - first);
    View<double> copy(buffer.data(), buffer.rows(), in_place ? 0 : rows, Eigen::OuterStride<>(buffer.rows()));
    if (!in_place) gather(chunk, first, copy);
    const double* data =
        in_place ? reinterpret_cast<const double*>(chunk.data) + first * chunk.row_stride : buffer.data();
    const Index stride = in_place ? chunk.row_stride : chunk.cols;
    const ConstView<double> block(data, chunk.cols, rows, Eigen::OuterStride<>(stride));
    if (unit_rows) scale_to_unit(copy);
    accumulate(block, labels + first);
    poll();
  }
}

namespace {

// Rows that are scaled to length one may be of any finite length.
double limit(bool unit_rows) { return unit_rows ? std::numeric_limits<double>::max() : largest_value; }

}  // namespace

template <class T>
Statistics Statistics::of(const Samples<T>& chunk, const std::int64_t* labels, Index n_classes, bool unit_rows,
                          const Poll& poll) {
  check_labels(labels, chunk.rows, n_classes);
  Statistics out(chunk.cols, n_classes);
  out.accumulate_chunk(chunk, labels, unit_rows, poll);
  // A bad value shows on the diagonal; the samples are read again only to find it.
  if (!acceptable(out.gram_lower.diagonal(), largest_value * largest_value)) check_values(chunk, limit(unit_rows));
  return out;
}

template <class T>
void Statistics::update(const Samples<T>& chunk, const std::int64_t* labels, bool unit_rows, const Poll& poll) {
  if (chunk.cols != n_features()) throw std::invalid_argument("the chunk has the wrong number of features");
  // A large chunk gets statistics of its own, which are dropped if there is a bad value. For a small one that would
  // cost more than looking through it first.
  if (chunk.rows > block_rows()) return add(of(chunk, labels, n_classes(), unit_rows, poll));
  check_labels(labels, chunk.rows, n_classes());
  check_values(chunk, limit(unit_rows));
  accumulate_chunk(chunk, labels, unit_rows, [] {});
}

#define JCMSPL_INSTANTIATE(T)                                                                           \
  template Statistics Statistics::of(const Samples<T>&, const std::int64_t*, Index, bool, const Poll&); \
  template void Statistics::update(const Samples<T>&, const std::int64_t*, bool, const Poll&);
JCMSPL_INSTANTIATE(float)
JCMSPL_INSTANTIATE(double)
#undef JCMSPL_INSTANTIATE

void Statistics::check_same_shape(const Statistics& other) const {
  if (other.n_features() != n_features() || other.n_classes() != n_classes())
    throw std::invalid_argument("the two statistics differ in shape: " + std::to_string(n_features()) +
                                " features and " + std::to_string(n_classes()) + " classes against " +
                                std::to_string(other.n_features()) + " and " + std::to_string(other.n_classes()));
}

void Statistics::add(Statistics&& other) {
  check_same_shape(other);
  if (counts.sum() == 0) {
    *this = std::move(other);
    return;
  }
  gram_lower += other.gram_lower;
  class_sums += other.class_sums;
  counts += other.counts;
}

void Statistics::subtract(const Statistics& other) {
  check_same_shape(other);
  if ((counts.array() < other.counts.array()).any())
    throw std::invalid_argument("cannot take away more samples of a class than there are");
  gram_lower -= other.gram_lower;
  class_sums -= other.class_sums;
  counts -= other.counts;
  // What is left of a class that is gone, or of everything, is rounding noise.
  for (Index c = 0; c < n_classes(); ++c)
    if (counts[c] == 0) class_sums.col(c).setZero();
  if (counts.sum() == 0) gram_lower.setZero();
}

StartStatistics::StartStatistics(Index n_concepts, Index n_features, Index n_classes)
    : code_gram(MatrixD::Zero(n_concepts, n_concepts)),
      sample_code(MatrixD::Zero(n_features, n_concepts)),
      class_code_sums(MatrixD::Zero(n_classes, n_concepts)) {}

void StartStatistics::update(const ConstView<double>& codes_t, const ConstView<double>& samples_t,
                             const std::int64_t* labels) {
  check_labels(labels, codes_t.cols(), class_code_sums.rows());
  for (const auto& values : {codes_t, samples_t})
    check_values(Samples<double>{values.data(), values.cols(), values.rows(), values.outerStride(), 1}, largest_value);
  gemm(Op::none, Op::transpose, 1, codes_t, codes_t, 1, code_gram);
  gemm(Op::none, Op::transpose, 1, samples_t, codes_t, 1, sample_code);
  for (Index i = 0; i < codes_t.cols(); ++i) class_code_sums.row(labels[i]) += codes_t.col(i).transpose();
}

}  // namespace jcmspl
