#include "jcmspl/data/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "data/sample_reader.hpp"
#include "jcmspl/data/half.hpp"
#include "linalg/blas.hpp"
#include "linalg/norm.hpp"
#include "linalg/symmetric.hpp"
#include "support/parallel.hpp"

namespace jcmspl {

namespace {

// Scales the samples in place. A sample with an infinity becomes NaN here, and is found later as NaN is.
void scale_columns_to_unit(View<double>& block) {
  for (Index i = 0; i < block.cols(); ++i) scale_to_unit(block.col(i));
}

ConstView<double> constant(const View<double>& block) {
  return {block.data(), block.rows(), block.cols(), Eigen::OuterStride<>(block.outerStride())};
}

// Rows that are scaled to length one may be of any finite length.
double largest_accepted(Scaling scaling, double weight = 1) {
  if (scaling.unit_rows) return std::numeric_limits<double>::max();
  const double largest = largest_value / std::sqrt(std::max(weight, 1.0));
  return scaling.roots ? largest * largest : largest;
}

template <class T>
void check_samples(const Samples<T>& chunk, Scaling scaling, const double* weights) {
  if (!weights) return check_values(chunk, largest_accepted(scaling));
  for (Index i = 0; i < chunk.rows; ++i)
    if (weights[i] != 0) check_row(chunk, i, largest_accepted(scaling, weights[i]));
}

void add_lower(const MatrixD& part, MatrixD& total) {
  for (Index j = 0; j < part.cols(); ++j) total.col(j).tail(part.rows() - j) += part.col(j).tail(part.rows() - j);
}

// A sample of weight 0 becomes zero, even if it has NaN.
void multiply_by_roots(View<double>& block, const double* weights) {
  for (Index i = 0; i < block.cols(); ++i) {
    if (weights[i] == 0)
      block.col(i).setZero();
    else
      block.col(i) *= std::sqrt(weights[i]);
  }
}

// A sum of weights from which others were subtracted is zero to rounding below this share of the first sum.
constexpr double rounding_of_weights = 1e-10;

}  // namespace

Statistics::Statistics(Index n_features, Index n_classes)
    : gram_lower(MatrixD::Zero(n_features, n_features)),
      class_sums(MatrixD::Zero(n_features, n_classes)),
      counts(VectorD::Zero(n_classes)) {}

MatrixD Statistics::gram() const { return full_symmetric(gram_lower); }

void Statistics::add_weighted_class_sums(const View<double>& block, const std::int64_t* labels, const double* weights) {
  for (Index i = 0; i < block.cols(); ++i) {
    if (weights[i] == 0) continue;
    counts[labels[i]] += weights[i];
    class_sums.col(labels[i]) += weights[i] * block.col(i);
  }
}

// Class by class and four samples at a time: the sum stays in cache, and several samples are read from memory at once.
void Statistics::add_class_sums(const ConstView<double>& block, const std::int64_t* labels) {
  const Index n = block.cols(), c = n_classes();
  // A counting sort: by_class lists the samples of class 0, then those of class 1, ... At first next[cls] is where
  // those of a class begin, and after the sort where they end.
  std::vector<Index> next(static_cast<std::size_t>(c) + 1, 0);
  std::vector<Index> by_class(static_cast<std::size_t>(n));
  for (Index i = 0; i < n; ++i) ++next[labels[i] + 1];
  for (Index cls = 0; cls < c; ++cls) {
    counts[cls] += static_cast<double>(next[cls + 1]);
    next[cls + 1] += next[cls];
  }
  for (Index i = 0; i < n; ++i) by_class[next[labels[i]]++] = i;
  Index at = 0;
  for (Index cls = 0; cls < c; ++cls) {
    const auto sample = [&](Index i) { return block.col(by_class[at + i]); };
    auto sum = class_sums.col(cls);
    for (; at + 4 <= next[cls]; at += 4) sum += (sample(0) + sample(1)) + (sample(2) + sample(3));
    for (; at < next[cls]; ++at) sum += sample(0);
  }
}

template <class T>
void Statistics::accumulate_chunk(const Samples<T>& chunk, const std::int64_t* labels, Scaling scaling,
                                  const Poll& poll, const double* weights, Index n_threads) {
  const bool copies =
      scaling.unit_rows || weights || !SampleReader<double, T>(chunk, nullptr, scaling.roots).in_place();
  // Every step reads and writes the whole Gram matrix once, so that larger steps are better where no copy has to stay
  // in cache. Steps are equal: a short one at the end would cost as much of that as a long one.
  const Index largest_step = copies ? block_rows() : 4 * block_rows();
  const Index least_steps = std::max<Index>(1, (chunk.rows + largest_step - 1) / largest_step);
  // Several threads end at about the same time if the number of steps is a multiple of theirs.
  const Index steps = least_steps <= 2 ? least_steps : (least_steps + 3) / 4 * 4;
  const Index step = (chunk.rows + steps - 1) / steps;
  const double share_of_former = counts.sum() == 0 ? 0 : 1;  // with 0 the memory, still zero, is not read
  InOrder sums_in_order, products_in_order;
  for_each_in_parallel(steps, n_threads, poll, [&] {
    return [&, reader = SampleReader<double, T>(chunk, nullptr, scaling.roots), gram = MatrixD()](
               Index index, const Poll& own_poll) mutable {
      const Index first = index * step, rows = std::max<Index>(0, std::min(step, chunk.rows - first));
      const auto read = [&]() -> ConstView<double> {
        if (!copies) return reader.read(first, rows);
        View<double> block = reader.copy(first, rows);
        if (scaling.unit_rows) scale_columns_to_unit(block);
        if (weights) {  // sums first: with the roots a weight of 2 would not give exactly twice the sample
          sums_in_order(index, own_poll, [&] { add_weighted_class_sums(block, labels + first, weights + first); });
          multiply_by_roots(block, weights + first);
        }
        return constant(block);
      };
      const ConstView<double> block = read();
      if (!weights) sums_in_order(index, own_poll, [&] { add_class_sums(block, labels + first); });
      // The first block needs no memory for its products: the others wait until it is added.
      if (index == 0) {
        syrk(Op::none, 1, block, share_of_former, gram_lower);
      } else {
        if (gram.size() == 0) gram = MatrixD::Zero(n_features(), n_features());
        syrk(Op::none, 1, block, 0, gram);
      }
      products_in_order(index, own_poll, [&] {
        if (index > 0) add_lower(gram, gram_lower);
      });
    };
  });
}

template <class T>
Statistics Statistics::of(const Samples<T>& chunk, const std::int64_t* labels, Index n_classes, Scaling scaling,
                          const Poll& poll, const double* weights, Index n_threads) {
  check_labels(labels, chunk.rows, n_classes);
  Statistics out(chunk.cols, n_classes);
  out.accumulate_chunk(chunk, labels, scaling, poll, weights, n_threads);
  // A bad value shows on the diagonal of the Gram matrix (NaN fails the comparison): only then the samples are read
  // again.
  const bool all_good = (out.gram_lower.diagonal().array().abs() <= largest_value * largest_value).all();
  if (!all_good) check_samples(chunk, scaling, weights);
  return out;
}

template <class T>
void Statistics::update(const Samples<T>& chunk, const std::int64_t* labels, Scaling scaling, const Poll& poll,
                        const double* weights, Index n_threads) {
  if (chunk.cols != n_features()) throw std::invalid_argument("the chunk has the wrong number of features");
  // A large chunk gets separate statistics, which are dropped if there is a bad value. For a small chunk that would
  // cost more than checking its values first.
  if (chunk.rows > block_rows()) return add(of(chunk, labels, n_classes(), scaling, poll, weights, n_threads));
  check_labels(labels, chunk.rows, n_classes());
  check_samples(chunk, scaling, weights);
  accumulate_chunk(chunk, labels, scaling, [] {}, weights, 1);
}

#define JCMSPL_INSTANTIATE(T)                                                                             \
  template Statistics Statistics::of(const Samples<T>&, const std::int64_t*, Index, Scaling, const Poll&, \
                                     const double*, Index);                                               \
  template void Statistics::update(const Samples<T>&, const std::int64_t*, Scaling, const Poll&, const double*, Index);
JCMSPL_INSTANTIATE(float)
JCMSPL_INSTANTIATE(double)
JCMSPL_INSTANTIATE(Half)
JCMSPL_INSTANTIATE(BFloat16)
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
  const VectorD noise = rounding_of_weights * counts;
  if ((other.counts.array() > (counts + noise).array()).any())
    throw std::invalid_argument("cannot subtract more samples of a class than there are");
  gram_lower -= other.gram_lower;
  class_sums -= other.class_sums;
  counts -= other.counts;
  // The sums of a class without samples, or of no samples at all, are only rounding errors now.
  for (Index c = 0; c < n_classes(); ++c) {
    if (counts[c] > noise[c]) continue;
    counts[c] = 0;
    class_sums.col(c).setZero();
  }
  if (counts.sum() == 0) gram_lower.setZero();
}

}  // namespace jcmspl
