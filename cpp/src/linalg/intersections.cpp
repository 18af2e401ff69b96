#include "jcmspl/linalg/intersections.hpp"

#include <algorithm>

#include "jcmspl/support/parallel.hpp"
#include "jcmspl/support/targets.hpp"

namespace jcmspl {

namespace {

constexpr Index lanes = 16;            // sums that are kept side by side
constexpr Index block_values = 16384;  // of samples that stay in the cache while all thresholds pass

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

// Four samples at a time, since sums that are read and written take longer than the terms.
JCMSPL_INLINE void add_terms(const double* const* x, const double* v, const double* factor, Index m,
                             double* __restrict of_weights, double* __restrict of_thresholds) {
  const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
  const double f0 = factor[0], f1 = factor[1], f2 = factor[2], f3 = factor[3];
  for (Index k = 0; k < m; ++k) {
    const double t = v[k];
    of_weights[k] += (f0 * (x0[k] < t ? x0[k] : t) + f1 * (x1[k] < t ? x1[k] : t)) +
                     (f2 * (x2[k] < t ? x2[k] : t) + f3 * (x3[k] < t ? x3[k] : t));
    of_thresholds[k] +=
        ((t < x0[k] ? f0 : 0.0) + (t < x1[k] ? f1 : 0.0)) + ((t < x2[k] ? f2 : 0.0) + (t < x3[k] ? f3 : 0.0));
  }
}

JCMSPL_TARGET("avx2") double intersection_by_avx2(const double* x, const double* v, const double* w, Index m) {
  return intersection(x, v, w, m);
}

JCMSPL_TARGET("avx2")
void add_terms_by_avx2(const double* const* x, const double* v, const double* factor, Index m,
                       double* __restrict of_weights, double* __restrict of_thresholds) {
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
      const double* some[4];
      double theirs[4];
      for (Index start = 0; start < n; start += rows) {
        for (Index j = first; j < last; ++j) {
          const auto add_some = [&] {
            add(some, thresholds.col(j).data(), theirs, m, parts.col(j).data(), steps.col(j).data());
          };
          int count = 0;
          for (Index i = start; i < std::min(n, start + rows); ++i) {
            if (factors(j, i) == 0) continue;
            some[count] = samples.col(i).data();
            theirs[count] = factors(j, i);
            if (++count == 4) add_some(), count = 0;
          }
          if (count == 0) continue;
          for (; count < 4; ++count) some[count] = some[0], theirs[count] = 0;
          add_some();
        }
        own_poll();
      }
    };
  });
  of_weights += parts.rowwise().sum();
  of_thresholds += weights.asDiagonal() * steps;
}

}  // namespace jcmspl
