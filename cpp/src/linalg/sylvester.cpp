#include "jcmspl/linalg/sylvester.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "linalg/blas.hpp"
#include "linalg/norm.hpp"
#include "linalg/quasi_triangular.hpp"
#include "linalg/reduced.hpp"

namespace jcmspl {

namespace {

// One equation with its coefficients reduced: factored once, solved for several right-hand sides.
template <class T>
class Equation {
public:
  Equation(const Matrix<T>& a, Shape shape_a, const Matrix<T>& b, Shape shape_b, const Poll& poll)
      : left_(Reduced<T>::to_hessenberg(a, shape_a, poll)),
        right_(Reduced<T>::to_schur(b, shape_b, poll)),
        exact_(left_.exact && right_.exact),
        size_(frobenius_norm(a) + frobenius_norm(b)) {
    poll();
    // Where the eigenvalues of both sides are known by now, a singular equation is found before it is solved.
    if (left_.form != Form::hessenberg) examine_eigenvalues(left_.matrix);
  }

  void solve(Matrix<T>& q, const Poll& poll) {
    left_.enter_left(q);
    right_.enter_right(q);
    poll();
    solve_reduced(q, poll);
    poll();
    left_.leave_left(q);
    right_.leave_right(q);
  }

  struct Conditioning {
    bool nearly_singular;   // less than half of the digits of a solution can be trusted
    double separation = 0;  // if nearly singular: an estimate of the operator's smallest singular value
  };

  // Throws SingularEquation if no digit of a solution can be trusted.
  Conditioning conditioning(const Poll& poll) {
    // Two diagonal coefficients: the singular values of the operator are the sums of their eigenvalues.
    if (both_diagonal()) return {smallest_relative_sum_ < half_the_digits, smallest_sum_};
    // Errors are relative to the norms of a and b, or, where these were triangular from the start and are solved
    // element by element, to the eigenvalue sums that are divided by.
    const double size = exact_ ? smallest_sum_ : size_;
    const bool sums_cancel = smallest_relative_sum_ < half_the_digits;
    // A solution is at most 1 / separation times as large as its right-hand side, and for a random right-hand side
    // nearly that.
    Matrix<T> probe = random_unit_matrix();
    solve_reduced(probe, poll);
    poll();
    if (frobenius_norm(probe) * size * half_the_digits * 0.01 < 1 && !sums_cancel) return {false};
    const Matrix<T> schur_left = left_.schur_form();
    poll();
    if (left_.form == Form::hessenberg) examine_eigenvalues(schur_left);
    const double separation = estimate_separation(schur_left, poll);
    return {sums_cancel || separation < half_the_digits * size, separation};
  }

private:
  using Form = typename Reduced<T>::Form;
  static constexpr double epsilon = std::numeric_limits<T>::epsilon();
  const double half_the_digits = std::sqrt(epsilon);

  bool both_diagonal() const { return left_.form == Form::diagonal && right_.form == Form::diagonal; }

  void solve_reduced(Matrix<T>& q, const Poll& poll) const {
    if (left_.form == Form::hessenberg)
      solve_hessenberg(left_.matrix, right_.matrix, q, poll);
    else if (both_diagonal())
      for (Index j = 0; j < q.cols(); ++j) q.col(j).array() /= left_.matrix.diagonal().array() + right_.matrix(j, j);
    else
      solve_quasi_triangular<T>(const_view(left_.matrix), const_view(right_.matrix), view(q));
  }

  // Throws SingularEquation if an eigenvalue of a and one of b add up to zero; otherwise finds the smallest sum.
  void examine_eigenvalues(const Matrix<T>& schur_left) {
    const auto of_a = quasi_triangular_eigenvalues(schur_left), of_b = quasi_triangular_eigenvalues(right_.matrix);
    // Computed eigenvalues of symmetric matrices have errors of a few epsilon times the largest of them, those of other
    // matrices a multiple of epsilon times the norm.
    const double norm =
        both_diagonal() ? static_cast<double>(of_a.cwiseAbs().maxCoeff() + of_b.cwiseAbs().maxCoeff()) : size_;
    const double units = both_diagonal() || exact_ ? 2 : 10;
    for (Index j = 0; j < of_b.size(); ++j)
      for (Index i = 0; i < of_a.size(); ++i) {
        const std::complex<double> x(of_a[i]), y(of_b[j]);
        // |re| + |im| is within a factor of 1.5 of the modulus, and much cheaper
        const double sum = std::abs(x.real() + y.real()) + std::abs(x.imag() + y.imag());
        const double pair = std::abs(x.real()) + std::abs(y.real()) + std::abs(x.imag()) + std::abs(y.imag());
        const bool exact_pair = exact_ && x.imag() == 0 && y.imag() == 0;
        const double noise = exact_pair ? 0 : units * epsilon * (exact_ ? pair : norm);
        if (sum <= noise) throw SingularEquation(x, y);
        smallest_sum_ = std::min(smallest_sum_, sum);
        smallest_relative_sum_ = std::min(smallest_relative_sum_, sum / (exact_ ? pair : norm));
      }
  }

  Matrix<T> random_unit_matrix() const {
    Matrix<T> z(left_.matrix.rows(), right_.matrix.rows());
    std::uint32_t state = 12345;  // the same for every call, for reproducible results
    for (Index i = 0; i < z.size(); ++i) {
      state = state * 1664525u + 1013904223u;
      z.data()[i] = T(state >> 8) / T(1 << 24) - T(0.5);
    }
    return z / z.norm();
  }

  // An upper bound on the smallest singular value of x -> a x + x b that is nearly always within a small factor of it:
  // power iteration on the inverse operator and its adjoint. The adjoint of the equation in r, s is, transposed, the
  // equation in s, r.
  double estimate_separation(const Matrix<T>& r, const Poll& poll) const {
    const Matrix<T>& s = right_.matrix;
    Matrix<T> z = random_unit_matrix(), adjoint;
    double growth = 0;
    for (int round = 0; round < 3; ++round) {
      solve_quasi_triangular<T>(const_view(r), const_view(s), view(z));
      growth = std::max(growth, frobenius_norm(z));
      if (!std::isfinite(growth)) return 0;
      poll();
      adjoint = z.transpose() / z.norm();
      solve_quasi_triangular<T>(const_view(s), const_view(r), view(adjoint));
      growth = std::max(growth, frobenius_norm(adjoint));
      if (!std::isfinite(growth)) return 0;
      poll();
      z = adjoint.transpose() / adjoint.norm();
    }
    return 1 / growth;
  }

  static ConstView<T> const_view(const Matrix<T>& a) {
    return {a.data(), a.rows(), a.cols(), Eigen::OuterStride<>(a.rows())};
  }

  Reduced<T> left_, right_;
  const bool exact_;
  const double size_;
  double smallest_sum_ = std::numeric_limits<double>::infinity();
  double smallest_relative_sum_ = std::numeric_limits<double>::infinity();
};

template <class T>
Matrix<T> residual_of(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& q, const Matrix<T>& x) {
  Matrix<T> r = q;
  gemm(Op::none, Op::none, -1, a, x, 1, r);
  gemm(Op::none, Op::none, -1, x, b, 1, r);
  return r;
}

template <class T>
double relative(const Matrix<T>& r, const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& q, const Matrix<T>& x) {
  const double size = (frobenius_norm(a) + frobenius_norm(b)) * frobenius_norm(x) + frobenius_norm(q);
  return size > 0 ? frobenius_norm(r) / size : 0;
}

template <class T>
SylvesterResults<T> solve_oriented(const Matrix<T>& a, Shape shape_a, const Matrix<T>& b, Shape shape_b,
                                   const Matrix<T>& q, const Poll& poll) {
  SylvesterResults<T> out;
  Equation<T> equation(a, shape_a, b, shape_b, poll);
  const auto conditioning = equation.conditioning(poll);
  out.nearly_singular = conditioning.nearly_singular;
  out.separation = conditioning.separation;
  out.x = q;
  equation.solve(out.x, poll);

  // One step of iterative refinement, kept if it helps.
  Matrix<T> correction = residual_of(a, b, q, out.x);
  const double residual = relative(correction, a, b, q, out.x);
  if (residual > 4 * static_cast<double>(std::numeric_limits<T>::epsilon()) && std::isfinite(residual)) {
    equation.solve(correction, poll);
    const Matrix<T> better = out.x + correction;
    if (relative(residual_of(a, b, q, better), a, b, q, better) < residual) out.x = better;
  }
  return out;
}

template <class T>
int exponent_of_both(const Matrix<T>& a, const Matrix<T>& b) {
  return std::max(exponent_of(a), exponent_of(b));
}

std::complex<double> times_power_of_two(std::complex<double> z, int exponent) {
  return {std::ldexp(z.real(), exponent), std::ldexp(z.imag(), exponent)};
}

// Whether a rather than b is reduced to Schur form: the one that is not general, for which that is cheap or already
// done; of two general ones the smaller.
bool left_should_be_schur(Shape a, Index k, Shape b, Index m) {
  if (a != Shape::general || b != Shape::general) return b == Shape::general;
  return k < m;
}

}  // namespace

template <class T>
SylvesterResults<T> solve_sylvester(const Matrix<T>& given_a, const Matrix<T>& given_b, const Matrix<T>& given_q,
                                    const Poll& poll) {
  if (given_q.size() == 0) return {given_q};
  // Squares of very large or small elements would overflow or underflow.
  const int of_ab = exponent_of_both(given_a, given_b), of_q = exponent_of(given_q);
  const Matrix<T> a = times_power_of_two(given_a, -of_ab), b = times_power_of_two(given_b, -of_ab);
  const Matrix<T> q = times_power_of_two(given_q, -of_q);
  const Shape shape_a = shape_of(a), shape_b = shape_of(b);
  const auto transposed_shape = [](Shape shape) {
    if (shape == Shape::upper) return Shape::lower;
    return shape == Shape::lower ? Shape::upper : shape;
  };
  const bool swap = left_should_be_schur(shape_a, a.rows(), shape_b, b.rows());
  try {
    SylvesterResults<T> out;
    if (swap) {  // transposed, b' x' + x' a' = q', the sides change places
      out = solve_oriented<T>(b.transpose(), transposed_shape(shape_b), a.transpose(), transposed_shape(shape_a),
                              q.transpose(), poll);
      out.x.transposeInPlace();
    } else {
      out = solve_oriented(a, shape_a, b, shape_b, q, poll);
    }
    out.x = times_power_of_two(out.x, of_q - of_ab);
    out.separation = std::ldexp(out.separation, of_ab);
    return out;
  } catch (const SingularEquation& e) {
    const auto of_a = times_power_of_two(e.of_a, of_ab), of_b = times_power_of_two(e.of_b, of_ab);
    throw swap ? SingularEquation(of_b, of_a) : SingularEquation(of_a, of_b);
  }
}

template <class T>
double sylvester_residual(const Matrix<T>& given_a, const Matrix<T>& given_b, const Matrix<T>& given_q,
                          const Matrix<T>& given_x) {
  if (given_q.size() == 0) return 0;
  // The same ratio for an equation whose larger side, q or a x + x b, has elements of about one.
  const int of_ab = exponent_of_both(given_a, given_b);
  const int larger = std::max(exponent_of(given_q), of_ab + exponent_of(given_x));
  const Matrix<T> a = times_power_of_two(given_a, -of_ab), b = times_power_of_two(given_b, -of_ab);
  const Matrix<T> q = times_power_of_two(given_q, -larger), x = times_power_of_two(given_x, of_ab - larger);
  return relative(residual_of(a, b, q, x), a, b, q, x);
}

#define JCMSPL_INSTANTIATE(T)                                                                                      \
  template SylvesterResults<T> solve_sylvester(const Matrix<T>&, const Matrix<T>&, const Matrix<T>&, const Poll&); \
  template double sylvester_residual(const Matrix<T>&, const Matrix<T>&, const Matrix<T>&, const Matrix<T>&);
JCMSPL_INSTANTIATE(float)
JCMSPL_INSTANTIATE(double)
#undef JCMSPL_INSTANTIATE

}  // namespace jcmspl
