// The samples of a search: checked, and with the factors that bring them to length one.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "data/sample_reader.hpp"
#include "linalg/norm.hpp"

namespace jcmspl::search {

template <class T, class From>
class QueryReader {
public:
  // Subtracts the origin, if there is one. With a scale to length one each sample has a factor. Not both.
  QueryReader(const Samples<From>& samples, const VectorD* origin, Scaling scaling)
      : reader_(samples, origin, scaling.roots), unit_rows_(scaling.unit_rows) {}

  Index size() const { return reader_.size(); }

  // Throws BadValue for NaN and infinity. A block is valid until the next one is read.
  ConstView<T> read(Index first, Index rows) {
    const ConstView<T> block = reader_.read(first, rows);
    if (unit_rows_ ? find_factors(block) : is_finite(block)) return block;
    check_finite(first, rows);
    return unit_rows_ ? scaled_copy(first, rows) : block;
  }

  // The factors that bring the samples of the last block to length one, or null.
  const Vector<T>* factors() const { return unit_rows_ ? &factors_ : nullptr; }

private:
  static bool is_finite(const ConstView<T>& block) {
    int bad = 0;
    for (Index i = 0; i < block.cols(); ++i)
      for (Index j = 0; j < block.rows(); ++j) bad |= !(std::abs(block(j, i)) <= std::numeric_limits<T>::max());
    return !bad;
  }

  // Checks the original samples: a finite value may overflow when the origin is subtracted.
  void check_finite(Index first, Index rows) const {
    for (Index i = first; i < first + rows; ++i) check_row(reader_.samples(), i, std::numeric_limits<double>::max());
  }

  // Within these bounds neither the factor of a sample nor its product with a unit vector over- or underflows.
  static bool is_safe(double norm) {
    constexpr double safe = std::is_same_v<T, float> ? 1e30 : 1e290;
    return norm == 0 || (norm < safe && norm > 1 / safe);
  }

  // Returns whether all factors can be used. They cannot if a value is NaN or infinite.
  bool find_factors(const ConstView<T>& block) {
    bool all_safe = true;
    factors_.resize(block.cols());
    for (Index i = 0; i < block.cols(); ++i) {
      const double norm = frobenius_norm(block.col(i));
      factors_[i] = norm > 0 ? static_cast<T>(1 / norm) : T(0);
      all_safe = all_safe && is_safe(norm);
    }
    return all_safe;
  }

  // The block with samples of extreme length scaled to length one, and a factor of one.
  ConstView<T> scaled_copy(Index first, Index rows) {
    View<T> block = reader_.copy(first, rows);
    for (Index i = 0; i < rows; ++i) {
      auto sample = block.col(i);
      if (is_safe(frobenius_norm(sample))) continue;
      scale_to_unit(sample);
      factors_[i] = 1;
    }
    return {block.data(), block.rows(), block.cols(), Eigen::OuterStride<>(block.outerStride())};
  }

  SampleReader<T, From> reader_;
  bool unit_rows_;
  Vector<T> factors_;
};

}  // namespace jcmspl::search
