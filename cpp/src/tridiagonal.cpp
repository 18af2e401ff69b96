#include "jcmspl/tridiagonal.hpp"

#include <cmath>
#include <vector>

#include "jcmspl/kernels.hpp"

namespace jcmspl {

namespace {
constexpr Index panel = 64;  // at least LAPACK's block size, so that its blocked code runs
}

template <class T>
void Tridiagonal<T>::reduce(const Matrix<T>& lower) {
  int n = as_int(lower.rows()), info = 0;
  reflectors_ = lower;
  diagonal_.resize(n);
  off_diagonal_.resize(std::max(0, n - 1));
  tau_.resize(std::max(1, n - 1));
  if (n == 0) return;
  char uplo = 'L';
  int lda = blas_ld(reflectors_), lwork = as_int(panel * n);
  if (work_.size() < lwork) work_.resize(lwork);
  kernels<T>().sytrd(&uplo, &n, reflectors_.data(), &lda, diagonal_.data(), off_diagonal_.data(), tau_.data(),
                     work_.data(), &lwork, &info);
  check_info("sytrd", info);
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
void Tridiagonal<T>::apply(Side side, bool transpose, View<T> c) {
  int rows = as_int(c.rows()), cols = as_int(c.cols()), info = 0;
  if (rows == 0 || cols == 0 || diagonal_.size() < 2) return;
  char uplo = 'L', trans = transpose ? 'T' : 'N';
  int lda = blas_ld(reflectors_), ldc = blas_ld(c);
  // ormtr wants, beside a panel for the other dimension, room for one triangular factor of a block of reflectors.
  int lwork = as_int(panel * (side == Side::left ? cols : rows) + 65 * panel);
  if (work_.size() < lwork) work_.resize(lwork);
  kernels<T>().ormtr(reinterpret_cast<char*>(&side), &uplo, &trans, &rows, &cols, reflectors_.data(), &lda,
                     tau_.data(), c.data(), &ldc, work_.data(), &lwork, &info);
  check_info("ormtr", info);
}

template <class T>
void Tridiagonal<T>::eigen(Vector<T>& values, Matrix<T>& vectors) const {
  int n = as_int(diagonal_.size()), info = 0;
  values = diagonal_;
  vectors.resize(n, n);
  if (n == 0) return;
  Vector<T> off = off_diagonal_;
  char compz = 'I';
  int ldz = n, lwork = -1, liwork = -1, iwork_size = 0;
  T work_size = 0;
  kernels<T>().stedc(&compz, &n, values.data(), off.data(), vectors.data(), &ldz, &work_size, &lwork, &iwork_size,
                     &liwork, &info);
  check_info("stedc", info);
  // The query answers in the scalar type: round up what a float may have rounded down.
  lwork = static_cast<int>(static_cast<double>(work_size) * (1 + 1e-6)) + 1;
  liwork = iwork_size;
  Vector<T> work(lwork);
  std::vector<int> iwork(static_cast<std::size_t>(liwork));
  kernels<T>().stedc(&compz, &n, values.data(), off.data(), vectors.data(), &ldz, work.data(), &lwork, iwork.data(),
                     &liwork, &info);
  check_info("stedc", info);
}

template class Tridiagonal<float>;
template class Tridiagonal<double>;

}  // namespace jcmspl
