#include "jcmspl/linalg/tridiagonal.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "linalg/products.hpp"

namespace jcmspl {

namespace {

// invert_upper for a few rows: too little work for calls to BLAS. From the last column to the first, since each needs
// those before it.
template <class T>
void invert_few_columns(View<T> a) {
  for (Index j = a.cols() - 1; j >= 0; --j) {
    a(j, j) = 1 / a(j, j);
    a.col(j).head(j) *= -a(j, j);
    for (Index i = j - 1; i >= 0; --i) {
      a(i, j) /= a(i, i);
      a.col(j).head(i) -= a(i, j) * a.col(i).head(i);
    }
  }
}

// Replaces an upper triangular matrix by its inverse. Recursive halving leaves nearly all the work to matrix
// products: [p q; . r]^-1 = [p^-1  -p^-1 q r^-1; . r^-1].
template <class T>
void invert_upper(View<T> a) {
  const Index n = a.rows(), h = n / 2;
  if (n <= 12) return invert_few_columns(a);
  const auto part = [&](Index row, Index col, Index rows, Index cols) {
    return View<T>(a.data() + row + col * a.outerStride(), rows, cols, Eigen::OuterStride<>(a.outerStride()));
  };
  View<T> upper = part(0, 0, h, h), off = part(0, h, h, n - h), lower = part(h, h, n - h, n - h);
  invert_upper<T>(upper);
  invert_upper<T>(lower);
  Matrix<T> half(h, n - h);
  gemm(Op::none, Op::none, -1, upper, off, 0, half);
  gemm(Op::none, Op::none, 1, half, lower, 0, off);
}

}  // namespace

template <class T>
void Tridiagonal<T>::reduce(Matrix<T>&& S_lower) {
  vectors_ = std::move(S_lower);
  reduce_vectors();
}

template <class T>
void Tridiagonal<T>::reduce(const Matrix<T>& S_lower) {
  vectors_ = S_lower;
  reduce_vectors();
}

template <class T>
void Tridiagonal<T>::reduce_vectors() {
  int n = as_int(vectors_.rows()), info = 0;
  diagonal_.resize(n);
  off_diagonal_.resize(std::max(0, n - 1));
  blocks_.clear();
  if (n == 0) return;
  Vector<T> tau(std::max(1, n - 1));
  char uplo = 'L';
  // A workspace of this size makes LAPACK use blocks of 16: with its default of 32 the unblocked panels take longer
  // than the larger blocks save.
  int lwork = 16 * n;
  if (work_.size() < lwork) work_.resize(lwork);
  kernels<T>().sytrd(&uplo, &n, vectors_.data(), &n, diagonal_.data(), off_diagonal_.data(), tau.data(), work_.data(),
                     &lwork, &info);
  check_info("sytrd", info);
  build_blocks(tau);
}

// The product of the reflectors I - tau_i v_i v_i' is I - V F V' with F^-1 = strict upper part of V'V + diag(1/tau).
template <class T>
void Tridiagonal<T>::build_blocks(const Vector<T>& tau) {
  const Index n = vectors_.rows(), width = n < 256 ? 48 : 96;
  for (Index first = 0; first < n - 1; first += width) {
    const Index count = std::min(width, n - 1 - first);
    for (Index j = first; j < first + count; ++j) {
      vectors_.col(j).segment(first, j + 1 - first).setZero();
      vectors_(j + 1, j) = 1;
      if (tau[j] == T(0)) vectors_.col(j).setZero();  // H = I: with v = 0 any tau gives it
    }
    const auto V = reflectors(first, count);
    Matrix<T> factor(count, count);
    gemm(Op::transpose, Op::none, 1, V, V, 0, factor);
    factor.template triangularView<Eigen::StrictlyLower>().setZero();
    for (Index j = 0; j < count; ++j) factor(j, j) = tau[first + j] == T(0) ? T(1) : 1 / tau[first + j];
    invert_upper<T>(view(factor));
    blocks_.push_back({first, std::move(factor)});
  }
}

template <class T>
T Tridiagonal<T>::norm_bound() const {
  T bound = 0;
  const Index n = diagonal_.size();
  for (Index i = 0; i < n; ++i) {
    T row = std::abs(diagonal_[i]);
    if (i > 0) row += std::abs(off_diagonal_[i - 1]);
    if (i + 1 < n) row += std::abs(off_diagonal_[i]);
    bound = std::max(bound, row);
  }
  return bound;
}

template <class T>
void Tridiagonal<T>::apply(Side side, bool transpose, Matrix<T>& c, const Team& team) const {
  const Index n = vectors_.rows();
  const double work = static_cast<double>(c.size()) * static_cast<double>(n);
  const Eigen::OuterStride<> stride(c.rows());
  if (side == Side::left)
    for_panels(c.cols(), 64, work, team, [&](Index first, Index count) {
      apply_left(transpose, View<T>(c.data() + first * c.rows(), c.rows(), count, stride));
    });
  else
    for_panels(c.rows(), 64, work, team, [&](Index first, Index count) {
      apply_right(transpose, View<T>(c.data() + first, count, c.cols(), stride));
    });
}

// Q = B1 B2 ...: Q' c applies the blocks in this order, Q c in reverse.
template <class T>
void Tridiagonal<T>::apply_left(bool transpose, View<T> c) const {
  if (c.size() == 0) return;
  const Index count = static_cast<Index>(blocks_.size());
  Matrix<T> projected, scaled;
  for (Index step = 0; step < count; ++step) {
    const Block& block = blocks_[static_cast<std::size_t>(transpose ? step : count - 1 - step)];
    const Index width = block.factor.rows();
    const auto V = reflectors(block.first, width);
    auto part = c.bottomRows(V.rows());
    projected.resize(width, c.cols());
    scaled.resize(width, c.cols());
    gemm(Op::transpose, Op::none, 1, V, part, 0, projected);
    gemm(transpose ? Op::transpose : Op::none, Op::none, 1, block.factor, projected, 0, scaled);
    gemm(Op::none, Op::none, -1, V, scaled, 1, part);
  }
}

// c Q applies them in order, c Q' in reverse.
template <class T>
void Tridiagonal<T>::apply_right(bool transpose, View<T> c) const {
  if (c.size() == 0) return;
  const Index count = static_cast<Index>(blocks_.size());
  Matrix<T> projected, scaled;
  for (Index step = 0; step < count; ++step) {
    const Block& block = blocks_[static_cast<std::size_t>(transpose ? count - 1 - step : step)];
    const Index width = block.factor.rows();
    const auto V = reflectors(block.first, width);
    auto part = c.rightCols(V.rows());
    projected.resize(c.rows(), width);
    scaled.resize(c.rows(), width);
    gemm(Op::none, Op::none, 1, part, V, 0, projected);
    gemm(Op::none, transpose ? Op::transpose : Op::none, 1, projected, block.factor, 0, scaled);
    gemm(Op::none, Op::transpose, -1, scaled, V, 1, part);
  }
}

template <class T>
Matrix<T> Tridiagonal<T>::form_q(const Team& team) const {
  const Index n = vectors_.rows();
  Matrix<T> q = Matrix<T>::Identity(n, n);
  Matrix<T> projected, scaled;
  // From the last block to the first: each changes only the rows and columns from its own first on, and of these the
  // first `width` are still those of the identity.
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    const Index width = block->factor.rows();
    const auto V = reflectors(block->first, width);
    const Index rest = V.rows() - width;
    projected.resize(width, V.rows());
    scaled.resize(width, V.rows());
    projected.leftCols(width) = V.topRows(width).transpose();
    gemm(team, Op::transpose, Op::none, 1, V.bottomRows(rest), q.bottomRightCorner(rest, rest), 0,
         projected.rightCols(rest));
    gemm(Op::none, Op::none, 1, block->factor, projected, 0, scaled);
    gemm(team, Op::none, Op::none, -1, V, scaled, 1, q.bottomRightCorner(V.rows(), V.rows()));
  }
  return q;
}

template <class T>
typename Tridiagonal<T>::Decomposition Tridiagonal<T>::eigen() const {
  int n = as_int(diagonal_.size()), info = 0;
  Decomposition out{diagonal_, Matrix<T>(n, n)};
  if (n == 0) return out;
  Vector<T> off = off_diagonal_;
  char compz = 'I';
  int ldz = n, lwork = -1, liwork = -1, iwork_size = 0;
  T work_size = 0;
  kernels<T>().stedc(&compz, &n, out.values.data(), off.data(), out.vectors.data(), &ldz, &work_size, &lwork,
                     &iwork_size, &liwork, &info);
  check_info("stedc", info);
  // LAPACK returns the size as a floating-point number, which in float may have been rounded down.
  lwork = static_cast<int>(static_cast<double>(work_size) * (1 + 1e-6)) + 1;
  liwork = iwork_size;
  Vector<T> work(lwork);
  std::vector<int> iwork(static_cast<std::size_t>(liwork));
  kernels<T>().stedc(&compz, &n, out.values.data(), off.data(), out.vectors.data(), &ldz, work.data(), &lwork,
                     iwork.data(), &liwork, &info);
  check_info("stedc", info);
  return out;
}

template class Tridiagonal<float>;
template class Tridiagonal<double>;

}  // namespace jcmspl
