#include "jcmspl/spectrum.hpp"

#include <string>

#include "jcmspl/clock.hpp"
#include "jcmspl/kernels.hpp"

namespace jcmspl {

Spectrum::Spectrum(const Statistics& statistics, const MatrixD& class_vectors, const Poll& poll) {
  for (Index c = 0; c < statistics.n_classes(); ++c)
    if (statistics.counts[c] <= 0)
      throw std::invalid_argument("class " + std::to_string(c) + " has no samples: leave it out of the statistics");

  Clock clock;
  counts = statistics.counts.cast<double>();
  // Dimension and sample count both feed the rounding noise of a Gram matrix, the latter only as a
  // random walk: the dimension alone is LAPACK's and NumPy's customary bound.
  visual = Eigenbasis(statistics.gram_lower, statistics.n_features(), poll);
  poll();
  const MatrixD sums = visual.project(statistics.class_sums);
  visual_trace = statistics.gram_lower.trace();
  visual_seconds = clock.lap();
  poll();

  const MatrixD weighted = class_vectors * counts.cwiseSqrt().asDiagonal();
  MatrixD gram = MatrixD::Zero(class_vectors.rows(), class_vectors.rows());
  syrk(Op::none, 1, weighted, 0, gram);
  semantic = Eigenbasis(gram, std::max(class_vectors.rows(), class_vectors.cols()), poll);
  vectors = semantic.project(class_vectors);
  class_sums.resize(visual.rank() + semantic.rank(), statistics.n_classes());
  visual_rows(class_sums) = sums;
  semantic_rows(class_sums) = vectors * counts.asDiagonal();
  cross.resize(visual.rank(), semantic.rank());
  gemm(Op::none, Op::transpose, 1, sums, vectors, 0, cross);
  semantic_trace = gram.trace();
  semantic_seconds = clock.lap();
}

}  // namespace jcmspl
