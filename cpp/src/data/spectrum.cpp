#include "jcmspl/data/spectrum.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "linalg/products.hpp"
#include "support/clock.hpp"
#include "support/parallel.hpp"

namespace jcmspl {

namespace {

// Vectors in coordinates, as columns. In the last n_negative rows products are subtracted.
struct Coordinates {
  MatrixD vectors;
  Index n_negative;
};

// The Cholesky factor (lower triangle) of a matrix given by its lower triangle, if it is positive definite.
std::optional<MatrixD> cholesky_factor(MatrixD lower) {
  char uplo = 'L';
  int n = as_int(lower.rows()), ld = leading_dimension(lower), info = 0;
  kernels<double>().potrf(&uplo, &n, lower.data(), &ld, &info);
  if (info != 0) return std::nullopt;
  return lower;
}

// Vectors whose inner products are the elements of a matrix that is given by its lower triangle: F' for a Cholesky
// factor F; if the matrix is not positive definite, |value|^1/2 times the eigenvectors, those of negative eigenvalues
// last. Eigenvalues between -noise and noise count as zero.
Coordinates root(const MatrixD& lower, double noise, const Team& team) {
  if (const auto factor = cholesky_factor(lower)) return {factor->triangularView<Eigen::Lower>().transpose(), 0};
  Tridiagonal<double> reflectors;
  reflectors.reduce(lower);
  team.poll();
  auto [values, vectors] = reflectors.eigen();
  reflectors.apply(Side::left, false, vectors, team);
  const Index n_negative = (values.array() < -noise).count(), n_positive = (values.array() > noise).count();
  const VectorD sizes = values.cwiseAbs().cwiseSqrt();
  Coordinates out{MatrixD(n_positive + n_negative, values.size()), n_negative};
  out.vectors.topRows(n_positive) = sizes.tail(n_positive).asDiagonal() * vectors.rightCols(n_positive).transpose();
  out.vectors.bottomRows(n_negative) = sizes.head(n_negative).asDiagonal() * vectors.leftCols(n_negative).transpose();
  return out;
}

// L in coordinates. Its part among the rows of X has the coordinates G^-1/2 M, M = XL. The rest has the Gram matrix
// R = N - M'G^-1 M, whose root gives its coordinates.
//
// The smallest eigenvalues of G that are kept have few correct digits, and so do the coordinates that are divided by
// their roots: where labels lie in such directions R has errors of that size, and may have negative eigenvalues. They
// are kept, so that all products of X and L in coordinates equal those of the statistics to full precision.
Coordinates label_coordinates(const MatrixD& class_sums, const VectorD& roots, const VectorD& counts,
                              const Team& team) {
  const Index r = roots.size(), c = counts.size();
  const MatrixD inside = roots.cwiseInverse().asDiagonal() * class_sums;
  MatrixD rest = counts.asDiagonal();
  syrk(team, Op::transpose, -1, inside, 1, rest);
  const double noise = std::numeric_limits<double>::epsilon() * static_cast<double>(c) * counts.maxCoeff();
  const Coordinates outside = root(rest, noise, team);
  Coordinates out{MatrixD(r + outside.vectors.rows(), c), outside.n_negative};
  out.vectors << inside, outside.vectors;
  return out;
}

}  // namespace

Spectrum::Spectrum(Statistics statistics, const MatrixD& class_vectors, const Team& team, double idle)
    : idle_labels(idle) {
  for (Index c = 0; c < statistics.n_classes(); ++c)
    if (statistics.counts[c] <= 0)
      throw std::invalid_argument("class " + std::to_string(c) + " has no samples: leave it out of the statistics");

  Clock clock;
  counts = statistics.counts;
  // The two are independent. Reductions to tridiagonal form gain little from further threads.
  const double d = static_cast<double>(class_vectors.rows());
  for_each_in_parallel(2, d * d * d < least_shared_work ? 1 : team.n_threads, team.poll, [&] {
    return [&](Index index, const Poll& poll) {
      const Team own{team.n_threads, poll};
      if (index == 0) {
        decompose_samples(std::move(statistics), own);
        visual_seconds = clock.lap();
      } else {
        decompose_classes(class_vectors, own);
      }
    };
  });
  semantic_target.resize(labels.rows(), semantic.rank());
  gemm(team, Op::none, Op::transpose, 1, labels, vectors, 0, semantic_target);
  semantic_seconds = clock.lap();
}

void Spectrum::decompose_samples(Statistics statistics, const Team& team) {
  visual_trace = statistics.gram_lower.trace();
  // The rounding errors of a Gram matrix grow with the dimension and, like a random walk, with the number of samples.
  // The dimension alone is the usual bound (LAPACK, NumPy's matrix_rank).
  visual = Eigenbasis(std::move(statistics.gram_lower), statistics.class_sums.rows(), team.poll);
  team.poll();
  roots = visual.values().cwiseSqrt();
  Coordinates coordinates = label_coordinates(visual.project(statistics.class_sums, team), roots, counts, team);
  labels = std::move(coordinates.vectors);
  n_negative = coordinates.n_negative;
}

void Spectrum::decompose_classes(const MatrixD& class_vectors, const Team& team) {
  const MatrixD weighted = class_vectors * counts.cwiseSqrt().asDiagonal();
  MatrixD gram = MatrixD::Zero(class_vectors.rows(), class_vectors.rows());
  syrk(team, Op::none, 1, weighted, 0, gram);
  semantic_trace = gram.trace();
  semantic = Eigenbasis(std::move(gram), std::max(class_vectors.rows(), class_vectors.cols()), team.poll);
  vectors = semantic.project(class_vectors, team);
}

}  // namespace jcmspl
