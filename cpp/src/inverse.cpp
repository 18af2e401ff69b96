#include "jcmspl/inverse.hpp"

#include <limits>

#include "jcmspl/kernels.hpp"

namespace jcmspl {

namespace {

void invert_small(View<double> a) {
  char lower = 'L';
  int n = as_int(a.rows()), ld = blas_ld(a), info = 0;
  kernels<double>().potrf(&lower, &n, a.data(), &ld, &info);
  if (info == 0) kernels<double>().potri(&lower, &n, a.data(), &ld, &info);
  if (info != 0) a.setConstant(std::numeric_limits<double>::quiet_NaN());
  mirror_lower(a);
}

// With a = [p q'; q r] and the Schur complement s = r - q p^-1 q':
//   a^-1 = [p^-1 + w' s^-1 w   .; -s^-1 w   s^-1],   w = q p^-1
void invert(View<double> a) {
  const Index n = a.rows(), h = n / 2;
  if (n <= 96) return invert_small(a);
  const auto part = [&](Index row, Index col, Index rows, Index cols) {
    return View<double>(a.data() + row + col * a.outerStride(), rows, cols, Eigen::OuterStride<>(a.outerStride()));
  };
  View<double> p = part(0, 0, h, h), q = part(h, 0, n - h, h), s = part(h, h, n - h, n - h);
  MatrixD w(n - h, h);
  invert(p);
  gemm(Op::none, Op::none, 1, q, p, 0, w);
  gemm(Op::none, Op::transpose, -1, w, q, 1, s);
  invert(s);
  gemm(Op::none, Op::none, -1, s, w, 0, q);
  gemm(Op::transpose, Op::none, -1, w, q, 1, p);
}

}  // namespace

void invert_positive_definite(MatrixD& a) {
  invert(view(a));
  mirror_lower(a);
}

}  // namespace jcmspl
