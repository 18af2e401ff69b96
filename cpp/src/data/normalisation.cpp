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

// The mean product of deviations of samples from the mean of their class.
MatrixD scatter_within(const Statistics& statistics, double n, const Team& team) {
  const VectorD factors =
      statistics.counts.unaryExpr([](double count) { return count > 0 ? 1 / std::sqrt(count) : 1; });
  const MatrixD sums = statistics.class_sums * factors.asDiagonal();
  MatrixD scatter = statistics.gram_lower;
  syrk(team, Op::none, -1 / n, sums, 1 / n, scatter);
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

// T G T' (k x k) in place of G (m x m). By panels, so that of a triangular T only the half that is not zero is
// multiplied, and of the result only the lower triangle. Each panel is computed by one thread, the largest first.
void transform_gram(MatrixD& gram_lower, const MatrixD& T, bool triangular, const Team& team) {
  constexpr Index width = 128;
  const Index k = T.rows(), m = T.cols(), n_panels = (k + width - 1) / width;
  const auto for_panels = [&](auto panel) {
    for_each_in_parallel(n_panels, team.n_threads, team.poll,
                         [&] { return [&](Index index, const Poll&) { panel(index); }; });
  };
  const MatrixD gram = full_symmetric(std::move(gram_lower));
  MatrixD half(k, m);  // T G, its lower triangle if T is triangular
  for_panels([&](Index index) {
    const Index first = (n_panels - 1 - index) * width, rows = std::min(width, k - first);
    const Index inner = triangular ? first + rows : m;
    gemm(Op::none, Op::none, 1, T.block(first, 0, rows, inner), gram.topLeftCorner(inner, inner), 0,
         half.block(first, 0, rows, inner));
  });
  gram_lower = MatrixD::Zero(k, k);
  for_panels([&](Index index) {
    const Index first = index * width, cols = std::min(width, k - first), inner = triangular ? first + cols : m;
    auto panel = gram_lower.block(first, first, k - first, cols);
    gemm(Op::none, Op::transpose, 1, half.block(first, 0, k - first, inner), T.block(first, 0, cols, inner), 0, panel);
    panel.topRows(cols).triangularView<Eigen::StrictlyUpper>().setZero();
  });
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
  const double ridge = std::max({shrinkage * mean, 4 * static_cast<double>(m) * epsilon * largest, rounding / 8});
  scatter.diagonal().array() += ridge;
  const double least = least_shrinkage * mean;
  if (shrinkage < least_shrinkage && ridge < least && has_dependent_features(scatter, team))
    scatter.diagonal().array() += least - ridge;
  MatrixD T = symmetric ? inverse_root(std::move(scatter), team) : inverse_factor(std::move(scatter), team);
  team.poll();
  transform_gram(statistics.gram_lower, T, !symmetric, team);
  transform_sums(statistics.class_sums, T, !symmetric, team);
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
