// Samples in the caller's memory as blocks that BLAS can take.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "jcmspl/data/statistics.hpp"
#include "jcmspl/support/types.hpp"

namespace jcmspl {

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
  // With an origin it is subtracted; with unit_rows each sample has a factor that makes its length one. Not both.
  SampleReader(const Samples<From>& samples, const VectorD* origin, bool unit_rows)
      : samples_(samples), origin_(origin), unit_rows_(unit_rows) {
    in_place_ = std::is_same_v<T, From> && !origin && samples.col_stride == 1 && samples.row_stride >= samples.cols &&
                samples.row_stride <= std::numeric_limits<int>::max();
  }

  Index size() const { return samples_.rows; }

  // Refuses NaN and infinity.
  ConstView<T> load(Index first, Index rows) {
    const From* start = samples_.data + first * samples_.row_stride;
    for (Index i = 0; i < rows; ++i) {
      int bad = 0;
      for (Index j = 0; j < samples_.cols; ++j) bad |= !(std::abs(at(start, i, j)) <= std::numeric_limits<From>::max());
      if (bad) throw BadValue(first + i, false);
    }
    if (!in_place_) {
      copy_.resize(samples_.cols, rows);
      for (Index i = 0; i < rows; ++i)
        for (Index j = 0; j < samples_.cols; ++j)
          copy_(j, i) = static_cast<T>(at(start, i, j) - (origin_ ? (*origin_)[j] : 0));
    }
    const ConstView<T> block = in_place_ ? ConstView<T>(reinterpret_cast<const T*>(start), samples_.cols, rows,
                                                        Eigen::OuterStride<>(samples_.row_stride))
                                         : copied();
    return unit_rows_ ? find_factors(block) : block;
  }

  // What the samples of the last block must be multiplied with, or null.
  const Vector<T>* factors() const { return unit_rows_ ? &factors_ : nullptr; }

private:
  const From& at(const From* start, Index i, Index j) const {
    return start[i * samples_.row_stride + j * samples_.col_stride];
  }

  ConstView<T> copied() const { return {copy_.data(), copy_.rows(), copy_.cols(), Eigen::OuterStride<>(copy_.rows())}; }

  // Returns the block, or a copy in which samples are scaled whose factor would over- or underflow.
  ConstView<T> find_factors(ConstView<T> block) {
    // within these bounds neither a factor nor a product with a unit vector over- or underflows
    constexpr double safe = std::is_same_v<T, float> ? 1e30 : 1e290;
    factors_.resize(block.cols());
    for (Index i = 0; i < block.cols(); ++i) {
      const double norm = length(block.data() + i * block.outerStride(), block.rows());
      factors_[i] = norm > 0 ? static_cast<T>(1 / norm) : T(0);
      if (norm == 0 || (norm < safe && norm > 1 / safe)) continue;
      if (block.data() != copy_.data()) {
        copy_ = block;
        new (&block) ConstView<T>(copied());
      }
      // in two steps, as the inverse itself may overflow
      copy_.col(i) /= copy_.col(i).cwiseAbs().maxCoeff();
      copy_.col(i) /= static_cast<T>(length(copy_.col(i).data(), copy_.rows()));
      factors_[i] = 1;
    }
    return block;
  }

  const Samples<From>& samples_;
  const VectorD* origin_;
  const bool unit_rows_;
  bool in_place_;
  Matrix<T> copy_;
  Vector<T> factors_;
};

}  // namespace jcmspl
