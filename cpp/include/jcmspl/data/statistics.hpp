// Sufficient statistics of labelled samples: all that a fit needs to know of them, whatever their
// number.
#pragma once

#include <stdexcept>

#include "jcmspl/support/types.hpp"

namespace jcmspl {

// A chunk of samples in the caller's memory: any strides (in elements), rows are samples.
template <class T>
struct Samples {
  const T* data;
  Index rows, cols;
  Index row_stride, col_stride;
};

// A value that is not finite, or so large that sums of squares would overflow.
struct BadValue : std::domain_error {
  BadValue(Index bad_row, bool is_finite) : std::domain_error("bad value"), row(bad_row), finite(is_finite) {}
  Index row;  // within the chunk
  bool finite;
};

class Statistics {
public:
  Statistics(Index n_features, Index n_classes);

  // The statistics of one chunk.
  template <class T>
  static Statistics of(const Samples<T>& chunk, const std::int64_t* labels, Index n_classes, bool unit_rows,
                       const Poll& poll);

  // Adds a chunk; all of it or, when it throws, nothing. With unit_rows every sample is first
  // scaled to length one (a zero sample stays zero).
  template <class T>
  void update(const Samples<T>& chunk, const std::int64_t* labels, bool unit_rows, const Poll& poll);

  void add(Statistics&& other);
  // The statistics of what is left when other's samples, which must be among these, are taken away.
  void subtract(const Statistics& other);

  MatrixD gram() const;  // X'X over samples (m x m), both triangles

  // The rows that one step takes: enough for BLAS to run at full speed, few enough to stay in cache.
  Index block_rows() const;

  Index n_features() const { return gram_lower.rows(); }
  Index n_classes() const { return counts.size(); }

  MatrixD gram_lower;  // its lower triangle; the upper one is zero
  MatrixD class_sums;  // m x c
  Counts counts;       // c

private:
  void accumulate(const ConstView<double>& block, const std::int64_t* labels);
  void add_class_sums(const ConstView<double>& block, const std::int64_t* labels);
  template <class T>
  void accumulate_chunk(const Samples<T>& chunk, const std::int64_t* labels, bool unit_rows, const Poll& poll);
  void check_same_shape(const Statistics& other) const;
};

// What a start C0, given sample by sample, contributes to the first iteration. Transposed, as
// everywhere in the core.
class StartStatistics {
public:
  StartStatistics(Index n_concepts, Index n_features, Index n_classes);

  // codes: one row of k values for each sample.
  void update(const ConstView<double>& codes_t, const ConstView<double>& samples_t, const std::int64_t* labels);

  MatrixD code_gram;        // C0 C0'      k x k
  MatrixD sample_code;      // X C0'       m x k
  MatrixD class_code_sums;  // L' C0'      c x k
};

}  // namespace jcmspl
