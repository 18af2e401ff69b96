#include "jcmspl/linalg/intersections.hpp"

#include <algorithm>

#include "jcmspl/support/parallel.hpp"
#include "jcmspl/support/targets.hpp"

namespace jcmspl {

namespace {

constexpr Index lanes = 16;           // sums that are kept side by side
constexpr Index block_values = 8192;  // of samples that stay in the cache while all thresholds pass

JCMSPL_INLINE double intersection(const double* x, const double* v, const double* w, Index m) {
  double sums[lanes] = {};
  Index k = 0;
  for (; k + lanes <= m; k += lanes)
    for (Index l = 0; l < lanes; ++l) sums[l] += w[k + l] * (x[k + l] < v[k + l] ? x[k + l] : v[k + l]);
  double sum = 0;
  for (; k < m; ++k) sum += w[k] * (x[k] < v[k] ? x[k] : v[k]);
  for (Index l = 0; l < lanes; ++l) sum += sums[l];
  return sum;
}

JCMSPL_INLINE void add_terms(const double* x, const double* v, double factor, Index m, double* of_weights,
                             double* of_thresholds) {
  for (Index k = 0; k < m; ++k) {
    of_weights[k] += factor * (x[k] < v[k] ? x[k] : v[k]);
    of_thresholds[k] += v[k] < x[k] ? factor : 0.0;
  }
}

JCMSPL_TARGET("avx2") double intersection_by_avx2(const double* x, const double* v, const double* w, Index m) {
  return intersection(x, v, w, m);
}

JCMSPL_TARGET("avx2")
void add_terms_by_avx2(const double* x, const double* v, double factor, Index m, double* of_weights,
                       double* of_thresholds) {
  add_terms(x, v, factor, m, of_weights, of_thresholds);
}

}  // namespace

void intersections(const ConstView<double>& samples, const ConstView<double>& thresholds, const VectorD& weights,
                   MatrixD& out, Index n_threads, const Poll& poll) {
  const Index m = samples.rows(), c = thresholds.cols();
  const auto one = JCMSPL_HAS("avx2") ? intersection_by_avx2 : intersection;
  out.resize(c, samples.cols());
  const Index rows = std::max<Index>(1, block_values / std::max<Index>(1, m));
  for_ranges_in_parallel(samples.cols(), m * c, n_threads, poll, [&] {
    return [&](Index first, Index last, const Poll& own_poll) {
      for (Index start = first; start < last; start += rows) {
        for (Index j = 0; j < c; ++j)
          for (Index i = start; i < std::min(last, start + rows); ++i)
            out(j, i) = one(samples.col(i).data(), thresholds.col(j).data(), weights.data(), m);
        own_poll();
      }
    };
  });
}

void add_intersection_gradients(const ConstView<double>& samples, const ConstView<double>& thresholds,
                                const VectorD& weights, const ConstView<double>& factors, VectorD& of_weights,
                                MatrixD& of_thresholds, Index n_threads, const Poll& poll) {
  const Index m = samples.rows(), n = samples.cols(), c = thresholds.cols();
  const auto add = JCMSPL_HAS("avx2") ? add_terms_by_avx2 : add_terms;
  const Index rows = std::max<Index>(1, block_values / std::max<Index>(1, m));
  // a column for each threshold, so that threads share nothing and the sums do not depend on their number
  MatrixD parts = MatrixD::Zero(m, c), steps = MatrixD::Zero(m, c);
  for_ranges_in_parallel(c, m * n, n_threads, poll, [&] {
    return [&](Index first, Index last, const Poll& own_poll) {
      for (Index start = 0; start < n; start += rows) {
        for (Index j = first; j < last; ++j)
          for (Index i = start; i < std::min(n, start + rows); ++i)
            if (factors(j, i) != 0)
              add(samples.col(i).data(), thresholds.col(j).data(), factors(j, i), m, parts.col(j).data(),
                  steps.col(j).data());
        own_poll();
      }
    };
  });
  of_weights += parts.rowwise().sum();
  of_thresholds += weights.asDiagonal() * steps;
}

}  // namespace jcmspl
