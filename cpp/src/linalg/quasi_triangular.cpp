#include "linalg/quasi_triangular.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "linalg/blas.hpp"

namespace jcmspl {

template <class T>
bool is_quasi_triangular(const Matrix<T>& a) {
  const Index n = a.rows();
  for (Index j = 0; j + 2 < n; ++j)
    if ((a.col(j).tail(n - j - 2).array() != T(0)).any()) return false;
  for (Index j = 0; j + 1 < n; ++j) {
    if (a(j + 1, j) == T(0)) continue;
    const bool last_of_block = j > 0 && a(j, j - 1) != T(0);
    const bool standard = a(j, j) == a(j + 1, j + 1) && (a(j + 1, j) > 0) != (a(j, j + 1) > 0) && a(j, j + 1) != T(0);
    if (last_of_block || !standard) return false;
  }
  return true;
}

template <class T>
ComplexVector<T> quasi_triangular_eigenvalues(const Matrix<T>& a) {
  const Index n = a.rows();
  ComplexVector<T> values = a.diagonal().template cast<std::complex<T>>();
  for (Index j = 0; j + 1 < n; ++j) {
    if (a(j + 1, j) == T(0)) continue;
    const T imaginary = std::sqrt(std::abs(a(j + 1, j))) * std::sqrt(std::abs(a(j, j + 1)));
    values[j] = {a(j, j), imaginary};
    values[j + 1] = {a(j, j), -imaginary};
  }
  return values;
}

namespace {

// Where to halve: in the middle, or one row further where that would split a 2 x 2 block.
template <class T>
Index split(const ConstView<T>& a) {
  const Index middle = a.rows() / 2;
  return a(middle, middle - 1) == T(0) ? middle : middle + 1;
}

template <class M>
auto part(const M& a, Index row, Index col, Index rows, Index cols) {
  using T = typename M::Scalar;
  return ConstView<T>(a.data() + row + col * a.outerStride(), rows, cols, Eigen::OuterStride<>(a.outerStride()));
}

template <class T>
View<T> part(View<T>& a, Index row, Index col, Index rows, Index cols) {
  return {a.data() + row + col * a.outerStride(), rows, cols, Eigen::OuterStride<>(a.outerStride())};
}

template <class T>
Index block_size(const ConstView<T>& a, Index i) {
  return i + 1 < a.rows() && a(i + 1, i) != T(0) ? 2 : 1;
}

// At most four unknowns.
template <class T>
using FewEquations = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, 0, 4, 4>;
template <class T>
using FewUnknowns = Eigen::Matrix<T, Eigen::Dynamic, 1, 0, 4, 1>;

// Replaces the right-hand side by the solution, by elimination with the largest element that is left as the pivot.
// Unknowns that the system does not determine to rounding are zero.
template <class T>
void solve_few(FewEquations<T>& a, FewUnknowns<T>& b) {
  const Index n = b.size();
  Index order[4] = {0, 1, 2, 3}, rank = 0;
  T least = 0;
  for (; rank < n; ++rank) {
    Index row = rank, col = rank;
    for (Index j = rank; j < n; ++j)
      for (Index i = rank; i < n; ++i)
        if (std::abs(a(i, j)) > std::abs(a(row, col))) row = i, col = j;
    if (rank == 0) least = static_cast<T>(n) * std::numeric_limits<T>::epsilon() * std::abs(a(row, col));
    if (std::abs(a(row, col)) <= least) break;
    std::swap(b[rank], b[row]);
    std::swap(order[rank], order[col]);
    for (Index j = 0; j < n; ++j) std::swap(a(rank, j), a(row, j));
    for (Index i = 0; i < n; ++i) std::swap(a(i, rank), a(i, col));
    for (Index i = rank + 1; i < n; ++i) {
      const T factor = a(i, rank) / a(rank, rank);
      b[i] -= factor * b[rank];
      for (Index j = rank + 1; j < n; ++j) a(i, j) -= factor * a(rank, j);
    }
  }
  const FewUnknowns<T> rhs = b;
  for (Index i = n - 1; i >= 0; --i) {
    T value = 0;
    if (i < rank) {
      value = rhs[i];
      for (Index j = i + 1; j < rank; ++j) value -= a(i, j) * b[order[j]];
      value /= a(i, i);
    }
    b[order[i]] = value;
  }
}

// r z + z s = t for a diagonal block (1 x 1 or 2 x 2) of each side, as one system of up to four unknowns.
template <class T>
void solve_block(const ConstView<T>& r, Index i, Index height, const ConstView<T>& s, Index j, Index width,
                 View<T>& t) {
  if (height == 1 && width == 1) {
    t(i, j) /= r(i, i) + s(j, j);
    return;
  }
  FewEquations<T> system = FewEquations<T>::Zero(height * width, height * width);
  FewUnknowns<T> rhs(height * width);
  for (Index y = 0; y < width; ++y)
    for (Index x = 0; x < height; ++x) {
      rhs[x + y * height] = t(i + x, j + y);
      for (Index l = 0; l < height; ++l) system(x + y * height, l + y * height) += r(i + x, i + l);
      for (Index l = 0; l < width; ++l) system(x + y * height, x + l * height) += s(j + l, j + y);
    }
  solve_few(system, rhs);
  for (Index y = 0; y < width; ++y)
    for (Index x = 0; x < height; ++x) t(i + x, j + y) = rhs[x + y * height];
}

// Back substitution, block by block. LAPACK's trsyl does the same but replaces pivots that are small beside the largest
// element, which gives wrong solutions for graded triangular matrices (elements of very different sizes).
template <class T>
void solve_small(const ConstView<T>& r, const ConstView<T>& s, View<T> t) {
  for (Index j = 0; j < t.cols();) {
    const Index width = block_size(s, j);
    for (Index y = j; y < j + width; ++y)
      for (Index l = 0; l < j; ++l) t.col(y) -= s(l, y) * t.col(l);
    for (Index end = t.rows(); end > 0;) {
      const Index height = end > 1 && r(end - 1, end - 2) != T(0) ? 2 : 1, i = end - height;
      solve_block(r, i, height, s, j, width, t);
      for (Index y = j; y < j + width; ++y)
        for (Index x = i; x < end; ++x) t.col(y).head(i) -= t(x, y) * r.col(x).head(i);
      end = i;
    }
    j += width;
  }
}

}  // namespace

template <class T>
void solve_quasi_triangular(ConstView<T> r, ConstView<T> s, View<T> t) {
  constexpr Index small = 24;
  const Index k = t.rows(), m = t.cols();
  if (k == 0 || m == 0) return;
  if (k <= small && m <= small) return solve_small(r, s, t);
  if (k >= m) {
    const Index h = split(r);
    View<T> upper = part(t, 0, 0, h, m), lower = part(t, h, 0, k - h, m);
    solve_quasi_triangular(part(r, h, h, k - h, k - h), s, lower);
    gemm(Op::none, Op::none, -1, part(r, 0, h, h, k - h), lower, 1, upper);
    solve_quasi_triangular(part(r, 0, 0, h, h), s, upper);
  } else {
    const Index h = split(s);
    View<T> left = part(t, 0, 0, k, h), right = part(t, 0, h, k, m - h);
    solve_quasi_triangular(r, part(s, 0, 0, h, h), left);
    gemm(Op::none, Op::none, -1, left, part(s, 0, h, h, m - h), 1, right);
    solve_quasi_triangular(r, part(s, h, h, m - h, m - h), right);
  }
}

namespace {

// The two inner loops of the elimination below, over the first n rows. Complex numbers are multiplied by hand: the
// standard library's product checks for NaN, which prevents vectorisation.

template <class T>
void pivot_on_next(Index n, const T* __restrict next, T x, T factor, T* __restrict rhs, T* __restrict carry) {
  for (Index i = 0; i < n; ++i) {
    rhs[i] -= x * next[i];
    carry[i] -= factor * next[i];
  }
}

template <class T>
void pivot_on_next(Index n, const T* __restrict next, std::complex<T> x, std::complex<T> factor, std::complex<T>* rhs,
                   std::complex<T>* carry) {
  T* __restrict b = reinterpret_cast<T*>(rhs);
  T* __restrict c = reinterpret_cast<T*>(carry);
  const T xr = x.real(), xi = x.imag(), fr = factor.real(), fi = factor.imag();
  for (Index i = 0; i < n; ++i) {
    b[2 * i] -= xr * next[i];
    b[2 * i + 1] -= xi * next[i];
    c[2 * i] -= fr * next[i];
    c[2 * i + 1] -= fi * next[i];
  }
}

template <class T>
void pivot_on_carry(Index n, const T* __restrict next, T x, T factor, T* __restrict rhs, T* __restrict carry) {
  for (Index i = 0; i < n; ++i) {
    rhs[i] -= x * carry[i];
    carry[i] = next[i] - factor * carry[i];
  }
}

template <class T>
void pivot_on_carry(Index n, const T* __restrict next, std::complex<T> x, std::complex<T> factor, std::complex<T>* rhs,
                    std::complex<T>* carry) {
  T* __restrict b = reinterpret_cast<T*>(rhs);
  T* __restrict c = reinterpret_cast<T*>(carry);
  const T xr = x.real(), xi = x.imag(), fr = factor.real(), fi = factor.imag();
  for (Index i = 0; i < n; ++i) {
    const T cr = c[2 * i], ci = c[2 * i + 1];
    b[2 * i] -= xr * cr - xi * ci;
    b[2 * i + 1] -= xr * ci + xi * cr;
    c[2 * i] = next[i] - (fr * cr - fi * ci);
    c[2 * i + 1] = -(fr * ci + fi * cr);
  }
}

// Solves (h + shift I) x = rhs for an upper Hessenberg h by column operations from the last column to the first: of two
// neighbouring columns the one with the larger element in the row is the pivot, and is used for back substitution at
// once. h is read once, column by column, and no factor is stored. S is T or std::complex<T>.
template <class S, class T>
class ShiftedHessenberg {
public:
  explicit ShiftedHessenberg(const Matrix<T>& h)
      : h_(h),
        least_pivot_(std::max(std::numeric_limits<T>::min(), std::numeric_limits<T>::epsilon() * h.norm())),
        carry_(h.rows()),
        multiplier_(h.rows()),
        next_is_pivot_(h.rows()) {}

  void solve(S shift, Vector<S>& rhs) {
    const Index n = h_.rows();
    carry_ = h_.col(n - 1).template cast<S>();
    carry_[n - 1] += shift;
    for (Index j = n - 1; j > 0; --j) {
      // column j - 1 and the carried one have j + 1 elements each; after this step the carried one has j
      const T* next = h_.col(j - 1).data();
      const S diagonal = next[j - 1] + shift, carried_last = carry_[j - 1];
      next_is_pivot_[j] = std::abs(next[j]) > std::abs(carry_[j]);
      if (next_is_pivot_[j]) {
        const S pivot = safe(S(next[j])), x = rhs[j] / pivot, factor = carry_[j] / pivot;
        pivot_on_next(j, next, x, factor, rhs.data(), carry_.data());
        rhs[j - 1] -= x * shift;  // next holds the diagonal without the shift
        carry_[j - 1] = carried_last - factor * diagonal;
        rhs[j] = x;
        multiplier_[j] = factor;
      } else {
        const S pivot = safe(carry_[j]), x = rhs[j] / pivot, factor = S(next[j]) / pivot;
        pivot_on_carry(j, next, x, factor, rhs.data(), carry_.data());
        carry_[j - 1] = diagonal - factor * carried_last;
        rhs[j] = x;
        multiplier_[j] = factor;
      }
    }
    rhs[0] /= safe(carry_[0]);
    // Undo the column operations: rhs[j - 1] is the coefficient of the combination, rhs[j] that of the pivot column.
    for (Index j = 1; j < n; ++j) {
      const S combination = rhs[j - 1], pivot = rhs[j] - multiplier_[j] * combination;
      rhs[j - 1] = next_is_pivot_[j] ? pivot : combination;
      rhs[j] = next_is_pivot_[j] ? combination : pivot;
    }
  }

private:
  // A zero pivot means a singular system. As in trsyl it is replaced by a tiny one; the solution is then so large that
  // the caller sees it.
  S safe(S pivot) const { return std::abs(pivot) < least_pivot_ ? S(least_pivot_) : pivot; }

  const Matrix<T>& h_;
  const T least_pivot_;
  Vector<S> carry_, multiplier_;
  Vector<bool> next_is_pivot_;
};

}  // namespace

template <class T>
void solve_hessenberg(const Matrix<T>& r, const Matrix<T>& s, Matrix<T>& t, const Poll& poll) {
  constexpr Index width = 32;
  const Index k = t.rows(), m = t.cols();
  if (k == 0 || m == 0) return;
  ShiftedHessenberg<T, T> real(r);
  ShiftedHessenberg<std::complex<T>, T> complex(r);
  Vector<T> column(k);
  Vector<std::complex<T>> pair(k);
  for (Index first = 0; first < m;) {
    Index last = std::min(first + width, m);
    if (last < m && s(last, last - 1) != T(0)) ++last;
    for (Index j = first; j < last; ++j) {
      const bool is_pair = j + 1 < last && s(j + 1, j) != T(0);
      const Index columns = is_pair ? 2 : 1;
      // A few columns that are in cache: too little work for a call to BLAS.
      t.middleCols(j, columns).noalias() -=
          t.middleCols(first, j - first).lazyProduct(s.block(first, j, j - first, columns));
      if (!is_pair) {
        column = t.col(j);
        real.solve(s(j, j), column);
        t.col(j) = column;
        continue;
      }
      // The 2 x 2 block has the eigenvector (beta, i omega): one complex system for w = beta z_j + i omega z_j+1 gives
      // both columns.
      const T beta = s(j, j + 1), omega = std::sqrt(std::abs(beta)) * std::sqrt(std::abs(s(j + 1, j)));
      pair.real() = beta * t.col(j);
      pair.imag() = omega * t.col(j + 1);
      complex.solve({s(j, j), omega}, pair);
      t.col(j) = pair.real() / beta;
      t.col(j + 1) = pair.imag() / omega;
      ++j;
    }
    if (last < m)
      gemm(Op::none, Op::none, -1, t.middleCols(first, last - first), s.block(first, last, last - first, m - last), 1,
           t.rightCols(m - last));
    first = last;
    poll();
  }
}

#define JCMSPL_INSTANTIATE(T)                                                \
  template bool is_quasi_triangular(const Matrix<T>&);                       \
  template ComplexVector<T> quasi_triangular_eigenvalues(const Matrix<T>&);  \
  template void solve_quasi_triangular(ConstView<T>, ConstView<T>, View<T>); \
  template void solve_hessenberg(const Matrix<T>&, const Matrix<T>&, Matrix<T>&, const Poll&);
JCMSPL_INSTANTIATE(float)
JCMSPL_INSTANTIATE(double)
#undef JCMSPL_INSTANTIATE

}  // namespace jcmspl
