#include "linalg/shifted.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "linalg/products.hpp"
#include "support/parallel.hpp"

namespace jcmspl {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
// Shifts this many times larger than the rounding errors of weight S keep weight S + shift I positive definite.
constexpr double safety = 16;

bool uses_S(const ShiftedRows& part) { return part.weight != 0 && part.shifts.size() > 0; }

// Solves (weight T + shift_j I) z_j = factor_j t_j for all rows of a block at once: LDL' without pivoting, which is
// stable for positive definite matrices. Rows are contiguous in the row index, so every operation is a vector
// operation.
template <class Block, class Values>
void substitute(double weight, const VectorD& diagonal, const VectorD& off_diagonal, const Values& factors,
                const Values& shifts, Block z, Eigen::ArrayXXd& inverse_pivots) {
  const Index k = diagonal.size();
  inverse_pivots.col(0) = (weight * diagonal[0] + shifts).inverse();
  z.col(0) *= factors;
  for (Index i = 1; i < k; ++i) {
    const double off = weight * off_diagonal[i - 1];
    inverse_pivots.col(i) = (weight * diagonal[i] + shifts - off * (off * inverse_pivots.col(i - 1))).inverse();
    z.col(i) = factors * z.col(i) - off * inverse_pivots.col(i - 1) * z.col(i - 1);
  }
  z.col(k - 1) *= inverse_pivots.col(k - 1);
  for (Index i = k - 2; i >= 0; --i)
    z.col(i) = (z.col(i) - weight * off_diagonal[i] * z.col(i + 1)) * inverse_pivots.col(i);
}

}  // namespace

const MatrixD* ShiftedSolver::solve(const MatrixD& S_lower, const ConstView<double>& rhs,
                                    const std::array<ShiftedRows, 2>& parts, View<double> zQ, const Team& team) {
  const Index k = S_lower.rows();
  const Diagonal zero{VectorD::Zero(k), 0};
  const bool reduces = uses_S(parts[0]) || uses_S(parts[1]);
  const std::optional<Diagonal> diagonal = reduces ? reduce(S_lower, parts, team) : zero;
  if (reduces)
    gemm(team, Op::none, Op::none, 1, rhs, basis_, 0, zQ);
  else
    zQ = rhs;
  Index first = 0;
  for (const ShiftedRows& part : parts) {
    const Index count = part.shifts.size();
    const View<double> rows(zQ.data() + first, count, k, Eigen::OuterStride<>(zQ.outerStride()));
    if (uses_S(part) && !diagonal)
      solve_tridiagonal(part, rows, team);
    else
      solve_diagonal(part, diagonal.value_or(zero), rows);
    first += count;
  }
  return reduces ? &basis_ : nullptr;
}

std::optional<ShiftedSolver::Diagonal> ShiftedSolver::reduce(const MatrixD& S_lower,
                                                             const std::array<ShiftedRows, 2>& parts,
                                                             const Team& team) {
  tridiagonal_.reduce(S_lower);
  const double noise = epsilon * static_cast<double>(S_lower.rows()) * tridiagonal_.norm_bound();
  const bool is_safe = std::all_of(parts.begin(), parts.end(), [&](const ShiftedRows& part) {
    return !uses_S(part) || part.shifts.minCoeff() > safety * part.weight * noise;
  });
  if (is_safe) {
    basis_ = tridiagonal_.form_q(team);
    return std::nullopt;
  }
  auto [values, vectors] = tridiagonal_.eigen();
  tridiagonal_.apply(Side::left, false, vectors, team);
  basis_ = std::move(vectors);
  return Diagonal{(values.array() > noise).select(values, 0.0), noise};
}

void ShiftedSolver::solve_tridiagonal(const ShiftedRows& part, View<double> rows, const Team& team) const {
  const Index k = rows.cols(), count = rows.rows();
  // A block of rows with its pivots should stay in the cache of one core, and fill whole cache lines.
  const Index step = std::clamp<Index>(65536 / k / 16 * 16, 16, 512);
  // A division takes as long as several multiplications.
  const Index n_threads = 8.0 * static_cast<double>(rows.size()) < least_shared_work ? 1 : team.n_threads;
  for_each_in_parallel((count + step - 1) / step, n_threads, team.poll, [&] {
    return [&, pivots = Eigen::ArrayXXd()](Index index, const Poll&) mutable {
      const Index first = index * step, size = std::min(step, count - first);
      pivots.resize(size, k);
      substitute(part.weight, tridiagonal_.diagonal(), tridiagonal_.off_diagonal(),
                 part.factors.segment(first, size).array(), part.shifts.segment(first, size).array(),
                 rows.middleRows(first, size).array(), pivots);
    };
  });
}

void ShiftedSolver::solve_diagonal(const ShiftedRows& part, const Diagonal& S, View<double> rows) {
  for (Index i = 0; i < rows.cols(); ++i) {
    const auto denominator = part.weight * S.eigenvalues[i] + part.shifts.array();
    // Where S is zero so is the right-hand side: u'CC'u = 0 means u'C = 0. Its computed value there is rounding error,
    // which a shift no larger than the rounding errors of S must not magnify.
    const double least = S.eigenvalues[i] > 0 ? 0 : safety * part.weight * S.noise;
    rows.col(i).array() *= (denominator > least).select(part.factors.array() * denominator.inverse(), 0.0);
  }
}

}  // namespace jcmspl
