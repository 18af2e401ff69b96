#include "jcmspl/linalg/shifted.hpp"

#include <limits>
#include <utility>

#include "jcmspl/linalg/kernels.hpp"

namespace jcmspl {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

// (weight T + shift_j I) z_j = factor_j t_j for the rows of a block, side by side: LDL' without
// pivoting, which is stable for positive definite matrices. Rows are contiguous in the row index,
// so every operation is a vector operation.
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

void ShiftedSolver::solve(MatrixD&& lower, const ConstView<double>& rhs, const std::array<ShiftedRows, 2>& parts,
                          MatrixD& z) {
  if (!solve_in_basis(std::move(lower), rhs, parts, z)) return;
  work_.swap(z);
  z.resize(work_.rows(), work_.cols());
  gemm(Op::none, Op::transpose, 1, work_, basis_, 0, z);
}

void ShiftedSolver::solve_and_turn(MatrixD&& lower, const ConstView<double>& rhs,
                                   const std::array<ShiftedRows, 2>& parts, MatrixD& z, MatrixD& w) {
  if (!solve_in_basis(std::move(lower), rhs, parts, z)) return;
  work_.swap(w);
  w.resize(work_.rows(), work_.cols());
  gemm(Op::none, Op::none, 1, work_, basis_, 0, w);
}

bool ShiftedSolver::solve_in_basis(MatrixD&& lower, const ConstView<double>& rhs,
                                   const std::array<ShiftedRows, 2>& parts, MatrixD& z) {
  const auto uses_S = [](const ShiftedRows& part) { return part.weight != 0 && part.shifts.size() > 0; };
  const Index k = lower.rows();
  VectorD eigenvalues = VectorD::Zero(k);
  double noise = 0;
  bool tridiagonal = false;
  const bool in_basis = uses_S(parts[0]) || uses_S(parts[1]);
  if (in_basis) {
    tridiagonal_.reduce(std::move(lower));
    // With shifts well above the errors of S, weight S + shift is safely positive definite.
    noise = epsilon * static_cast<double>(k) * tridiagonal_.norm_bound();
    const auto is_safe = [&](const ShiftedRows& part) {
      return !uses_S(part) || part.shifts.minCoeff() > 16 * part.weight * noise;
    };
    tridiagonal = is_safe(parts[0]) && is_safe(parts[1]);
    if (tridiagonal)
      tridiagonal_.form_q(basis_);
    else
      eigenvalues = diagonalise(noise);
  }
  if (in_basis)
    gemm(Op::none, Op::none, 1, rhs, basis_, 0, z);
  else
    z = rhs;
  Index first = 0;
  for (const ShiftedRows& part : parts) {
    const Index count = part.shifts.size();
    View<double> rows(z.data() + first, count, k, Eigen::OuterStride<>(z.rows()));
    if (tridiagonal && uses_S(part))
      solve_tridiagonal(part, rows);
    else
      solve_diagonal(part, eigenvalues, noise, rows);
    first += count;
  }
  return in_basis;
}

VectorD ShiftedSolver::diagonalise(double noise) {
  VectorD values;
  tridiagonal_.eigen(values, basis_);
  tridiagonal_.apply(Side::left, false, basis_);
  return (values.array() > noise).select(values, 0.0);
}

void ShiftedSolver::solve_tridiagonal(const ShiftedRows& part, View<double> rows) {
  const Index k = rows.cols(), count = rows.rows();
  // A block of rows with its pivots should stay in the cache of one core, and fill whole cache lines.
  const Index step = std::clamp<Index>(65536 / k / 16 * 16, 16, 512);
  for (Index first = 0; first < count; first += step) {
    const Index size = std::min(step, count - first);
    pivots_.resize(size, k);
    substitute(part.weight, tridiagonal_.diagonal(), tridiagonal_.off_diagonal(),
               part.factors.segment(first, size).array(), part.shifts.segment(first, size).array(),
               rows.middleRows(first, size).array(), pivots_);
  }
}

void ShiftedSolver::solve_diagonal(const ShiftedRows& part, const VectorD& eigenvalues, double noise,
                                   View<double> rows) const {
  for (Index i = 0; i < rows.cols(); ++i) {
    const auto denominator = part.weight * eigenvalues[i] + part.shifts.array();
    // Where S is zero so is the right-hand side: u'CC'u = 0 means u'C = 0. What a computed one holds there is noise,
    // and a shift no larger than the noise of S must not magnify it.
    const double least = eigenvalues[i] > 0 ? 0 : 16 * part.weight * noise;
    rows.col(i).array() *= (denominator > least).select(part.factors.array() * denominator.inverse(), 0.0);
  }
}

}  // namespace jcmspl
