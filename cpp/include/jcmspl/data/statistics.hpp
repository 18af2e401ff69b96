// Sufficient statistics of labelled samples: all that a fit needs of the data, in a size that does not depend on the
// number of samples.
#pragma once

#include "jcmspl/data/samples.hpp"
#include "jcmspl/support/types.hpp"

namespace jcmspl {

class Statistics {
public:
  Statistics(Index n_features, Index n_classes);

  // The statistics of one chunk. A sample of weight w counts as w equal samples; one of weight 0 is not read. Weights
  // are finite and not negative. Blocks of rows are read by n_threads threads, and added in their order: the result
  // does not depend on the number of threads. Give more than one only while BLAS uses one thread.
  template <class T>
  static Statistics of(const Samples<T>& chunk, const std::int64_t* labels, Index n_classes, Scaling scaling,
                       const Poll& poll, const double* weights = nullptr, Index n_threads = 1);

  // Adds a chunk; all of it or, when it throws, nothing.
  template <class T>
  void update(const Samples<T>& chunk, const std::int64_t* labels, Scaling scaling, const Poll& poll,
              const double* weights = nullptr, Index n_threads = 1);

  void add(Statistics&& other);
  // Removes samples: other must be the statistics of some of those that were added.
  void subtract(const Statistics& other);

  MatrixD gram() const;  // G, both triangles

  // The most rows that one step of update processes.
  Index block_rows() const { return jcmspl::block_rows(n_features()); }

  Index n_features() const { return gram_lower.rows(); }
  Index n_classes() const { return counts.size(); }

  MatrixD gram_lower;  // G = XX', its lower triangle; the upper one is zero   m x m
  MatrixD class_sums;  // M = XL                                               m x c
  VectorD counts;      // N, the weight of the samples of each class           c

private:
  void add_class_sums(const ConstView<double>& block, const std::int64_t* labels);
  void add_weighted_class_sums(const View<double>& block, const std::int64_t* labels, const double* weights);
  template <class T>
  void accumulate_chunk(const Samples<T>& chunk, const std::int64_t* labels, Scaling scaling, const Poll& poll,
                        const double* weights, Index n_threads);
  void check_same_shape(const Statistics& other) const;
};

}  // namespace jcmspl
