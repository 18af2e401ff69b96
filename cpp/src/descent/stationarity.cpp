#include "descent/stationarity.hpp"

#include <cmath>

#include "descent/updates.hpp"
#include "linalg/norm.hpp"
#include "linalg/products.hpp"
#include "linalg/symmetric.hpp"

namespace jcmspl::descent {

namespace {

// The residual of  weight x' CC' + diag(shifts) x' = rhs  in Frobenius norms, divided by the sum of the norms of its
// three parts. rhs_of: gives a column of rhs.
template <class RhsOf>
double relative_residual(const Team& team, const ConstView<double>& xt, double weight, const MatrixD& CCt,
                         const VectorD& shifts, RhsOf rhs_of) {
  const Index k = xt.cols();
  MatrixD left(xt.rows(), k), norms(k, 4);  // by columns: of the three parts, and of the residual
  gemm(team, Op::none, Op::none, weight, xt, CCt, 0, left);
  for (Index i = 0; i < k; ++i) {
    const VectorD right = shifts.cwiseProduct(xt.col(i)), rhs = rhs_of(i);
    norms.row(i) << frobenius_norm(left.col(i)), frobenius_norm(right), frobenius_norm(rhs),
        frobenius_norm(left.col(i) + right - rhs);
  }
  const double size = frobenius_norm(norms.col(0)) + frobenius_norm(norms.col(1)) + frobenius_norm(norms.col(2));
  return size > 0 ? frobenius_norm(norms.col(3)) / size : 0;
}

// |K C - target| / |target|
double relative_residual_of_C(const Problem& problem, const ConceptBasis& basis, const Workspace& workspace) {
  MatrixD target(problem.s, problem.k);
  basis.find_target(workspace, view(target));
  const double size = std::hypot(frobenius_norm(target), problem.settings.l2 * std::sqrt(problem.data.idle_labels));
  const MatrixD K = full_symmetric(concept_coefficient(problem, workspace));
  gemm(problem.team, Op::none, Op::none, 1, workspace.Ct(), K, -1, target);
  return size > 0 ? frobenius_norm(target) / size : 0;
}

}  // namespace

Stationarity stationarity(const Problem& problem, const ConceptBasis& basis, const Workspace& workspace) {
  const auto& [l1, l2, l3, l4] = problem.weights();
  const Spectrum& data = problem.data;
  const MatrixD CCt = full_symmetric(workspace.CCt);
  const ConstView<double> Ct = workspace.Ct(), YCt = workspace.YCt();
  const double of_A = 1 + l3, of_B = l1 + l4;
  const auto rhs_of_A = [&](Index i) { return of_A * data.roots.cwiseProduct(Ct.col(i).head(problem.r)); };
  const auto rhs_of_B = [&](Index i) { return of_B * YCt.col(i); };
  Stationarity out;
  out.visual = relative_residual(problem.team, workspace.At(), l3, CCt, data.visual.values(), rhs_of_A);
  out.semantic = relative_residual(problem.team, workspace.Bt(), l4, CCt, l1 * data.semantic.values(), rhs_of_B);
  out.concepts = relative_residual_of_C(problem, basis, workspace);
  return out;
}

}  // namespace jcmspl::descent
