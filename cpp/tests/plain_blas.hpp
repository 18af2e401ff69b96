// The products of the table of kernels in plain C++. Unlike those of a library they are instrumented, so that the
// sanitizers see the memory they read and write.
#pragma once

#include <Eigen/Dense>

#include "jcmspl/linalg/kernels.hpp"
#include "jcmspl/support/types.hpp"

namespace jcmspl::testing {

template <class T>
View<T> blas_matrix(T* data, int rows, int cols, const int* ld) {
  return {data, rows, cols, Eigen::OuterStride<>(*ld)};
}

template <class T>
Matrix<T> operand(const char* op, T* data, int rows, int cols, const int* ld) {
  if (*op == 'N') return blas_matrix(data, rows, cols, ld);
  return blas_matrix(data, cols, rows, ld).transpose();
}

template <class T>
void plain_gemm(char* op_a, char* op_b, int* m, int* n, int* k, T* alpha, T* a, int* lda, T* b, int* ldb, T* beta, T* c,
                int* ldc) {
  auto out = blas_matrix(c, *m, *n, ldc);
  if (*beta == 0) out.setZero();  // also where it was NaN
  out = *alpha * operand(op_a, a, *m, *k, lda) * operand(op_b, b, *k, *n, ldb) + *beta * out;
}

template <class T>
void plain_syrk(char*, char* op, int* n, int* k, T* alpha, T* a, int* lda, T* beta, T* c, int* ldc) {
  const Matrix<T> x = operand(op, a, *n, *k, lda);
  auto out = blas_matrix(c, *n, *n, ldc);
  if (*beta == 0) out.template triangularView<Eigen::Lower>().setZero();
  out.template triangularView<Eigen::Lower>() = *alpha * (x * x.transpose()) + *beta * out;
}

template <class T>
void plain_trmm(char* side, char*, char* op, char*, int* m, int* n, T* alpha, T* a, int* lda, T* b, int* ldb) {
  const int order = *side == 'L' ? *m : *n;
  Matrix<T> x = blas_matrix(a, order, order, lda).template triangularView<Eigen::Lower>();
  if (*op == 'T') x.transposeInPlace();
  auto out = blas_matrix(b, *m, *n, ldb);
  out = *side == 'L' ? Matrix<T>(*alpha * x * out) : Matrix<T>(*alpha * out * x);
}

template <class T>
void bind_plain_blas() {
  kernels<T>().gemm = plain_gemm<T>;
  kernels<T>().syrk = plain_syrk<T>;
  kernels<T>().trmm = plain_trmm<T>;
}

}  // namespace jcmspl::testing
