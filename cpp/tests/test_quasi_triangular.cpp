#include <algorithm>
#include <complex>
#include <functional>
#include <random>
#include <vector>

#include "linalg/quasi_triangular.hpp"
#include "plain_blas.hpp"
#include "testing.hpp"

namespace jcmspl {

namespace {

const Poll no_poll = [] {};

template <class T>
Matrix<T> random_matrix(Index rows, Index cols, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  return Matrix<T>::NullaryExpr(rows, cols, [&] { return static_cast<T>(normal(generator)); });
}

// Turns rows first and first + 1 of an upper triangular matrix into those of a 2 x 2 block.
template <class T>
void put_block(Matrix<T>& a, Index first) {
  a(first + 1, first + 1) = a(first, first);
  a(first, first + 1) = T(1.5);
  a(first + 1, first) = T(-0.5);
}

// Where the 2 x 2 blocks of a Schur form begin.
enum class Blocks { none, even, odd };
const Blocks all_blocks[] = {Blocks::none, Blocks::even, Blocks::odd};

// The eigenvalues have real parts between 1 and 2, so that no two of them add up to zero.
template <class T>
Matrix<T> schur_form(Index n, Blocks blocks, unsigned seed) {
  Matrix<T> a = random_matrix<T>(n, n, seed).template triangularView<Eigen::Upper>();
  a /= static_cast<T>(std::max<Index>(1, n));
  for (Index i = 0; i < n; ++i) a(i, i) = T(1) + T(i) / T(n);
  if (blocks == Blocks::none) return a;
  for (Index i = blocks == Blocks::odd ? 1 : 0; i + 1 < n; i += 2) put_block(a, i);
  return a;
}

template <class T>
double residual(const Matrix<T>& r, const Matrix<T>& s, const Matrix<T>& z, const Matrix<T>& t) {
  return static_cast<double>((r * z + z * s - t).norm() / ((r.norm() + s.norm()) * z.norm() + t.norm()));
}

template <class T>
ConstView<T> const_view(const Matrix<T>& a) {
  return {a.data(), a.rows(), a.cols(), Eigen::OuterStride<>(a.rows())};
}

// Small orders, and those about 24 and 32, where the algorithms divide their work.
const Index orders[] = {1, 2, 3, 24, 25, 49, 66};

template <class T>
void solve_all(double tolerance) {
  for (const Index k : orders)
    for (const Index m : orders)
      for (const Blocks of_r : all_blocks)
        for (const Blocks of_s : all_blocks) {
          const Matrix<T> r = schur_form<T>(k, of_r, 1), s = schur_form<T>(m, of_s, 2), t = random_matrix<T>(k, m, 3);
          // the solution in the midst of a larger matrix, whose other elements stay
          Matrix<T> around = Matrix<T>::Constant(k + 2, m + 2, T(7));
          View<T> z(&around(1, 1), k, m, Eigen::OuterStride<>(k + 2));
          z = t;
          solve_quasi_triangular<T>(const_view(r), const_view(s), z);
          CHECK(residual<T>(r, s, z, t) < tolerance);
          z.setConstant(T(7));
          CHECK(around == Matrix<T>::Constant(k + 2, m + 2, T(7)));

          Matrix<T> hessenberg = r;
          if (k > 1) hessenberg.diagonal(-1) += random_matrix<T>(k - 1, 1, 4).col(0) * T(0.1);
          Matrix<T> x = t;
          solve_hessenberg(hessenberg, s, x, no_poll);
          CHECK(residual<T>(hessenberg, s, x, t) < tolerance);
        }
}

TEST(equations_in_schur_form_are_solved_in_double) { solve_all<double>(1e-13); }

TEST(equations_in_schur_form_are_solved_in_float) { solve_all<float>(1e-5); }

TEST(schur_forms_are_recognised) {
  for (const Blocks blocks : all_blocks) CHECK(is_quasi_triangular(schur_form<double>(9, blocks, 1)));
  CHECK(is_quasi_triangular(MatrixD(0, 0)));
  const auto is_one_after = [](const std::function<void(MatrixD&)>& change) {
    MatrixD a = schur_form<double>(5, Blocks::none, 1);
    put_block(a, 1);
    change(a);
    return is_quasi_triangular(a);
  };
  CHECK(is_one_after([](MatrixD&) {}));
  CHECK(!is_one_after([](MatrixD& a) { a(4, 1) = 1e-300; }));    // far below the diagonal
  CHECK(!is_one_after([](MatrixD& a) { a(2, 2) += 1e-3; }));     // a block with two values on its diagonal
  CHECK(!is_one_after([](MatrixD& a) { a(2, 1) = -a(2, 1); }));  // a block with real eigenvalues
  CHECK(!is_one_after([](MatrixD& a) { a(1, 2) = 0; }));         // a block that is lower triangular
  CHECK(!is_one_after([](MatrixD& a) { put_block(a, 2); }));     // two blocks that overlap
  CHECK(is_one_after([](MatrixD& a) { put_block(a, 3); }));      // two neighbouring blocks
}

TEST(eigenvalues_are_those_of_the_blocks) {
  using Complex = std::complex<double>;
  MatrixD a = MatrixD::Zero(4, 4);
  a.diagonal() << 3, 5, 5, -1;
  a(1, 2) = 4;
  a(2, 1) = -16;
  a(0, 3) = 100;
  const ComplexVector<double> values = quasi_triangular_eigenvalues(a);
  CHECK(values[0] == Complex(3) && values[1] == Complex(5, 8) && values[2] == Complex(5, -8) &&
        values[3] == Complex(-1));
  // the product of the elements beside the diagonal would overflow
  a(1, 2) = 1e200;
  a(2, 1) = -1e200;
  CHECK(quasi_triangular_eigenvalues(a)[1].imag() > 0.999e200);
}

// Diagonal elements of very different sizes: small pivots are not replaced.
TEST(graded_equations_keep_their_digits) {
  MatrixD r = MatrixD::Zero(2, 2), s = MatrixD::Zero(1, 1), t = MatrixD::Ones(2, 1);
  r.diagonal() << 1e-20, 1e20;
  solve_quasi_triangular<double>(const_view(r), const_view(s), view(t));
  CHECK(std::abs(t(0, 0) * 1e-20 - 1) < 1e-14 && std::abs(t(1, 0) * 1e20 - 1) < 1e-14);
}

}  // namespace

}  // namespace jcmspl
