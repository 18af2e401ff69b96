// Typed calls into the table of kernels. Any Eigen expression with data(), outerStride() and unit inner stride can be
// an argument. Shapes are checked where Eigen's assertions are on.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "jcmspl/linalg/kernels.hpp"
#include "jcmspl/support/types.hpp"

namespace jcmspl {

inline void check_info(const char* routine, int info) {
  if (info != 0) throw LapackError(routine, info);
}

inline int as_int(Index n) {
  if (n > 2147483647) throw std::length_error("a dimension over 2147483647 is beyond this BLAS");
  return static_cast<int>(n);
}

template <class M>
int leading_dimension(const M& a) {
  return as_int(std::max<Index>(1, std::max<Index>(a.outerStride(), a.rows())));
}

template <class M>
using ScalarOf = std::remove_const_t<typename std::decay_t<M>::Scalar>;

// The memory of an argument that the routine only reads: the signatures of BLAS have no const.
template <class M>
ScalarOf<M>* read_only(const M& a) {
  return const_cast<ScalarOf<M>*>(a.data());
}

// Exists if M is a result that may be written to: neither const nor a view of const memory.
template <class M>
using IfWritable = std::enable_if_t<std::is_same_v<decltype(std::declval<M&>().data()), ScalarOf<M>*>>;

template <class A>
Index rows_of(Op op, const A& a) {
  return op == Op::none ? a.rows() : a.cols();
}

template <class A>
Index cols_of(Op op, const A& a) {
  return op == Op::none ? a.cols() : a.rows();
}

// c = alpha op(a) op(b) + beta c
template <class A, class B, class C, class = IfWritable<C>>
void gemm(Op op_a, Op op_b, double alpha, const A& a, const B& b, double beta, C&& c) {
  using T = ScalarOf<C>;
  eigen_assert(rows_of(op_a, a) == c.rows() && cols_of(op_b, b) == c.cols() && cols_of(op_a, a) == rows_of(op_b, b) &&
               "gemm: the shapes of a, b and c do not match");
  int rows = as_int(c.rows()), cols = as_int(c.cols()), inner = as_int(cols_of(op_a, a));
  if (rows == 0 || cols == 0) return;
  if (inner == 0) {
    if (beta == 0)
      c.setZero();
    else
      c *= T(beta);
    return;
  }
  int lda = leading_dimension(a), ldb = leading_dimension(b), ldc = leading_dimension(c);
  T al = T(alpha), be = T(beta);
  kernels<T>().gemm(reinterpret_cast<char*>(&op_a), reinterpret_cast<char*>(&op_b), &rows, &cols, &inner, &al,
                    read_only(a), &lda, read_only(b), &ldb, &be, c.data(), &ldc);
}

// The lower triangle of c = alpha a a' + beta c, or of alpha a' a + beta c when op is transpose.
template <class A, class C, class = IfWritable<C>>
void syrk(Op op, double alpha, const A& a, double beta, C&& c) {
  using T = ScalarOf<C>;
  eigen_assert(rows_of(op, a) == c.rows() && c.rows() == c.cols() && "syrk: the shapes of a and c do not match");
  char lower = 'L';
  int order = as_int(c.rows()), inner = as_int(cols_of(op, a));
  if (order == 0) return;
  int lda = leading_dimension(a), ldc = leading_dimension(c);
  T al = T(alpha), be = T(beta);
  kernels<T>().syrk(&lower, reinterpret_cast<char*>(&op), &order, &inner, &al, read_only(a), &lda, &be, c.data(), &ldc);
}

// b = alpha op(a) b, or alpha b op(a) from the right, with a lower triangular.
template <class A, class B, class = IfWritable<B>>
void trmm(Side side, Op op, double alpha, const A& a, B&& b) {
  using T = ScalarOf<B>;
  eigen_assert(a.rows() == a.cols() && a.rows() == (side == Side::left ? b.rows() : b.cols()) &&
               "trmm: the shapes of a and b do not match");
  char lower = 'L', not_unit = 'N';
  int rows = as_int(b.rows()), cols = as_int(b.cols());
  if (rows == 0 || cols == 0) return;
  int lda = leading_dimension(a), ldb = leading_dimension(b);
  T al = T(alpha);
  kernels<T>().trmm(reinterpret_cast<char*>(&side), &lower, reinterpret_cast<char*>(&op), &not_unit, &rows, &cols, &al,
                    read_only(a), &lda, b.data(), &ldb);
}

}  // namespace jcmspl
