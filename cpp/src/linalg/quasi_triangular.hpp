// Equations  r z + z s = t  in reduced form: quasi-triangular means upper triangular except for 2 x 2 blocks on the
// diagonal, each with equal diagonal elements and off-diagonal elements of opposite sign (LAPACK's real Schur form).
#pragma once

#include <complex>

#include "jcmspl/support/types.hpp"

namespace jcmspl {

template <class T>
using ComplexVector = Vector<std::complex<T>>;

template <class T>
bool is_quasi_triangular(const Matrix<T>& a);

// The eigenvalues of a quasi-triangular matrix: those of its diagonal blocks.
template <class T>
ComplexVector<T> quasi_triangular_eigenvalues(const Matrix<T>& a);

// r and s quasi-triangular: recursive halving, so that nearly all the work is in matrix products. z overwrites t.
template <class T>
void solve_quasi_triangular(ConstView<T> r, ConstView<T> s, View<T> t);

// r upper Hessenberg, s quasi-triangular: one shifted Hessenberg system for each column. z overwrites t.
template <class T>
void solve_hessenberg(const Matrix<T>& r, const Matrix<T>& s, Matrix<T>& t, const Poll& poll);

}  // namespace jcmspl
