// Products that several threads share: the result is cut into panels, each a call of BLAS in one thread. Threads of
// BLAS would wait for each other in loops, which on a busy machine takes far longer than the product. Panels depend on
// the shapes alone, so that results do not depend on the number of threads.
#pragma once

#include <functional>

#include "jcmspl/support/team.hpp"
#include "linalg/blas.hpp"

namespace jcmspl {

// The multiplications, here a third of a millisecond, below which a product has one panel: starting a thread takes a
// tenth of that.
constexpr double least_shared_work = 8e6;

// Calls panel(first, width) for parts of 0..count - 1. A panel is not narrower than `least`, a size at which BLAS runs
// at nearly full speed. Panels are even in number, as cores are.
void for_panels(Index count, Index least, double multiplications, const Team& team,
                const std::function<void(Index, Index)>& panel);

// The products below for views alone, so that each is compiled once.
template <class T>
void gemm_in_panels(const Team& team, Op op_a, Op op_b, double alpha, ConstView<T> a, ConstView<T> b, double beta,
                    View<T> c);
template <class T>
void syrk_in_panels(const Team& team, Op op, double alpha, ConstView<T> a, double beta, View<T> c);
template <class T>
void trmm_in_panels(const Team& team, Side side, Op op, double alpha, ConstView<T> a, View<T> b);

template <class A>
ConstView<ScalarOf<A>> view_of_argument(const A& a) {
  return {a.data(), a.rows(), a.cols(), Eigen::OuterStride<>(a.outerStride())};
}

template <class C>
View<ScalarOf<C>> view_of_result(C& c) {
  return {c.data(), c.rows(), c.cols(), Eigen::OuterStride<>(c.outerStride())};
}

// c = alpha op(a) op(b) + beta c
template <class A, class B, class C, class = IfWritable<C>>
void gemm(const Team& team, Op op_a, Op op_b, double alpha, const A& a, const B& b, double beta, C&& c) {
  gemm_in_panels(team, op_a, op_b, alpha, view_of_argument(a), view_of_argument(b), beta, view_of_result(c));
}

// The lower triangle of c = alpha a a' + beta c, or of alpha a' a + beta c when op is transpose.
template <class A, class C, class = IfWritable<C>>
void syrk(const Team& team, Op op, double alpha, const A& a, double beta, C&& c) {
  syrk_in_panels(team, op, alpha, view_of_argument(a), beta, view_of_result(c));
}

// b = alpha op(a) b, or alpha b op(a) from the right, with a lower triangular.
template <class A, class B, class = IfWritable<B>>
void trmm(const Team& team, Side side, Op op, double alpha, const A& a, B&& b) {
  trmm_in_panels(team, side, op, alpha, view_of_argument(a), view_of_result(b));
}

}  // namespace jcmspl
