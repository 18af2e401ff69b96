#include "jcmspl/descent/solve.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "descent/concept_basis.hpp"
#include "descent/objective.hpp"
#include "descent/problem.hpp"
#include "descent/stationarity.hpp"
#include "descent/updates.hpp"
#include "descent/workspace.hpp"
#include "linalg/products.hpp"
#include "support/clock.hpp"

namespace jcmspl::descent {

namespace {

// The codes at the end are C = P X + E L' (docs/algorithm.md). These are P' = (1 + l3) A' K^-1, m x k, from A' in the
// coordinates of all features, and E' = (l2 Hc + (l1 + l4) B Yc)' K^-1, c x k.
MatrixD codes_of_samples(const Problem& problem, const Workspace& workspace, const MatrixD& visual_projection) {
  MatrixD Pt = (1 + problem.settings.l3) * visual_projection;
  workspace.K_inverse.divide(view(Pt), problem.team);
  return Pt;
}

MatrixD codes_of_classes(const Problem& problem, const ConceptBasis& basis, const Workspace& workspace) {
  const auto& [l1, l2, l3, l4] = problem.weights();
  MatrixD Et = l2 * basis.class_codes();
  gemm(problem.team, Op::transpose, Op::none, l1 + l4, problem.data.vectors, workspace.Bt(), 1, Et);
  workspace.K_inverse.divide(view(Et), problem.team);
  return Et;
}

// Whether the last iteration lowered the objective by at most tol times its value. Updates are exact minimisers, so the
// objective rises by rounding errors only. Where their bound, noise, exceeds the threshold, the answer is no: the test
// could not tell. The objective is a sum of squares and never negative.
bool is_converged(double tol, double before, double now, double noise) {
  const double threshold = tol * before;
  return tol > 0 && std::isfinite(before) && before - now <= threshold && noise <= threshold;
}

}  // namespace

Results solve(const Spectrum& spectrum, const Settings& settings, const Start& start, const OnIteration& on_iteration,
              const Team& team) {
  Results results;
  Info& info = results.info;
  Clock clock;
  const Problem problem(spectrum, settings, team);
  const std::unique_ptr<ConceptBasis> basis = make_concept_basis(problem);
  Workspace workspace(problem);
  begin(problem, start, workspace);
  info.timings.start = clock.lap();

  double before = std::numeric_limits<double>::infinity();
  while (info.n_iter < settings.max_iter && !info.converged) {
    update_projections(problem, *basis, workspace);
    info.timings.projections += clock.lap();
    team.poll();
    update_concepts(problem, *basis, workspace);
    info.timings.concepts += clock.lap();
    const Objective objective = descent::objective(problem, *basis, workspace);
    info.terms.push_back(objective.terms);
    info.timings.objective += clock.lap();
    ++info.n_iter;
    const double now = objective.terms.sum();
    if (!std::isfinite(now)) throw Diverged(info.n_iter);
    on_iteration(info.n_iter, now);
    team.poll();
    info.converged = is_converged(settings.tol, before, now, objective.noise);
    before = now;
  }

  info.stationarity = stationarity(problem, *basis, workspace);
  if (!info.stationarity.finite()) throw Diverged(info.n_iter);
  // Projections return from the leading eigenvectors to all features, and from the eigenbasis of concepts to concepts.
  MatrixD At = spectrum.visual.lift(workspace.At(), team);
  team.poll();
  if (settings.want_codes) {
    results.codes_of_samples = basis->rotated_back(codes_of_samples(problem, workspace, At));
    results.codes_of_classes = basis->rotated_back(codes_of_classes(problem, *basis, workspace));
  }
  results.visual_projection = basis->rotated_back(std::move(At));
  results.semantic_projection = basis->rotated_back(spectrum.semantic.lift(workspace.Bt(), team));
  info.timings.finish = clock.lap();
  return results;
}

}  // namespace jcmspl::descent
