#include "jcmspl/linalg/intersections.hpp"

#include <algorithm>

#include "support/parallel.hpp"
#include "support/targets.hpp"

namespace jcmspl {

namespace {

constexpr Index group = 8;  // features whose terms are added to a sum at once: reading and writing the sum takes long
constexpr Index some_samples = 32;    // samples that are processed while features, or thresholds, stay in the cache
constexpr Index some_features = 128;  // features whose sums, for all thresholds, stay in the cache for all samples

// Adds the terms of a group of features to the sums for all thresholds. v: a column of thresholds for each feature.
JCMSPL_INLINE void add_intersections(const double* x, const double* w, const double* v, Index c,
                                     double* __restrict sums) {
  const double *v0 = v, *v1 = v + c, *v2 = v + 2 * c, *v3 = v + 3 * c;
  const double *v4 = v + 4 * c, *v5 = v + 5 * c, *v6 = v + 6 * c, *v7 = v + 7 * c;
  const double x0 = x[0], x1 = x[1], x2 = x[2], x3 = x[3], x4 = x[4], x5 = x[5], x6 = x[6], x7 = x[7];
  const double w0 = w[0], w1 = w[1], w2 = w[2], w3 = w[3], w4 = w[4], w5 = w[5], w6 = w[6], w7 = w[7];
  for (Index j = 0; j < c; ++j)
    sums[j] += ((w0 * (x0 < v0[j] ? x0 : v0[j]) + w1 * (x1 < v1[j] ? x1 : v1[j])) +
                (w2 * (x2 < v2[j] ? x2 : v2[j]) + w3 * (x3 < v3[j] ? x3 : v3[j]))) +
               ((w4 * (x4 < v4[j] ? x4 : v4[j]) + w5 * (x5 < v5[j] ? x5 : v5[j])) +
                (w6 * (x6 < v6[j] ? x6 : v6[j]) + w7 * (x7 < v7[j] ? x7 : v7[j])));
}

// Adds, where samples are above the thresholds, the factors of four samples and their products with the samples.
JCMSPL_INLINE void add_factors(const double* const* x, const double* v, const double* factor, Index m,
                               double* __restrict above, double* __restrict products) {
  const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
  const double f0 = factor[0], f1 = factor[1], f2 = factor[2], f3 = factor[3];
  for (Index k = 0; k < m; ++k) {
    const double g0 = v[k] < x0[k] ? f0 : 0.0, g1 = v[k] < x1[k] ? f1 : 0.0;
    const double g2 = v[k] < x2[k] ? f2 : 0.0, g3 = v[k] < x3[k] ? f3 : 0.0;
    above[k] += (g0 + g1) + (g2 + g3);
    products[k] += (g0 * x0[k] + g1 * x1[k]) + (g2 * x2[k] + g3 * x3[k]);
  }
}

JCMSPL_TARGET("avx2,fma")
void add_intersections_by_avx2(const double* x, const double* w, const double* v, Index c, double* __restrict sums) {
  add_intersections(x, w, v, c, sums);
}

JCMSPL_TARGET("avx2,fma")
void add_factors_by_avx2(const double* const* x, const double* v, const double* factor, Index m,
                         double* __restrict above, double* __restrict products) {
  add_factors(x, v, factor, m, above, products);
}

bool has_avx2() { return JCMSPL_HAS("avx2") && JCMSPL_HAS("fma"); }

}  // namespace

void intersections(const ConstView<double>& samples, const ConstView<double>& thresholds, const VectorD& weights,
                   MatrixD& out, Index n_threads, const Poll& poll) {
  const Index m = samples.rows(), n = samples.cols(), c = thresholds.cols();
  const auto add = has_avx2() ? add_intersections_by_avx2 : add_intersections;
  const Index n_groups = (m + group - 1) / group;
  MatrixD by_feature = MatrixD::Zero(c, n_groups * group);  // padding of the last group, with weights of zero
  by_feature.leftCols(m) = thresholds.transpose();
  VectorD padded = VectorD::Zero(n_groups * group);
  padded.head(m) = weights;
  out.setZero(c, n);
  const Index size = std::max<Index>(some_samples, 131072 / std::max<Index>(1, m * c));
  for_each_in_parallel((n + size - 1) / size, n_threads, poll, [&] {
    return [&](Index block, const Poll&) {
      double values[group] = {};
      for (Index g = 0; g < n_groups; ++g) {
        const Index first = g * group, count = std::min(group, m - first);
        for (Index i = block * size; i < std::min(n, (block + 1) * size); ++i) {
          std::copy_n(samples.col(i).data() + first, count, values);
          add(values, padded.data() + first, by_feature.col(first).data(), c, out.col(i).data());
        }
      }
    };
  });
}

void add_intersection_gradients(const ConstView<double>& samples, const ConstView<double>& thresholds,
                                const VectorD& weights, const ConstView<double>& factors, VectorD& of_weights,
                                MatrixD& of_thresholds, Index n_threads, const Poll& poll) {
  const Index m = samples.rows(), n = samples.cols(), c = thresholds.cols();
  const auto add = has_avx2() ? add_factors_by_avx2 : add_factors;
  const VectorD sums = factors.colwise().sum();
  // Each thread has its own features, so that threads share nothing and the sums do not depend on their number.
  for_each_in_parallel((m + some_features - 1) / some_features, n_threads, poll, [&] {
    return [&](Index block, const Poll& own_poll) {
      const Index begin = block * some_features, size = std::min(some_features, m - begin);
      // Let a be the sum of the factors of samples above a threshold v, and p that of their factor times x. Then the
      // sum of factor min(x, v) is the sum of factor x, less p - v a.
      MatrixD above = MatrixD::Zero(size, c), products = MatrixD::Zero(size, c);
      // Compact copies: the columns of the arguments may all map to the same few cache lines.
      const MatrixD own = thresholds.middleRows(begin, size);
      MatrixD close(size, some_samples);
      VectorD total = VectorD::Zero(size);
      const double* some[4];
      double theirs[4];
      for (Index start = 0; start < n; start += some_samples) {
        const Index n_here = std::min(some_samples, n - start);
        close.leftCols(n_here) = samples.block(begin, start, size, n_here);
        total.noalias() += close.leftCols(n_here) * sums.segment(start, n_here);
        for (Index j = 0; j < c; ++j) {
          const auto add_some = [&] {
            add(some, own.col(j).data(), theirs, size, above.col(j).data(), products.col(j).data());
          };
          int count = 0;
          for (Index i = 0; i < n_here; ++i) {
            if (factors(j, start + i) == 0) continue;
            some[count] = close.col(i).data();
            theirs[count] = factors(j, start + i);
            if (++count == 4) add_some(), count = 0;
          }
          if (count == 0) continue;
          for (; count < 4; ++count) some[count] = some[0], theirs[count] = 0;
          add_some();
        }
        own_poll();
      }
      of_weights.segment(begin, size) += total - (products - own.cwiseProduct(above)).rowwise().sum();
      of_thresholds.middleRows(begin, size) += weights.segment(begin, size).asDiagonal() * above;
    };
  });
}

}  // namespace jcmspl
