// One coefficient of a Sylvester equation: its structure, and the orthogonal reduction to the form in which the
// equation is solved.
#pragma once

#include <algorithm>
#include <utility>

#include "jcmspl/linalg/tridiagonal.hpp"
#include "linalg/blas.hpp"
#include "linalg/quasi_triangular.hpp"

namespace jcmspl {

enum class Shape { diagonal, symmetric, upper, lower, general };

template <class T>
Shape shape_of(const Matrix<T>& a) {
  if (a.isDiagonal(T(0))) return Shape::diagonal;
  if (a == a.transpose()) return Shape::symmetric;
  if (is_quasi_triangular(a)) return Shape::upper;
  if (is_quasi_triangular<T>(a.transpose())) return Shape::lower;
  return Shape::general;
}

// a = V matrix V' with V orthogonal and the matrix diagonal, quasi-triangular or Hessenberg.
template <class T>
class Reduced {
public:
  enum class Form { diagonal, quasi_triangular, hessenberg };

  Form form = Form::diagonal;
  Matrix<T> matrix;
  bool exact = true;  // not reduced: the elements are those of the input, at most with rows and columns reversed

  // For the side that must be quasi-triangular or diagonal.
  static Reduced to_schur(const Matrix<T>& a, Shape shape, const Poll& poll) {
    Reduced out(a, shape, poll);
    if (shape == Shape::general) out.schur(poll);
    return out;
  }

  // For the side that may also be Hessenberg.
  static Reduced to_hessenberg(const Matrix<T>& a, Shape shape, const Poll& poll) {
    Reduced out(a, shape, poll);
    if (shape == Shape::general) out.hessenberg();
    return out;
  }

  // V' q, V x, q V, x V'
  void enter_left(Matrix<T>& q) { apply(Side::left, true, q); }
  void leave_left(Matrix<T>& x) { apply(Side::left, false, x); }
  void enter_right(Matrix<T>& q) { apply(Side::right, false, q); }
  void leave_right(Matrix<T>& x) { apply(Side::right, true, x); }

  // The real Schur form. It is orthogonally similar to a, so that the operator x -> a x + x b has the same singular
  // values with it.
  Matrix<T> schur_form() const {
    if (form != Form::hessenberg) return matrix;
    Matrix<T> t = matrix, none(1, 1);
    qr_iteration(t, none, 'N');
    return t;
  }

private:
  enum class Basis { identity, reversal, dense, reflectors, tridiagonal };

  Reduced(const Matrix<T>& a, Shape shape, const Poll& poll) {
    if (shape == Shape::symmetric) {
      diagonalise(a, poll);
    } else if (shape == Shape::lower) {  // with rows and columns in reverse order it is upper
      form = Form::quasi_triangular;
      basis_ = Basis::reversal;
      matrix = a.reverse();
    } else {
      if (shape == Shape::upper) form = Form::quasi_triangular;
      matrix = a;
    }
  }

  void diagonalise(const Matrix<T>& a, const Poll& poll) {
    tridiagonal_.reduce(a);
    poll();
    auto [values, vectors] = tridiagonal_.eigen();
    matrix = values.asDiagonal();
    vectors_ = std::move(vectors);
    basis_ = Basis::tridiagonal;
    exact = false;
  }

  void hessenberg() {
    int n = as_int(matrix.rows()), one = 1, info = 0, lwork = 64 * n + 65 * 64;
    tau_.resize(std::max(1, n - 1));
    Vector<T> work(lwork);
    vectors_ = matrix;
    kernels<T>().gehrd(&n, &one, &n, vectors_.data(), &n, tau_.data(), work.data(), &lwork, &info);
    check_info("gehrd", info);
    matrix = vectors_;
    for (Index j = 0; j + 2 < n; ++j) matrix.col(j).tail(n - j - 2).setZero();
    form = Form::hessenberg;
    basis_ = Basis::reflectors;
    exact = false;
  }

  void schur(const Poll& poll) {
    hessenberg();
    poll();
    int n = as_int(matrix.rows()), one = 1, info = 0, lwork = 64 * n;
    Vector<T> work(lwork);
    kernels<T>().orghr(&n, &one, &n, vectors_.data(), &n, tau_.data(), work.data(), &lwork, &info);
    check_info("orghr", info);
    poll();
    qr_iteration(matrix, vectors_, 'V');
    form = Form::quasi_triangular;
    basis_ = Basis::dense;
  }

  static void qr_iteration(Matrix<T>& h, Matrix<T>& z, char compz) {
    char job = 'S';
    int n = as_int(h.rows()), one = 1, info = 0, ldz = leading_dimension(z), lwork = std::max(1, 64 * n);
    Vector<T> re(n), im(n), work(lwork);
    kernels<T>().hseqr(&job, &compz, &n, &one, &n, h.data(), &n, re.data(), im.data(), z.data(), &ldz, work.data(),
                       &lwork, &info);
    check_info("hseqr", info);
  }

  void apply(Side side, bool transpose, Matrix<T>& c) {
    switch (basis_) {
      case Basis::identity:
        return;
      case Basis::reversal:
        if (side == Side::left)
          c = c.colwise().reverse().eval();
        else
          c = c.rowwise().reverse().eval();
        return;
      case Basis::dense:
        return multiply(side, transpose, c);
      case Basis::tridiagonal:  // V = Q W
        if (transpose == (side == Side::left)) {
          tridiagonal_.apply(side, transpose, c);
          return multiply(side, transpose, c);
        }
        multiply(side, transpose, c);
        return tridiagonal_.apply(side, transpose, c);
      case Basis::reflectors:
        return reflect(side, transpose, c);
    }
  }

  void multiply(Side side, bool transpose, Matrix<T>& c) {
    const Op op = transpose ? Op::transpose : Op::none;
    Matrix<T> out(c.rows(), c.cols());
    if (side == Side::left)
      gemm(op, Op::none, 1, vectors_, c, 0, out);
    else
      gemm(Op::none, op, 1, c, vectors_, 0, out);
    c.swap(out);
  }

  void reflect(Side side, bool transpose, Matrix<T>& c) {
    char trans = transpose ? 'T' : 'N';
    int rows = as_int(c.rows()), cols = as_int(c.cols()), n = as_int(matrix.rows()), one = 1, info = 0;
    int lwork = 64 * std::max(rows, cols) + 65 * 64;
    Vector<T> work(lwork);
    kernels<T>().ormhr(reinterpret_cast<char*>(&side), &trans, &rows, &cols, &one, &n, vectors_.data(), &n, tau_.data(),
                       c.data(), &rows, work.data(), &lwork, &info);
    check_info("ormhr", info);
  }

  Basis basis_ = Basis::identity;
  Matrix<T> vectors_;
  Vector<T> tau_;
  Tridiagonal<T> tridiagonal_;
};

}  // namespace jcmspl
