#include "jcmspl/shifted.hpp"

#include <limits>

#include "jcmspl/kernels.hpp"

namespace jcmspl {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

// (weight T + shift_j I) z_j = factor t_j for the rows of a block, side by side: LDL' without
// pivoting, which is stable for positive definite matrices. Rows are contiguous in the row index,
// so every operation is a vector operation.
template <class Block, class Shifts>
void substitute(const ShiftedRows& part, const VectorD& diagonal, const VectorD& off_diagonal, const Shifts& shifts,
                Block z, Eigen::ArrayXXd& inverse_pivots) {
  const Index k = diagonal.size();
  const double weight = part.weight;
  inverse_pivots.col(0) = (weight * diagonal[0] + shifts).inverse();
  z.col(0) *= part.factor;
  for (Index i = 1; i < k; ++i) {
    const double off = weight * off_diagonal[i - 1];
    inverse_pivots.col(i) = (weight * diagonal[i] + shifts - off * off * inverse_pivots.col(i - 1)).inverse();
    z.col(i) = part.factor * z.col(i) - off * inverse_pivots.col(i - 1) * z.col(i - 1);
  }
  z.col(k - 1) *= inverse_pivots.col(k - 1);
  for (Index i = k - 2; i >= 0; --i)
    z.col(i) = (z.col(i) - weight * off_diagonal[i] * z.col(i + 1)) * inverse_pivots.col(i);
}

}  // namespace

void ShiftedSolver::reset(const MatrixD& lower) {
  lower_ = &lower;
  reduced_ = diagonalised_ = false;
}

void ShiftedSolver::solve(const std::array<ShiftedRows, 2>& parts, const MatrixD& rhs, MatrixD& solution) {
  if (rhs.size() == 0) return;
  bool rotate = false, safe = true;
  for (const ShiftedRows& part : parts)
    if (part.weight != 0 && part.shifts.size() > 0) rotate = true;
  if (rotate && !reduced_) {
    tridiagonal_.reduce(*lower_);
    basis_ = tridiagonal_.q();
    reduced_ = true;
  }
  for (const ShiftedRows& part : parts) safe = safe && tridiagonal_is_safe(part);
  if (!safe && !diagonalised_) diagonalise();

  rotated_.resize(rhs.rows(), rhs.cols());
  if (rotate)
    gemm(Op::none, Op::none, 1, rhs, basis_, 0, rotated_);
  else
    rotated_ = rhs;
  Index first = 0;
  for (const ShiftedRows& part : parts) {
    if (part.weight != 0 && !diagonalised_)
      solve_tridiagonal(part, first);
    else
      solve_diagonal(part, first);
    first += part.shifts.size();
  }
  if (rotate)
    gemm(Op::none, Op::transpose, 1, rotated_, basis_, 0, solution);
  else
    solution.swap(rotated_);
}

// S carries errors of epsilon |S|: with shifts well above them weight S + shift is safely positive
// definite.
bool ShiftedSolver::tridiagonal_is_safe(const ShiftedRows& part) const {
  if (part.weight == 0 || part.shifts.size() == 0) return true;
  const double k = static_cast<double>(tridiagonal_.diagonal().size());
  return part.shifts.minCoeff() > 16 * epsilon * k * part.weight * tridiagonal_.norm_bound();
}

void ShiftedSolver::diagonalise() {
  MatrixD vectors, product(basis_.rows(), basis_.cols());
  tridiagonal_.eigen(values_, vectors);
  gemm(Op::none, Op::none, 1, basis_, vectors, 0, product);
  basis_.swap(product);
  const Index k = values_.size();
  const double noise = epsilon * static_cast<double>(k) * std::max(0.0, values_[k - 1]);
  values_ = (values_.array() > noise).select(values_, 0.0);
  diagonalised_ = true;
}

void ShiftedSolver::solve_tridiagonal(const ShiftedRows& part, Index first_row) {
  const Index k = rotated_.cols(), count = part.shifts.size();
  // A block of rows with its pivots should stay in the cache of one core.
  const Index step = std::clamp<Index>(32768 / k, 16, 512);
  for (Index first = 0; first < count; first += step) {
    const Index rows = std::min(step, count - first);
    pivots_.resize(rows, k);
    substitute(part, tridiagonal_.diagonal(), tridiagonal_.off_diagonal(), part.shifts.segment(first, rows).array(),
               rotated_.middleRows(first_row + first, rows).array(), pivots_);
  }
}

void ShiftedSolver::solve_diagonal(const ShiftedRows& part, Index first_row) {
  auto rows = rotated_.middleRows(first_row, part.shifts.size());
  for (Index i = 0; i < rotated_.cols(); ++i) {
    // without a weight S plays no part, and need not have been decomposed
    const double eigenvalue = part.weight == 0 ? 0 : part.weight * values_[i];
    const auto denominator = eigenvalue + part.shifts.array();
    rows.col(i).array() *= (denominator > 0).select(part.factor * denominator.inverse(), 0.0);
  }
}

}  // namespace jcmspl
