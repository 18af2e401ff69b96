#include "jcmspl/data/normalisation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "jcmspl/linalg/tridiagonal.hpp"
#include "linalg/inverse.hpp"
#include "linalg/products.hpp"
#include "linalg/symmetric.hpp"
#include "support/parallel.hpp"

namespace jcmspl {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
// Sums of n squares have errors of about this share: a smaller scatter is rounding.
constexpr double rounding_of_sums = 64 * epsilon;
// The least shrinkage where features depend on each other: errors of whitened samples are about 2e-16 divided by it.
constexpr double least_shrinkage = 1e-8;

template <class Flags>
void clear_columns(Statistics& statistics, const Flags& is_cleared) {
  for (Index j = 0; j < statistics.n_features(); ++j) {
    if (!is_cleared[j]) continue;
    statistics.gram_lower.row(j).setZero();
    statistics.gram_lower.col(j).setZero();
    statistics.class_sums.row(j).setZero();
  }
}

// M N^-1/2
MatrixD mean_roots(const MatrixD& class_sums, const VectorD& counts) {
  return class_sums * counts.unaryExpr([](double count) { return count > 0 ? 1 / std::sqrt(count) : 1; }).asDiagonal();
}

// The mean product of deviations of samples from the mean of their class.
MatrixD scatter_within(const Statistics& statistics, double n, const Team& team) {
  MatrixD scatter = statistics.gram_lower;
  syrk(team, Op::none, -1 / n, mean_roots(statistics.class_sums, statistics.counts), 1 / n, scatter);
  return scatter;
}

// T = L^-1, for the Cholesky factor L of a matrix that is given by its lower triangle.
MatrixD inverse_factor(MatrixD lower, const Team& team) {
  InverseCholeskyFactor inverse(std::move(lower), team);
  if (!inverse.exists()) throw LapackError("potrf", 1);
  return std::move(inverse).matrix();
}

// Whether, within classes, a feature hardly varies apart from the part that earlier features determine.
bool has_dependent_features(MatrixD scatter, const Team& team) {
  const VectorD variances = scatter.diagonal();
  const VectorD own = inverse_factor(std::move(scatter), team).diagonal().cwiseAbs2().cwiseInverse();
  return (own.array() <= least_shrinkage * variances.array()).any();
}

// The symmetric inverse root of a matrix, given by its lower triangle, that is positive definite up to rounding.
MatrixD inverse_root(MatrixD lower, const Team& team) {
  Tridiagonal<double> reflectors;
  reflectors.reduce(std::move(lower));
  team.poll();
  auto [values, vectors] = reflectors.eigen();
  team.poll();
  reflectors.apply(Side::left, false, vectors, team);
  const double least = static_cast<double>(values.size()) * epsilon * values[values.size() - 1];
  const MatrixD half = vectors * values.cwiseMax(least).array().pow(-0.25).matrix().asDiagonal();
  MatrixD root(half.rows(), half.rows());
  syrk(team, Op::none, 1, half, 0, root);
  return full_symmetric(std::move(root));
}

// Calls panel(first, width) for panels of 0..count - 1, on several threads.
template <class Panel>
void for_each_panel(Index count, const Team& team, Panel panel) {
  constexpr Index width = 128;
  for_each_in_parallel((count + width - 1) / width, team.n_threads, team.poll, [&] {
    return [&](Index index, const Poll&) { panel(index * width, std::min(width, count - index * width)); };
  });
}

// The lower triangle of a T' (k x k), where a = T or a = T G, for T of k x m. By panels, so that of triangular a and T
// only the half that is not zero is multiplied.
MatrixD lower_product(const MatrixD& a, const MatrixD& T, bool triangular, const Team& team) {
  const Index k = T.rows();
  MatrixD out = MatrixD::Zero(k, k);
  for_each_panel(k, team, [&](Index first, Index cols) {  // the largest first
    const Index inner = triangular ? first + cols : T.cols();
    auto panel = out.block(first, first, k - first, cols);
    gemm(Op::none, Op::transpose, 1, a.block(first, 0, k - first, inner), T.block(first, 0, cols, inner), 0, panel);
    panel.topRows(cols).triangularView<Eigen::StrictlyUpper>().setZero();
  });
  return out;
}

// T G T' (k x k) in place of G (m x m).
void transform_gram(MatrixD& gram_lower, const MatrixD& T, bool triangular, const Team& team) {
  const Index k = T.rows(), m = T.cols();
  const MatrixD gram = full_symmetric(std::move(gram_lower));
  MatrixD half(k, m);  // T G, its lower triangle if T is triangular
  for_each_panel(k, team, [&](Index start, Index rows) {
    const Index first = k - start - rows;  // the largest first
    const Index inner = triangular ? first + rows : m;
    gemm(Op::none, Op::none, 1, T.block(first, 0, rows, inner), gram.topLeftCorner(inner, inner), 0,
         half.block(first, 0, rows, inner));
  });
  gram_lower = lower_product(half, T, triangular, team);
}

// The same for a triangular T with T (S + ridge I) T' = I, where n S = G - M N^-1 M' is the scatter within classes.
// Then T G T' = n (I - ridge T T') + (T M) N^-1 (T M)', which takes less work where classes are few, and is more
// precise where T has large rows. T M is given.
void transform_gram_by_scatter(MatrixD& gram_lower, const MatrixD& T, double ridge, double n,
                               const MatrixD& transformed_sums, const VectorD& counts, const Team& team) {
  const Eigen::Array<bool, Eigen::Dynamic, 1> is_zero = gram_lower.diagonal().array() == 0;
  gram_lower = lower_product(T, T, true, team);
  gram_lower *= -n * ridge;
  gram_lower.diagonal().array() += n;
  syrk(team, Op::none, 1, mean_roots(transformed_sums, counts), 1, gram_lower);
  for (Index j = 0; j < is_zero.size(); ++j)  // by rounding, else
    if (is_zero[j]) {
      gram_lower.row(j).setZero();
      gram_lower.col(j).setZero();
    }
}

void transform_sums(MatrixD& sums, const MatrixD& T, bool triangular, const Team& team) {
  if (triangular) return trmm(team, Side::left, Op::none, 1, T, sums);
  MatrixD out(T.rows(), sums.cols());
  gemm(team, Op::none, Op::none, 1, T, sums, 0, out);
  sums = std::move(out);
}

// With little shrinkage T has large rows where features depend on each other. The rounding errors that these magnify
// must look neither like a signal nor like a negative square.
void clear_rounding(Statistics& statistics, const MatrixD& T, const VectorD& noise) {
  VectorD rounding = VectorD::Zero(T.rows());
  for (Index j = 0; j < T.cols(); ++j) rounding.array() += (T.col(j).array() * noise[j]).square();
  clear_columns(statistics, statistics.gram_lower.diagonal().array() <= rounding.array());
}

}  // namespace

Statistics shifted_and_scaled(Statistics statistics, const VectorD& shift, const VectorD& scale, const VectorD& noise) {
  const double n = statistics.counts.sum();
  MatrixD& G = statistics.gram_lower;
  // The sum over samples of (x - s)(x - s)' is G - a s' - s a' with a = t - n s / 2 and t the sum of the samples.
  const VectorD a = statistics.class_sums.rowwise().sum() - n / 2 * shift;
  for (Index j = 0; j < G.cols(); ++j) {
    const Index rest = G.rows() - j;
    G.col(j).tail(rest) = (G.col(j).tail(rest) - a.tail(rest) * shift[j] - a[j] * shift.tail(rest))
                              .cwiseQuotient(scale.tail(rest) * scale[j]);
  }
  for (Index c = 0; c < statistics.n_classes(); ++c)
    statistics.class_sums.col(c) = (statistics.class_sums.col(c) - statistics.counts[c] * shift).cwiseQuotient(scale);
  clear_columns(statistics, G.diagonal().array() <= noise.array());
  return statistics;
}

std::optional<Whitening> whiten(Statistics statistics, double shrinkage, const VectorD& noise, bool symmetric,
                                const Team& team) {
  const double weight = statistics.counts.sum(), n = weight > 0 ? weight : 1;
  const Index m = statistics.n_features();
  MatrixD scatter = scatter_within(statistics, n, team);
  // Samples may lie far from the origin: centring leaves the rounding errors of their squares.
  const double total = scatter.trace(), rounding = noise.squaredNorm() / n;
  if (total <= std::max(rounding_of_sums * statistics.gram_lower.trace() / n, rounding)) return std::nullopt;
  team.poll();
  // However small the shrinkage, rounding errors must not make a matrix of less than full rank look indefinite.
  const double mean = total / static_cast<double>(m), largest = scatter.diagonal().maxCoeff();
  double ridge = std::max({shrinkage * mean, 4 * static_cast<double>(m) * epsilon * largest, rounding / 8});
  scatter.diagonal().array() += ridge;
  const double least = least_shrinkage * mean;
  if (shrinkage < least_shrinkage && ridge < least && has_dependent_features(scatter, team)) {
    scatter.diagonal().array() += least - ridge;
    ridge = least;
  }
  MatrixD T = symmetric ? inverse_root(std::move(scatter), team) : inverse_factor(std::move(scatter), team);
  team.poll();
  transform_sums(statistics.class_sums, T, !symmetric, team);
  if (symmetric || statistics.n_classes() > m)
    transform_gram(statistics.gram_lower, T, !symmetric, team);
  else
    transform_gram_by_scatter(statistics.gram_lower, T, ridge, n, statistics.class_sums, statistics.counts, team);
  const double squared_scale = n / statistics.gram_lower.trace(), factor = std::sqrt(squared_scale);
  statistics.gram_lower *= squared_scale;
  statistics.class_sums *= factor;
  T *= factor;
  clear_rounding(statistics, T, noise);
  return Whitening{symmetric ? std::move(T) : transposed_lower(std::move(T)), std::move(statistics)};
}

Statistics whitened(Statistics statistics, const MatrixD& Tt, const VectorD& noise, const Team& team) {
  const MatrixD T = Tt.transpose();
  const bool triangular = T.rows() == T.cols() && T.isLowerTriangular(0);
  transform_gram(statistics.gram_lower, T, triangular, team);
  transform_sums(statistics.class_sums, T, triangular, team);
  clear_rounding(statistics, T, noise);
  return statistics;
}

}  // namespace jcmspl
