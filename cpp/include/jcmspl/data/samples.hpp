// Samples in the memory of the caller, and the checks of their values.
#pragma once

#include <cstdint>
#include <stdexcept>

#include "jcmspl/support/types.hpp"

namespace jcmspl {

// Rows are samples. Strides are in elements; any are allowed.
template <class T>
struct Samples {
  const T* data;
  Index rows, cols;
  Index row_stride, col_stride;
};

// The normalisation of a sample, applied first: the signed root of each value, x -> sign(x) sqrt|x|, and then a scale
// that makes its length one (a sample of zeros stays zero).
struct Scaling {
  bool roots = false;
  bool unit_rows = false;
};

// A value that is not finite, or so large that sums of squares would overflow.
struct BadValue : std::domain_error {
  BadValue(Index bad_row, bool is_finite) : std::domain_error("bad value"), row(bad_row), finite(is_finite) {}
  Index row;  // counted from the first sample of the call
  bool finite;
};

// Sums of squares of values up to this limit stay finite for any number of samples that fits in memory, and below the
// square of the limit.
constexpr double largest_value = 1e145;

// Throws BadValue if the sample has a value that is NaN or beyond the limit.
template <class T>
void check_row(const Samples<T>& samples, Index row, double limit);

// Throws BadValue for the first sample that has one.
template <class T>
void check_values(const Samples<T>& samples, double limit);

// Throws std::out_of_range for the first label outside 0..n_classes - 1.
void check_labels(const std::int64_t* labels, Index count, Index n_classes);

// The number of rows to process at a time: enough for BLAS to run at full speed, few enough to stay in cache.
Index block_rows(Index values_per_row);

}  // namespace jcmspl
