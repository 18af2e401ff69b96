#include "jcmspl/shifted.hpp"

#include <limits>

#include "jcmspl/kernels.hpp"

namespace jcmspl {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

// (weight T + shift_j I) z_j = t_j for the rows of a block, side by side: LDL' without pivoting, which is stable for
// positive definite matrices. Rows are contiguous in the row index, so every operation is a vector operation.
template <class Block, class Shifts>
void substitute(double weight, const VectorD& diagonal, const VectorD& off_diagonal, const Shifts& shifts, Block z,
                Eigen::ArrayXXd& inverse_pivots) {
  const Index k = diagonal.size();
  inverse_pivots.col(0) = (weight * diagonal[0] + shifts).inverse();
  for (Index i = 1; i < k; ++i) {
    const double off = weight * off_diagonal[i - 1];
    inverse_pivots.col(i) = (weight * diagonal[i] + shifts - off * off * inverse_pivots.col(i - 1)).inverse();
    z.col(i) -= off * inverse_pivots.col(i - 1) * z.col(i - 1);
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

void ShiftedSolver::solve(double weight, const VectorD& shifts, MatrixD& rhs) {
  const Index k = rhs.cols();
  if (rhs.rows() == 0 || k == 0) return;
  if (weight == 0) {
    const auto inverse = (shifts.array() > 0).select(shifts.array().inverse(), 0.0);
    rhs.array().colwise() *= VectorD(inverse.matrix()).array();
    return;
  }
  if (!reduced_) {
    tridiagonal_.reduce(*lower_);
    basis_ = tridiagonal_.q();
    reduced_ = true;
  }
  // S carries errors of epsilon |S|: with shifts well above them weight S + shift is safely positive definite.
  const double noise = 16 * epsilon * static_cast<double>(k) * weight * tridiagonal_.norm_bound();
  const bool tridiagonal_is_safe = !diagonalised_ && shifts.minCoeff() > noise;
  if (!tridiagonal_is_safe && !diagonalised_) diagonalise();
  rotated_.resize(rhs.rows(), k);
  gemm(Op::none, Op::none, 1, rhs, basis_, 0, rotated_);
  if (tridiagonal_is_safe)
    solve_tridiagonal(weight, shifts);
  else
    solve_diagonal(weight, shifts);
  gemm(Op::none, Op::transpose, 1, rotated_, basis_, 0, rhs);
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

void ShiftedSolver::solve_tridiagonal(double weight, const VectorD& shifts) {
  const Index k = rotated_.cols();
  // A block of rows with its pivots should stay in the cache of one core.
  const Index step = std::clamp<Index>(32768 / k, 16, 512);
  for (Index first = 0; first < rotated_.rows(); first += step) {
    const Index rows = std::min(step, rotated_.rows() - first);
    pivots_.resize(rows, k);
    substitute(weight, tridiagonal_.diagonal(), tridiagonal_.off_diagonal(), shifts.segment(first, rows).array(),
               rotated_.middleRows(first, rows).array(), pivots_);
  }
}

void ShiftedSolver::solve_diagonal(double weight, const VectorD& shifts) {
  for (Index i = 0; i < rotated_.cols(); ++i) {
    const auto denominator = weight * values_[i] + shifts.array();
    rotated_.col(i).array() *= (denominator > 0).select(denominator.inverse(), 0.0);
  }
}

}  // namespace jcmspl
