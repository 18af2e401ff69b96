// The table of BLAS and LAPACK functions that the core computes with, and typed calls into it.
//
// The core is linked to no BLAS: the program that embeds it fills the table once (the Python bindings use SciPy's
// functions), so that products and decompositions run on a library that selects its code for the CPU at run time.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "jcmspl/support/types.hpp"

namespace jcmspl {

// name and C signature of each routine, for scalar type T; the name gets LAPACK's prefix (s or d)
// when it is bound.
#define JCMSPL_BLAS_ROUTINES(X)                                                   \
  X(gemm, (char*, char*, int*, int*, int*, T*, T*, int*, T*, int*, T*, T*, int*)) \
  X(syrk, (char*, char*, int*, int*, T*, T*, int*, T*, T*, int*))                 \
  X(trmm, (char*, char*, char*, char*, int*, int*, T*, T*, int*, T*, int*))

#define JCMSPL_LAPACK_ROUTINES(X)                                                          \
  X(potrf, (char*, int*, T*, int*, int*))                                                  \
  X(sytrd, (char*, int*, T*, int*, T*, T*, T*, T*, int*, int*))                            \
  X(stedc, (char*, int*, T*, T*, T*, int*, T*, int*, int*, int*, int*))                    \
  X(gehrd, (int*, int*, int*, T*, int*, T*, T*, int*, int*))                               \
  X(orghr, (int*, int*, int*, T*, int*, T*, T*, int*, int*))                               \
  X(ormhr, (char*, char*, int*, int*, int*, int*, T*, int*, T*, T*, int*, T*, int*, int*)) \
  X(hseqr, (char*, char*, int*, int*, int*, T*, int*, T*, T*, T*, int*, T*, int*, int*))

template <class T>
struct Kernels {
#define JCMSPL_FIELD(name, signature) void(*name) signature = nullptr;
  JCMSPL_BLAS_ROUTINES(JCMSPL_FIELD)
  JCMSPL_LAPACK_ROUTINES(JCMSPL_FIELD)
#undef JCMSPL_FIELD
};

// The process-wide table. It must be filled before anything else of the core is called.
template <class T>
Kernels<T>& kernels();

// A decomposition that did not converge, or was called with an invalid argument.
struct LapackError : std::runtime_error {
  LapackError(const char* routine, int info)
      : std::runtime_error(std::string("LAPACK's ") + routine + " failed with info = " + std::to_string(info)) {}
};

inline void check_info(const char* routine, int info) {
  if (info != 0) throw LapackError(routine, info);
}

inline int as_int(Index n) {
  if (n > 2147483647) throw std::length_error("a dimension over 2147483647 is beyond this BLAS");
  return static_cast<int>(n);
}

enum class Op : char { none = 'N', transpose = 'T' };
enum class Side : char { left = 'L', right = 'R' };

// Anything with data() and outerStride() and unit inner stride can be an argument below.
template <class M>
using ScalarOf = std::remove_const_t<typename M::Scalar>;

template <class M>
ScalarOf<M>* blas_data(const M& a) {
  return const_cast<ScalarOf<M>*>(a.data());
}

template <class M>
int blas_ld(const M& a) {
  return as_int(std::max<Index>(1, std::max<Index>(a.outerStride(), a.rows())));
}

// c = alpha op(a) op(b) + beta c
template <class A, class B, class C>
void gemm(Op op_a, Op op_b, double alpha, const A& a, const B& b, double beta, C&& c) {
  using T = ScalarOf<std::decay_t<C>>;
  int rows = as_int(c.rows()), cols = as_int(c.cols());
  int inner = as_int(op_a == Op::none ? a.cols() : a.rows());
  if (rows == 0 || cols == 0) return;
  if (inner == 0) {
    if (beta == 0)
      c.setZero();
    else
      c *= T(beta);
    return;
  }
  int lda = blas_ld(a), ldb = blas_ld(b), ldc = blas_ld(c);
  T al = T(alpha), be = T(beta);
  kernels<T>().gemm(reinterpret_cast<char*>(&op_a), reinterpret_cast<char*>(&op_b), &rows, &cols, &inner, &al,
                    blas_data(a), &lda, blas_data(b), &ldb, &be, blas_data(c), &ldc);
}

// The lower triangle of c = alpha a a' + beta c, or of alpha a' a + beta c when op is transpose.
template <class A, class C>
void syrk(Op op, double alpha, const A& a, double beta, C&& c) {
  using T = ScalarOf<std::decay_t<C>>;
  char lower = 'L';
  int order = as_int(c.rows());
  int inner = as_int(op == Op::none ? a.cols() : a.rows());
  if (order == 0) return;
  int lda = blas_ld(a), ldc = blas_ld(c);
  T al = T(alpha), be = T(beta);
  kernels<T>().syrk(&lower, reinterpret_cast<char*>(&op), &order, &inner, &al, blas_data(a), &lda, &be, blas_data(c),
                    &ldc);
}

// b = alpha op(a) b, or alpha b op(a) from the right, with a lower triangular.
template <class A, class B>
void trmm(Side side, Op op, double alpha, const A& a, B&& b) {
  using T = ScalarOf<std::decay_t<B>>;
  char lower = 'L', not_unit = 'N';
  int rows = as_int(b.rows()), cols = as_int(b.cols());
  if (rows == 0 || cols == 0) return;
  int lda = blas_ld(a), ldb = blas_ld(b);
  T al = T(alpha);
  kernels<T>().trmm(reinterpret_cast<char*>(&side), &lower, reinterpret_cast<char*>(&op), &not_unit, &rows, &cols, &al,
                    blas_data(a), &lda, blas_data(b), &ldb);
}

// Calls with(i, j) for every element below the diagonal of an n x n matrix, tile by tile, so that
// an element and its mirror image are in cache together.
template <class Function>
void for_each_below_diagonal(Index n, Function with) {
  constexpr Index tile = 32;
  for (Index j0 = 0; j0 < n; j0 += tile)
    for (Index i0 = j0; i0 < n; i0 += tile)
      for (Index j = j0; j < std::min(j0 + tile, n); ++j)
        for (Index i = std::max(i0, j + 1); i < std::min(i0 + tile, n); ++i) with(i, j);
}

// Copies the lower triangle onto the upper one.
template <class C>
void mirror_lower(C&& c) {
  auto* data = blas_data(c);
  const Index ld = c.outerStride();
  for_each_below_diagonal(c.rows(), [=](Index i, Index j) { data[j + i * ld] = data[i + j * ld]; });
}

}  // namespace jcmspl
