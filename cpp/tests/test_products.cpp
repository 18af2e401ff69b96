#include <atomic>
#include <random>
#include <vector>

#include "linalg/products.hpp"
#include "plain_blas.hpp"
#include "testing.hpp"

namespace jcmspl {

namespace {

MatrixD random_matrix(Index rows, Index cols) {
  static std::mt19937 generator(2);
  std::normal_distribution<double> normal;
  return MatrixD::NullaryExpr(rows, cols, [&] { return normal(generator); });
}

MatrixD applied(Op op, const MatrixD& a) { return op == Op::none ? a : MatrixD(a.transpose()); }

bool close(const MatrixD& a, const MatrixD& b) { return (a - b).norm() <= 1e-12 * b.norm(); }

const Op ops[] = {Op::none, Op::transpose};
const Index numbers_of_threads[] = {1, 2, 5};

TEST(panels_cover_all_and_do_not_depend_on_threads) {
  for (const Index count : {0, 1, 63, 128, 129, 300, 5000})
    for (const double work : {1.0, 1e9}) {
      std::vector<Index> widths[2];
      for (const Index n_threads : {1, 4}) {
        std::vector<std::atomic<Index>> width_at(static_cast<std::size_t>(count) + 1);
        for_panels(count, 64, work, Team{n_threads}, [&](Index first, Index width) {
          if (width > 0) width_at[static_cast<std::size_t>(first)] += width;
        });
        Index next = 0;
        while (next < count && width_at[static_cast<std::size_t>(next)] > 0) {
          widths[n_threads > 1].push_back(width_at[static_cast<std::size_t>(next)]);
          next += widths[n_threads > 1].back();
        }
        CHECK(next == count);
      }
      CHECK(widths[0] == widths[1]);
      CHECK(work > 1 || widths[0].size() <= 1);
    }
}

TEST(products_in_panels_are_those_of_the_definition) {
  const Index n = 290;  // with more work than one thread is given, and panels of unequal width
  for (const Index n_threads : numbers_of_threads) {
    const Team team{n_threads};
    for (const Op op_a : ops)
      for (const Op op_b : ops)
        for (const Index cols : {n - 151, n + 30}) {  // split by rows, and by columns
          const MatrixD a = op_a == Op::none ? random_matrix(n, 260) : random_matrix(260, n);
          const MatrixD b = op_b == Op::none ? random_matrix(260, cols) : random_matrix(cols, 260);
          const MatrixD before = random_matrix(n, cols);
          MatrixD c = before;
          gemm(team, op_a, op_b, 2, a, b, 3, c);
          CHECK(close(c, 2 * applied(op_a, a) * applied(op_b, b) + 3 * before));
        }
    for (const Op op : ops) {
      const MatrixD a = op == Op::none ? random_matrix(n, 260) : random_matrix(260, n), before = random_matrix(n, n);
      const MatrixD lower = random_matrix(n, n).triangularView<Eigen::Lower>();
      MatrixD c = before, left = before, right = before;
      syrk(team, op, 2, a, 3, c);
      const MatrixD expected = 2 * applied(op, a) * applied(op, a).transpose() + 3 * before;
      CHECK(close(c.triangularView<Eigen::Lower>(), expected.triangularView<Eigen::Lower>()));
      CHECK(c.triangularView<Eigen::StrictlyUpper>().toDenseMatrix() ==
            before.triangularView<Eigen::StrictlyUpper>().toDenseMatrix());
      trmm(team, Side::left, op, 2, lower, left);
      CHECK(close(left, 2 * applied(op, lower) * before));
      trmm(team, Side::right, op, 2, lower, right);
      CHECK(close(right, 2 * before * applied(op, lower)));
    }
  }
}

// Each panel alone has shapes that match.
TEST(shapes_of_shared_products_that_do_not_match_fail_an_assertion) {
  const MatrixD a = MatrixD::Ones(300, 300), shorter = MatrixD::Ones(299, 300), narrower = MatrixD::Ones(300, 299);
  MatrixD c = MatrixD::Zero(300, 300), wide = MatrixD::Zero(300, 310);
  CHECK_ASSERTS(gemm(Team(), Op::none, Op::none, 1, shorter, a, 0, c));
  CHECK_ASSERTS(gemm(Team(), Op::none, Op::none, 1, a, a, 0, wide));
  CHECK_ASSERTS(gemm(Team(), Op::none, Op::none, 1, a, shorter, 0, c));
  CHECK_ASSERTS(syrk(Team(), Op::none, 1, shorter, 0, c));
  CHECK_ASSERTS(syrk(Team(), Op::transpose, 1, narrower, 0, c));
  CHECK_ASSERTS(trmm(Team(), Side::left, Op::none, 1, shorter, c));
  CHECK_ASSERTS(trmm(Team(), Side::right, Op::none, 1, a, wide));
}

}  // namespace

}  // namespace jcmspl
