#include "descent/updates.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "linalg/products.hpp"

namespace jcmspl::descent {

namespace {

void begin_with_class_codes(const Problem& problem, const MatrixD& codes, Workspace& workspace) {
  const Spectrum& data = problem.data;
  const MatrixD CLt = data.counts.asDiagonal() * codes;  // L'C'   c x k
  gemm(problem.team, Op::transpose, Op::none, 1, codes, CLt, 0, workspace.CCt);
  gemm(problem.team, Op::none, Op::none, 1, data.labels.topRows(problem.r), codes, 0,
       workspace.Ct().topRows(problem.r));
  gemm(problem.team, Op::none, Op::none, 1, data.vectors, CLt, 0, workspace.YCt());
}

void begin_with_sample_codes(const Problem& problem, const StartStatistics& sums, Workspace& workspace) {
  const Spectrum& data = problem.data;
  workspace.CCt = sums.code_gram;
  workspace.Ct().topRows(problem.r) =
      data.roots.cwiseInverse().asDiagonal() * data.visual.project(sums.sample_code, problem.team);
  gemm(problem.team, Op::none, Op::none, 1, data.vectors, sums.class_code_sums, 0, workspace.YCt());
}

InverseCholeskyFactor inverse_of_K(const Problem& problem, const Workspace& workspace) {
  InverseCholeskyFactor inverse(concept_coefficient(problem, workspace), problem.team);
  if (inverse.exists()) return inverse;
  // With k > c AA' is singular, and with a weight of 1e18 the rest of K is smaller than its rounding errors: the
  // diagonal is raised above them to make K positive definite.
  MatrixD K = concept_coefficient(problem, workspace);
  const double epsilon = std::numeric_limits<double>::epsilon();
  K.diagonal().array() += epsilon * static_cast<double>(problem.k) * K.diagonal().maxCoeff();
  return InverseCholeskyFactor(std::move(K), problem.team);
}

VisualFit compare_with_visual_codes(const Problem& problem, const Workspace& workspace) {
  const Index r = problem.r, s = problem.s, n_negative = problem.data.n_negative;
  const ConstView<double> At = workspace.At(), Ct = workspace.Ct();
  VisualFit fit;
  for (Index i = 0; i < problem.k; ++i) {
    const auto ax = problem.data.roots.array() * At.col(i).array();
    const auto c = Ct.col(i).array();
    const auto outside = c.tail(s - r);
    fit.product += (ax * c.head(r)).sum();
    fit.squared_distance += (ax - c.head(r)).square().sum() + outside.head(s - r - n_negative).square().sum() -
                            outside.tail(n_negative).square().sum();
  }
  return fit;
}

// CC' and Y C'
void find_products_with_data(const Problem& problem, Workspace& workspace) {
  const Spectrum& data = problem.data;
  const MatrixD& Yt = data.semantic_target;
  const View<double> Ct = workspace.Ct();
  // BLAS is faster at C Y' than at Y C'.
  gemm(problem.team, Op::transpose, Op::none, 1, data.positive_rows(Ct), data.positive_rows(Yt), 0, workspace.CYt);
  syrk(problem.team, Op::transpose, 1, data.positive_rows(Ct), 0, workspace.CCt);
  if (data.n_negative > 0) {
    gemm(problem.team, Op::transpose, Op::none, -1, data.negative_rows(Ct), data.negative_rows(Yt), 1, workspace.CYt);
    syrk(problem.team, Op::transpose, -1, data.negative_rows(Ct), 1, workspace.CCt);
  }
  workspace.YCt() = workspace.CYt.transpose();
}

}  // namespace

void begin(const Problem& problem, const Start& start, Workspace& workspace) {
  if (const auto* codes = std::get_if<MatrixD>(&start))
    begin_with_class_codes(problem, *codes, workspace);
  else
    begin_with_sample_codes(problem, std::get<StartStatistics>(start), workspace);
  if (!std::isfinite(workspace.CCt.trace()) || !workspace.data_times_Ct(problem).allFinite()) throw Diverged(0);
}

void update_projections(const Problem& problem, ConceptBasis& basis, Workspace& workspace) {
  const auto& [l1, l2, l3, l4] = problem.weights();
  const Spectrum& data = problem.data;
  const ShiftedRows of_B{l4, VectorD::Constant(problem.q, l1 + l4), l1 * data.semantic.values()};
  const ShiftedRows of_A{l3, (1 + l3) * data.roots, data.visual.values()};
  basis.solve(workspace.CCt, workspace.data_times_Ct(problem), {of_B, of_A}, workspace.Bt_on_At.all());
}

void update_concepts(const Problem& problem, const ConceptBasis& basis, Workspace& workspace) {
  syrk(problem.team, Op::transpose, 1, workspace.At(), 0, workspace.AAt);
  syrk(problem.team, Op::transpose, 1, workspace.Bt(), 0, workspace.BBt);
  workspace.K_inverse = inverse_of_K(problem, workspace);
  basis.find_target(workspace, workspace.Ct());
  problem.team.poll();
  // C = K^-1 target is formed before any product with it. CC' as K^-1 (target target') K^-1 would lose twice as many
  // digits.
  workspace.K_inverse.divide(workspace.Ct(), problem.team);
  problem.team.poll();
  workspace.visual_fit = compare_with_visual_codes(problem, workspace);
  find_products_with_data(problem, workspace);
}

MatrixD concept_coefficient(const Problem& problem, const Workspace& workspace) {
  const auto& [l1, l2, l3, l4] = problem.weights();
  const Index k = problem.k;
  MatrixD K(k, k);
  for (Index j = 0; j < k; ++j)
    K.col(j).tail(k - j) = l3 * workspace.AAt.col(j).tail(k - j) + l4 * workspace.BBt.col(j).tail(k - j);
  K.diagonal().array() += 1 + l1 + l2;
  return K;
}

}  // namespace jcmspl::descent
