#include "linalg/inverse.hpp"

#include <cmath>
#include <limits>
#include <utility>

#include "linalg/products.hpp"

namespace jcmspl {

namespace {

// invert for a few rows: too little work for calls to BLAS.
void invert_few_rows(View<double> a) {
  const Index n = a.rows();
  for (Index j = 0; j < n; ++j) {
    for (Index l = 0; l < j; ++l) a.col(j).tail(n - j) -= a(j, l) * a.col(l).tail(n - j);
    if (!(a(j, j) > 0)) return void(a.setConstant(std::numeric_limits<double>::quiet_NaN()));
    a.col(j).tail(n - j) /= std::sqrt(a(j, j));
  }
  // From the first column to the last, since each needs those after it.
  for (Index j = 0; j < n; ++j) {
    a(j, j) = 1 / a(j, j);
    a.col(j).tail(n - j - 1) *= -a(j, j);
    for (Index i = j + 1; i < n; ++i) {
      a(i, j) /= a(i, i);
      a.col(j).tail(n - i - 1) -= a(i, j) * a.col(i).tail(n - i - 1);
    }
  }
}

// Replaces the lower triangle of a by the inverse of its Cholesky factor. Recursive halving, so that nearly all the
// work is in matrix products. With a = [p .; q r] and L = [l .; m n]: m = q l^-T, n n' = r - m m', and L^-1 = [l^-1 .;
// -n^-1 m l^-1  n^-1].
void invert(View<double> a, const Team& team) {
  const Index n = a.rows(), h = n / 2;
  if (n <= 24) return invert_few_rows(a);
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
