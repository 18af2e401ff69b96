// Products that several threads share: the result is cut into panels, each a call of BLAS in one thread. Threads of
// BLAS would wait for each other in loops, which on a busy machine takes far longer than the product. Panels depend on
// the shapes alone, so that results do not depend on the number of threads.
#pragma once

#include <algorithm>

#include "jcmspl/support/team.hpp"
#include "linalg/blas.hpp"
#include "support/parallel.hpp"

namespace jcmspl {

// The multiplications, here a third of a millisecond, below which a product has one panel: starting a thread takes a
// tenth of that.
constexpr double least_shared_work = 8e6;

// Calls panel(first, width) for parts of 0..count - 1. A panel is not narrower than `least`, a size at which BLAS runs
// at nearly full speed. Panels are even in number, as cores are.
template <class Panel>
void for_panels(Index count, Index least, double multiplications, const Team& team, Panel panel) {
  const Index n_panels = multiplications < least_shared_work ? 1 : std::min<Index>(count / least / 2 * 2, 16);
  if (n_panels < 2) return panel(Index(0), count);
  const Index width = (count + n_panels - 1) / n_panels;
  for_each_in_parallel(n_panels, team.n_threads, team.poll, [&] {
    return [&](Index index, const Poll&) {
      const Index first = std::min(count, index * width);
      panel(first, std::min(width, count - first));
    };
  });
}

// Rows or columns of op(a).
template <class A>
auto rows_of_product(Op op, const A& a, Index first, Index count) {
  return op == Op::none
             ? ConstView<ScalarOf<A>>(a.data() + first, count, a.cols(), Eigen::OuterStride<>(a.outerStride()))
             : ConstView<ScalarOf<A>>(a.data() + first * a.outerStride(), a.rows(), count,
                                      Eigen::OuterStride<>(a.outerStride()));
}

template <class A>
auto cols_of_product(Op op, const A& a, Index first, Index count) {
  return rows_of_product(op == Op::none ? Op::transpose : Op::none, a, first, count);
}

// c = alpha op(a) op(b) + beta c
template <class A, class B, class C, class = IfWritable<C>>
void gemm(const Team& team, Op op_a, Op op_b, double alpha, const A& a, const B& b, double beta, C&& c) {
  const double work = static_cast<double>(c.size()) * static_cast<double>(cols_of(op_a, a));
  if (c.rows() >= c.cols())
    for_panels(c.rows(), 64, work, team, [&](Index first, Index count) {
      gemm(op_a, op_b, alpha, rows_of_product(op_a, a, first, count), b, beta, c.middleRows(first, count));
    });
  else
    for_panels(c.cols(), 64, work, team, [&](Index first, Index count) {
      gemm(op_a, op_b, alpha, a, cols_of_product(op_b, b, first, count), beta, c.middleCols(first, count));
    });
}

// The lower triangle of c = alpha a a' + beta c, or of alpha a' a + beta c when op is transpose.
template <class A, class C, class = IfWritable<C>>
void syrk(const Team& team, Op op, double alpha, const A& a, double beta, C&& c) {
  const double work = static_cast<double>(c.size()) / 2 * static_cast<double>(cols_of(op, a));
  const Op flipped = op == Op::none ? Op::transpose : Op::none;
  for_panels(c.rows(), 64, work, team, [&](Index first, Index count) {  // of columns, the longest ones first
    const Index below = first + count, rest = c.rows() - below;
    const auto own = rows_of_product(op, a, first, count);
    syrk(op, alpha, own, beta, c.block(first, first, count, count));
    gemm(op, flipped, alpha, rows_of_product(op, a, below, rest), own, beta, c.block(below, first, rest, count));
  });
}

// b = alpha op(a) b, or alpha b op(a) from the right, with a lower triangular.
template <class A, class B, class = IfWritable<B>>
void trmm(const Team& team, Side side, Op op, double alpha, const A& a, B&& b) {
  const double work = static_cast<double>(b.size()) / 2 * static_cast<double>(a.rows());
  if (side == Side::right)
    for_panels(b.rows(), 64, work, team,
               [&](Index first, Index count) { trmm(side, op, alpha, a, b.middleRows(first, count)); });
  else
    for_panels(b.cols(), 64, work, team,
               [&](Index first, Index count) { trmm(side, op, alpha, a, b.middleCols(first, count)); });
}

}  // namespace jcmspl
