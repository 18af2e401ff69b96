#include <limits>
#include <random>
#include <string>
#include <type_traits>

#include "linalg/blas.hpp"
#include "plain_blas.hpp"
#include "testing.hpp"

namespace jcmspl {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

MatrixD random_matrix(Index rows, Index cols) {
  static std::mt19937 generator(1);
  std::normal_distribution<double> normal;
  return MatrixD::NullaryExpr(rows, cols, [&] { return normal(generator); });
}

MatrixD applied(Op op, const MatrixD& a) { return op == Op::none ? a : MatrixD(a.transpose()); }

bool close(const MatrixD& a, const MatrixD& b) { return (a - b).norm() <= 1e-13 * (1 + b.norm()); }

bool close_lower(const MatrixD& a, const MatrixD& b) {
  return close(a.triangularView<Eigen::Lower>(), b.triangularView<Eigen::Lower>());
}

const Op ops[] = {Op::none, Op::transpose};

TEST(gemm_of_blocks_of_larger_matrices) {
  for (const Op op_a : ops)
    for (const Op op_b : ops) {
      const MatrixD a = random_matrix(9, 9), b = random_matrix(9, 9), before = random_matrix(9, 9);
      const bool none_a = op_a == Op::none, none_b = op_b == Op::none;
      const auto x = a.block(1, 2, none_a ? 4 : 3, none_a ? 3 : 4);
      const auto y = b.block(2, 1, none_b ? 3 : 5, none_b ? 5 : 3);
      MatrixD c = before, expected = before;
      gemm(op_a, op_b, 2, x, y, 3, c.block(3, 4, 4, 5));
      expected.block(3, 4, 4, 5) = 2 * applied(op_a, x) * applied(op_b, y) + 3 * before.block(3, 4, 4, 5);
      CHECK(close(c, expected));
    }
}

TEST(gemm_over_no_terms_scales_the_result) {
  MatrixD c = MatrixD::Constant(2, 3, nan);
  gemm(Op::none, Op::none, 1, MatrixD(2, 0), MatrixD(0, 3), 0, c);
  CHECK(c == MatrixD::Zero(2, 3));
  c.setConstant(2);
  gemm(Op::none, Op::none, 1, MatrixD(2, 0), MatrixD(0, 3), 3, c);
  CHECK(c == MatrixD::Constant(2, 3, 6));
}

TEST(syrk_writes_the_lower_triangle) {
  for (const Op op : ops) {
    const MatrixD a = op == Op::none ? random_matrix(4, 3) : random_matrix(3, 4), before = random_matrix(4, 4);
    MatrixD c = before;
    syrk(op, -2, a, 3, c);
    CHECK(close_lower(c, -2 * applied(op, a) * applied(op, a).transpose() + 3 * before));
    CHECK(c.triangularView<Eigen::StrictlyUpper>().toDenseMatrix() ==
          before.triangularView<Eigen::StrictlyUpper>().toDenseMatrix());
  }
}

TEST(trmm_reads_the_lower_triangle) {
  for (const Side side : {Side::left, Side::right})
    for (const Op op : ops) {
      MatrixD a = random_matrix(4, 4);
      const MatrixD lower = a.triangularView<Eigen::Lower>();
      a.triangularView<Eigen::StrictlyUpper>().setConstant(nan);
      const MatrixD before = side == Side::left ? random_matrix(4, 3) : random_matrix(3, 4);
      MatrixD b = before;
      trmm(side, op, -2, a, b);
      CHECK(close(b, -2 * (side == Side::left ? applied(op, lower) * before : before * applied(op, lower))));
    }
}

TEST(shapes_that_do_not_match_fail_an_assertion) {
  const MatrixD a = MatrixD::Ones(4, 3), b = MatrixD::Ones(3, 5), square = MatrixD::Ones(3, 3);
  MatrixD c = MatrixD::Zero(4, 5), wrong_rows = MatrixD::Zero(3, 5), wrong_cols = MatrixD::Zero(4, 4);
  CHECK_ASSERTS(gemm(Op::none, Op::none, 1, a, b, 0, wrong_rows));
  CHECK_ASSERTS(gemm(Op::none, Op::none, 1, a, b, 0, wrong_cols));
  CHECK_ASSERTS(gemm(Op::none, Op::transpose, 1, a, b, 0, c));
  CHECK_ASSERTS(gemm(Op::transpose, Op::none, 1, a, b, 0, c));
  MatrixD of_rows = MatrixD::Zero(4, 4), of_cols = MatrixD::Zero(3, 3);
  CHECK_ASSERTS(syrk(Op::none, 1, a, 0, of_cols));
  CHECK_ASSERTS(syrk(Op::transpose, 1, a, 0, of_rows));
  CHECK_ASSERTS(syrk(Op::none, 1, a, 0, c));
  MatrixD x = a;
  CHECK_ASSERTS(trmm(Side::left, Op::none, 1, square, x));
  CHECK_ASSERTS(trmm(Side::right, Op::none, 1, of_rows, x));
  CHECK_ASSERTS(trmm(Side::right, Op::none, 1, b, x));
}

// Only memory that may be written to can be the result.
template <class C, class = void>
constexpr bool can_be_result = false;
template <class C>
constexpr bool
    can_be_result<C, std::void_t<decltype(gemm(Op::none, Op::none, 1, MatrixD(), MatrixD(), 0, std::declval<C>())),
                                 decltype(syrk(Op::none, 1, MatrixD(), 0, std::declval<C>())),
                                 decltype(trmm(Side::left, Op::none, 1, MatrixD(), std::declval<C>()))>> = true;
static_assert(can_be_result<MatrixD&> && can_be_result<View<double>> && can_be_result<View<double>&> &&
              can_be_result<Eigen::Block<MatrixD>>);
static_assert(!can_be_result<const MatrixD&> && !can_be_result<ConstView<double>> &&
              !can_be_result<ConstView<double>&> && !can_be_result<Eigen::Block<const MatrixD>>);

TEST(a_kernel_that_is_not_bound_throws) {
  Kernels<double> bound = kernels<double>();
  kernels<double>() = Kernels<double>();
  MatrixD a = MatrixD::Ones(2, 2), c = a;
  CHECK_THROWS(UnboundKernel, gemm(Op::none, Op::none, 1, a, a, 0, c));
  CHECK_THROWS(UnboundKernel, syrk(Op::none, 1, a, 0, c));
  CHECK_THROWS(UnboundKernel, trmm(Side::left, Op::none, 1, a, c));
  try {
    char lower = 'L';
    int n = 2, info = 0;
    kernels<double>().potrf(&lower, &n, c.data(), &n, &info);
    CHECK(false);
  } catch (const std::logic_error& error) {
    CHECK(std::string(error.what()).find("potrf") != std::string::npos);
  }
  kernels<double>() = bound;
  gemm(Op::none, Op::none, 1, a, a, 0, c);
  CHECK(c == MatrixD::Constant(2, 2, 2));
}

}  // namespace

}  // namespace jcmspl
