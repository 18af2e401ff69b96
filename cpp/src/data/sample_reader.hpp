#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "jcmspl/data/samples.hpp"
#include "jcmspl/support/types.hpp"

namespace jcmspl {

// Reads samples of type From block by block, as columns of type T that BLAS can take: in place if their memory allows
// it, else as a copy. A block is valid until the next one is read.
template <class T, class From>
class SampleReader {
public:
  // With an origin it is subtracted from each sample; it must outlive the reader. With roots each value becomes its
  // signed root. Not both.
  explicit SampleReader(const Samples<From>& samples, const VectorD* origin = nullptr, bool roots = false)
      : samples_(samples), origin_(origin), roots_(roots) {}

  Index size() const { return samples_.rows; }
  const Samples<From>& samples() const { return samples_; }

  // Whether read() copies nothing.
  bool in_place() const {
    return std::is_same_v<T, From> && !origin_ && !roots_ && samples_.col_stride == 1 &&
           samples_.row_stride >= samples_.cols && samples_.row_stride <= std::numeric_limits<int>::max();
  }

  ConstView<T> read(Index first, Index rows) {
    if (in_place())
      return {reinterpret_cast<const T*>(at(first)), samples_.cols, rows, Eigen::OuterStride<>(samples_.row_stride)};
    const View<T> block = copy(first, rows);
    return {block.data(), block.rows(), block.cols(), Eigen::OuterStride<>(block.outerStride())};
  }

  // Always a copy, which may be changed.
  View<T> copy(Index first, Index rows) {
    if (buffer_.size() < samples_.cols * rows) buffer_.resize(samples_.cols * rows);
    View<T> block(buffer_.data(), samples_.cols, rows, Eigen::OuterStride<>(samples_.cols));
    if (roots_)
      fill(block, at(first), [](From value, Index) {
        return std::copysign(std::sqrt(std::abs(static_cast<T>(value))), static_cast<T>(value));
      });
    else if (origin_)
      fill(block, at(first), [&](From value, Index j) { return static_cast<T>(value - (*origin_)[j]); });
    else
      fill(block, at(first), [](From value, Index) { return static_cast<T>(value); });
    return block;
  }

private:
  const From* at(Index row) const { return samples_.data + row * samples_.row_stride; }

  template <class Convert>
  void fill(View<T>& block, const From* start, Convert convert) const {
    const Index row_stride = samples_.row_stride, col_stride = samples_.col_stride;
    // Where features are not neighbours in memory (as in Fortran order), small tiles keep both sides in cache.
    const Index tile = col_stride == 1 ? std::max<Index>(1, block.rows()) : 16;
    for (Index j0 = 0; j0 < block.rows(); j0 += tile) {
      const Index j1 = std::min(j0 + tile, block.rows());
      for (Index i = 0; i < block.cols(); ++i) {
        const From* row = start + i * row_stride;
        T* out = block.data() + i * block.outerStride();
        if (col_stride == 1)
          for (Index j = j0; j < j1; ++j) out[j] = convert(row[j], j);
        else
          for (Index j = j0; j < j1; ++j) out[j] = convert(row[j * col_stride], j);
      }
    }
  }

  Samples<From> samples_;
  const VectorD* origin_;
  bool roots_;
  Vector<T> buffer_;  // grows to the largest block
};

}  // namespace jcmspl
