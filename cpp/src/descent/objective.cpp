#include "descent/objective.hpp"

#include <cmath>
#include <limits>

#include "linalg/norm.hpp"
#include "linalg/products.hpp"
#include "linalg/symmetric.hpp"

namespace jcmspl::descent {

namespace {

// An estimate, in units of |a| |b|, of the rounding error of an inner product <a, b>: docs/algorithm.md.
constexpr double rounding = 8 * std::numeric_limits<double>::epsilon();

// A term of the objective. Its rounding errors are at most noise.
struct Term {
  double value, noise;
};

// Half the weighted sum. size: the scale of its rounding errors. The exact sum is a square, so that a negative one is
// all rounding error; NaN stays NaN.
Term term(double weight, double sum, double size) {
  return {0.5 * weight * (sum < 0 ? 0 : sum), 0.5 * weight * rounding * size};
}

Objective total(const Term& visual_projection, const Term& semantic_projection, const Term& class_codes,
                const Term& visual_reconstruction, const Term& semantic_reconstruction) {
  return {{visual_projection.value, semantic_projection.value, class_codes.value, visual_reconstruction.value,
           semantic_reconstruction.value},
          visual_projection.noise + semantic_projection.noise + class_codes.noise + visual_reconstruction.noise +
              semantic_reconstruction.noise};
}

template <class A, class B>
double dot(const A& a, const B& b) {
  return a.cwiseProduct(b).sum();
}

// The size of a sum of squares over coordinates that subtracts some of them: the difference may be small while the
// parts are not. Zero where nothing is subtracted.
double subtracted_size(const Problem& problem, double size) { return problem.data.n_negative > 0 ? size : 0; }

// Adds the terms of the concepts that are left out: A and B are zero there, C is a multiple of H.
Objective with_idle_labels(const Problem& problem, Objective out) {
  const auto& [l1, l2, l3, l4] = problem.weights();
  const double half = 0.5 * problem.data.idle_labels, code = l2 / (1 + l1 + l2);
  out.terms.visual_projection += half * code * code;
  out.terms.semantic_projection += half * l1 * code * code;
  out.terms.class_codes += half * l2 * (1 - code) * (1 - code);
  return out;
}

}  // namespace

Objective objective(const Problem& problem, const ConceptBasis& basis, const Workspace& workspace) {
  const Objective cheap = with_idle_labels(problem, objective_from_products(problem, workspace));
  // False for NaN, so that the differences decide whether the descent diverged.
  if (cheap.noise <= 1e-10 * cheap.terms.sum()) return cheap;
  return with_idle_labels(problem, objective_from_differences(problem, basis, workspace));
}

Objective objective_from_products(const Problem& problem, const Workspace& workspace) {
  const auto& [l1, l2, l3, l4] = problem.weights();
  const Spectrum& data = problem.data;
  const auto [AXC, AXC_distance] = workspace.visual_fit;
  const ConstView<double> Bt = workspace.Bt();
  const double BYC = dot(Bt, workspace.YCt()), BYBY = dot(data.semantic.values().asDiagonal() * Bt, Bt);
  const SymmetricProduct AACC = symmetric_product(workspace.AAt, workspace.CCt),
                         BBCC = symmetric_product(workspace.BBt, workspace.CCt);
  const double CC = workspace.CCt.trace(), CC_size = std::abs(CC);

  // |C - H|^2 needs <C, H>. C solves K C = l2 H + (1 + l3) A X + (l1 + l4) B Y, and so
  // l2 <C, H> = <C, K C> - (1 + l3) <A X, C> - (l1 + l4) <B Y, C>.
  const double KCC = (1 + l1 + l2) * CC + l3 * AACC.value + l4 * BBCC.value,
               KCC_size = (1 + l1 + l2) * CC_size + l3 * AACC.size + l4 * BBCC.size,
               rest = (1 + l3) * AXC + (l1 + l4) * BYC;
  const Term class_codes = l2 == 0 ? Term{0, 0}
                                   : term(1, l2 * (CC + problem.H_squared) - 2 * (KCC - rest),
                                          l2 * (CC_size + problem.H_squared) + 2 * (KCC_size + std::abs(rest)));
  return total(
      term(1, AXC_distance, AXC_distance + std::sqrt(AXC_distance * CC_size) + subtracted_size(problem, CC_size)),
      term(l1, BYBY - 2 * BYC + CC, BYBY + 2 * std::abs(BYC) + CC_size), class_codes,
      term(l3, data.visual_trace - 2 * AXC + AACC.value, data.visual_trace + 2 * std::abs(AXC) + AACC.size),
      term(l4, data.semantic_trace - 2 * BYC + BBCC.value, data.semantic_trace + 2 * std::abs(BYC) + BBCC.size));
}

Objective objective_from_differences(const Problem& problem, const ConceptBasis& basis, const Workspace& workspace) {
  const auto& [l1, l2, l3, l4] = problem.weights();
  const Spectrum& data = problem.data;
  const ConstView<double> At = workspace.At(), Bt = workspace.Bt(), Ct = workspace.Ct();
  MatrixD BY_C = Ct, C_H = Ct, X_AC = MatrixD::Zero(problem.s, problem.r), Y_BC = data.semantic_target;
  gemm(problem.team, Op::none, Op::none, -1, data.semantic_target, Bt, 1, BY_C);
  gemm(problem.team, Op::none, Op::none, -1, data.labels, basis.class_codes(), 1, C_H);
  X_AC.diagonal() = data.roots;
  gemm(problem.team, Op::none, Op::transpose, -1, Ct, At, 1, X_AC);
  gemm(problem.team, Op::none, Op::transpose, -1, Ct, Bt, 1, Y_BC);

  // size: the norm of the subtracted matrix, which is the scale of the rounding errors of a difference d. The error of
  // |d|^2 is 2 |d| times that.
  const auto squares = [&](double weight, double squared, double size) {
    const double sum = squared < 0 ? 0 : squared;  // NaN stays
    return term(weight, sum, sum + std::sqrt(sum) * size + subtracted_size(problem, size * size));
  };
  const double C_size = frobenius_norm(Ct);
  return total(squares(1, workspace.visual_fit.squared_distance, C_size), squares(l1, data.squared_norm(BY_C), C_size),
               squares(l2, data.squared_norm(C_H), C_size),
               squares(l3, data.squared_norm(X_AC), frobenius_norm(At) * C_size),
               squares(l4, data.squared_norm(Y_BC), frobenius_norm(Bt) * C_size));
}

}  // namespace jcmspl::descent
