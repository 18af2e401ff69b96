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
  // are finite and not negative.
  template <class T>
  static Statistics of(const Samples<T>& chunk, const std::int64_t* labels, Index n_classes, Scaling scaling,
                       const Poll& poll, const double* weights = nullptr);

  // Adds a chunk; all of it or, when it throws, nothing.
  template <class T>
  void update(const Samples<T>& chunk, const std::int64_t* labels, Scaling scaling, const Poll& poll,
              const double* weights = nullptr);

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
  void accumulate(const ConstView<double>& block, const std::int64_t* labels);
  void accumulate_weighted(View<double> block, const std::int64_t* labels, const double* weights);
  void add_class_sums(const ConstView<double>& block, const std::int64_t* labels);
  template <class T>
  void accumulate_chunk(const Samples<T>& chunk, const std::int64_t* labels, Scaling scaling, const Poll& poll,
                        const double* weights);
  void check_same_shape(const Statistics& other) const;
};

}  // namespace jcmspl
