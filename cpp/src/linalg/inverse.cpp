#include "linalg/inverse.hpp"

#include <Eigen/Cholesky>
#include <limits>
#include <utility>

#include "linalg/products.hpp"

namespace jcmspl {

namespace {

void invert_small(View<double> a) {
  const Eigen::LLT<MatrixD, Eigen::Lower> cholesky(a);
  if (cholesky.info() == Eigen::Success)
    a = cholesky.matrixL().solve(MatrixD::Identity(a.rows(), a.rows()));
  else
    a.setConstant(std::numeric_limits<double>::quiet_NaN());
}

// Replaces the lower triangle of a by the inverse of its Cholesky factor. Recursive halving, so that nearly all the
// work is in matrix products. With a = [p .; q r] and L = [l .; m n]: m = q l^-T, n n' = r - m m', and L^-1 = [l^-1 .;
// -n^-1 m l^-1  n^-1].
void invert(View<double> a, const Team& team) {
  const Index n = a.rows(), h = n / 2;
  if (n <= 24) return invert_small(a);
  const auto part = [&](Index row, Index col, Index rows, Index cols) {
    return View<double>(a.data() + row + col * a.outerStride(), rows, cols, Eigen::OuterStride<>(a.outerStride()));
  };
  View<double> upper = part(0, 0, h, h), off = part(h, 0, n - h, h), lower = part(h, h, n - h, n - h);
  invert(upper, team);
  trmm(team, Side::right, Op::transpose, 1, upper, off);
  syrk(team, Op::none, -1, off, 1, lower);
  invert(lower, team);
  trmm(team, Side::right, Op::none, -1, upper, off);
  trmm(team, Side::left, Op::none, 1, lower, off);
}

}  // namespace

InverseCholeskyFactor::InverseCholeskyFactor(MatrixD K_lower, const Team& team) : factor_(std::move(K_lower)) {
  invert(view(factor_), team);
}

void InverseCholeskyFactor::divide(View<double> x, const Team& team) const {
  trmm(team, Side::right, Op::transpose, 1, factor_, x);
  trmm(team, Side::right, Op::none, 1, factor_, x);
}

}  // namespace jcmspl
