#include "descent/concept_basis.hpp"

#include "linalg/products.hpp"

namespace jcmspl::descent {

void FixedBasis::solve(const MatrixD& CCt, const ConstView<double>& rhs, const std::array<ShiftedRows, 2>& parts,
                       View<double> Bt_on_At) {
  const MatrixD* Q = shifted_.solve(CCt, rhs, parts, view(found_), problem_.team);
  if (Q)
    gemm(problem_.team, Op::none, Op::transpose, 1, found_, *Q, 0, Bt_on_At);
  else
    Bt_on_At = found_;
}

void FixedBasis::find_target(const Workspace& workspace, View<double> target) const {
  const auto& [l1, l2, l3, l4] = problem_.weights();
  const Spectrum& data = problem_.data;
  for (Index i = 0; i < problem_.k; ++i) {
    target.col(i) = l2 * data.labels.col(problem_.class_of[i]);
    target.col(i).head(problem_.r) += problem_.weighted_visual_code(workspace.At().col(i));
  }
  gemm(problem_.team, Op::none, Op::none, l1 + l4, data.semantic_target, workspace.Bt(), 1, target);
}

MatrixD FixedBasis::class_codes() const {
  MatrixD codes = MatrixD::Zero(problem_.c, problem_.k);
  for (Index i = 0; i < problem_.k; ++i) codes(problem_.class_of[i], i) = 1;
  return codes;
}

MovingBasis::MovingBasis(const Problem& problem)
    : problem_(problem), basis_(MatrixD::Identity(problem.k, problem.k)), next_(problem.k, problem.k) {}

void MovingBasis::solve(const MatrixD& CCt, const ConstView<double>& rhs, const std::array<ShiftedRows, 2>& parts,
                        View<double> Bt_on_At) {
  const MatrixD* Q = shifted_.solve(CCt, rhs, parts, Bt_on_At, problem_.team);
  if (!Q) return;
  gemm(problem_.team, Op::none, Op::none, 1, basis_, *Q, 0, next_);
  basis_.swap(next_);
}

// H and B Y are both products with L', so that one product serves them: (l2 Hc + (l1 + l4) B Yc) L'.
void MovingBasis::find_target(const Workspace& workspace, View<double> target) const {
  const auto& [l1, l2, l3, l4] = problem_.weights();
  const Spectrum& data = problem_.data;
  MatrixD of_classes = l2 * class_codes();
  gemm(problem_.team, Op::transpose, Op::none, l1 + l4, data.vectors, workspace.Bt(), 1, of_classes);
  const VectorD zero = VectorD::Zero(problem_.s - problem_.r);
  for (Index i = 0; i < problem_.k; ++i) target.col(i) << problem_.weighted_visual_code(workspace.At().col(i)), zero;
  gemm(problem_.team, Op::none, Op::none, 1, data.labels, of_classes, 1, target);
}

MatrixD MovingBasis::class_codes() const {
  MatrixD codes = MatrixD::Zero(problem_.c, problem_.k);
  for (Index j = 0; j < problem_.k; ++j)
    for (Index i = 0; i < problem_.k; ++i) codes(problem_.class_of[i], j) += basis_(i, j);
  return codes;
}

MatrixD MovingBasis::rotated_back(MatrixD x) const {
  MatrixD out(x.rows(), problem_.k);
  gemm(problem_.team, Op::none, Op::transpose, 1, x, basis_, 0, out);
  return out;
}

std::unique_ptr<ConceptBasis> make_concept_basis(const Problem& problem) {
  const Index k = problem.k, c = problem.c, r = problem.r, q = problem.q, s = problem.s;
  // Multiplications per concept. Both form a product with L' or Y', of s x c or s x q; a moving basis also multiplies
  // its k x k matrix with Q and B with the c x q class vectors, a fixed one A and B with Q'.
  const Index moving = k * k + c * q + s * c, fixed = (r + q) * k + s * q;
  if (moving < fixed) return std::make_unique<MovingBasis>(problem);
  return std::make_unique<FixedBasis>(problem);
}

}  // namespace jcmspl::descent
