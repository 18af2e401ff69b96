#include "jcmspl/sylvester.hpp"

#include <cmath>
#include <limits>

#include "jcmspl/kernels.hpp"
#include "jcmspl/quasi_triangular.hpp"
#include "jcmspl/tridiagonal.hpp"

namespace jcmspl {

namespace {

enum class Shape { diagonal, symmetric, upper, lower, general };

template <class T>
Shape shape_of(const Matrix<T>& a) {
  if (a.isDiagonal(T(0))) return Shape::diagonal;
  if (a == a.transpose()) return Shape::symmetric;
  if (is_quasi_triangular(a)) return Shape::upper;
  if (is_quasi_triangular<T>(a.transpose())) return Shape::lower;
  return Shape::general;
}

// a = V form V' with form diagonal, quasi-triangular or Hessenberg.
template <class T>
class Reduced {
public:
  enum class Form { diagonal, quasi_triangular, hessenberg };

  Form form = Form::diagonal;
  Matrix<T> matrix;
  bool exact = true;  // form is the input itself, but for the order of its rows and columns

  // A side that is to be quasi-triangular or diagonal at the end.
  static Reduced to_schur(const Matrix<T>& a, Shape shape) {
    Reduced out(a, shape);
    if (shape == Shape::general) out.schur();
    return out;
  }

  // A side for which Hessenberg form is enough.
  static Reduced to_hessenberg(const Matrix<T>& a, Shape shape) {
    Reduced out(a, shape);
    if (shape == Shape::general) out.hessenberg();
    return out;
  }

  // V' q, V x, q V, x V'
  void enter_left(Matrix<T>& q) { apply(Side::left, true, q); }
  void leave_left(Matrix<T>& x) { apply(Side::left, false, x); }
  void enter_right(Matrix<T>& q) { apply(Side::right, false, q); }
  void leave_right(Matrix<T>& x) { apply(Side::right, true, x); }

  // The quasi-triangular matrix with this one's eigenvalues; all that norms of the operator depend
  // on.
  Matrix<T> schur_form() const {
    if (form != Form::hessenberg) return matrix;
    Matrix<T> t = matrix, none(1, 1);
    qr_iteration(t, none, 'N');
    return t;
  }

private:
  enum class Basis { identity, reversal, dense, reflectors, tridiagonal };

  Reduced(const Matrix<T>& a, Shape shape) : matrix(a) {
    if (shape == Shape::symmetric) diagonalise();
    if (shape == Shape::upper || shape == Shape::lower) form = Form::quasi_triangular;
    if (shape == Shape::lower) {  // upside down and back to front it is upper
      basis_ = Basis::reversal;
      matrix = a.reverse();
    }
  }

  void diagonalise() {
    tridiagonal_.reduce(matrix);
    Vector<T> values;
    tridiagonal_.eigen(values, vectors_);
    matrix = values.asDiagonal();
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

  void schur() {
    hessenberg();
    int n = as_int(matrix.rows()), one = 1, info = 0, lwork = 64 * n;
    Vector<T> work(lwork);
    kernels<T>().orghr(&n, &one, &n, vectors_.data(), &n, tau_.data(), work.data(), &lwork, &info);
    check_info("orghr", info);
    qr_iteration(matrix, vectors_, 'V');
    form = Form::quasi_triangular;
    basis_ = Basis::dense;
  }

  static void qr_iteration(Matrix<T>& h, Matrix<T>& z, char compz) {
    char job = 'S';
    int n = as_int(h.rows()), one = 1, info = 0, ldz = blas_ld(z), lwork = std::max(1, 64 * n);
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

// One equation with its coefficients reduced: factored once, solved for several right-hand sides.
template <class T>
class Equation {
public:
  using Form = typename Reduced<T>::Form;

  Equation(const Matrix<T>& a, Shape shape_a, const Matrix<T>& b, Shape shape_b, const Poll& poll)
      : left_(Reduced<T>::to_hessenberg(a, shape_a)), right_(Reduced<T>::to_schur(b, shape_b)) {
    poll();
    scale_ = static_cast<double>(a.norm()) + static_cast<double>(b.norm());
    // With both spectra at hand a singular equation is found before it is solved.
    if (left_.form != Form::hessenberg) examine_eigenvalues();
  }

  void solve(Matrix<T>& q, const Poll& poll) {
    left_.enter_left(q);
    right_.enter_right(q);
    poll();
    if (left_.form == Form::hessenberg)
      solve_hessenberg(left_.matrix, right_.matrix, q, poll);
    else if (left_.form == Form::diagonal && right_.form == Form::diagonal)
      divide(q);
    else
      solve_quasi_triangular<T>(as_const_view(left_.matrix), as_const_view(right_.matrix), view(q));
    poll();
    left_.leave_left(q);
    right_.leave_right(q);
  }

  // Throws SingularEquation; otherwise finds the smallest sum of an eigenvalue of each side.
  void examine_eigenvalues() {
    if (examined_) return;
    examined_ = true;
    schur_left_ = left_.schur_form();
    const auto of_a = quasi_triangular_eigenvalues(schur_left_), of_b = quasi_triangular_eigenvalues(right_.matrix);
    const bool exact = left_.exact && right_.exact;
    const double noise = exact ? 0 : 4 * std::numeric_limits<T>::epsilon() * scale_;
    for (Index j = 0; j < of_b.size(); ++j)
      for (Index i = 0; i < of_a.size(); ++i) {
        const std::complex<double> x(of_a[i]), y(of_b[j]);
        // |re| + |im| is within a factor of 1.5 of the modulus, and much cheaper
        const double sum = std::abs(x.real() + y.real()) + std::abs(x.imag() + y.imag());
        if (sum <= noise) throw SingularEquation(x, y);
        smallest_sum_ = std::min(smallest_sum_, sum);
        const double size =
            exact ? std::abs(x.real()) + std::abs(y.real()) + std::abs(x.imag()) + std::abs(y.imag()) : scale_;
        smallest_relative_sum_ = std::min(smallest_relative_sum_, sum / size);
      }
  }

  bool both_diagonal() const { return left_.form == Form::diagonal && right_.form == Form::diagonal; }
  double smallest_sum() const { return smallest_sum_; }
  double smallest_relative_sum() const { return smallest_relative_sum_; }
  double scale() const { return scale_; }
  const char* method() const {
    if (left_.form == Form::hessenberg) return "hessenberg-schur";
    return both_diagonal() ? "diagonal" : "quasi-triangular";
  }

  // An upper bound on the smallest singular value of x -> a x + x b that is nearly always within a
  // small factor of it: power iteration on the inverse operator and its adjoint. The adjoint of the
  // equation in r, s is, transposed, the equation in s, r.
  double separation() {
    examine_eigenvalues();
    if (both_diagonal()) return smallest_sum_;
    const Matrix<T>&r = schur_left_, &s = right_.matrix;
    Matrix<T> z(r.rows(), s.rows());
    std::uint32_t state = 12345;  // any start that is not orthogonal to the answer does
    for (Index i = 0; i < z.size(); ++i) {
      state = state * 1664525u + 1013904223u;
      z.data()[i] = T(state >> 8) / T(1 << 24) - T(0.5);
    }
    double growth = 0;
    for (int round = 0; round < 3; ++round) {
      z /= z.norm();
      solve_quasi_triangular<T>(as_const_view(r), as_const_view(s), view(z));
      growth = std::max(growth, static_cast<double>(z.norm()));
      if (!std::isfinite(growth)) return 0;
      Matrix<T> adjoint = z.transpose() / z.norm();
      solve_quasi_triangular<T>(as_const_view(s), as_const_view(r), view(adjoint));
      growth = std::max(growth, static_cast<double>(adjoint.norm()));
      if (!std::isfinite(growth)) return 0;
      z = adjoint.transpose();
    }
    return 1 / growth;
  }

private:
  static ConstView<T> as_const_view(const Matrix<T>& a) {
    return {a.data(), a.rows(), a.cols(), Eigen::OuterStride<>(a.rows())};
  }

  void divide(Matrix<T>& q) const {
    for (Index j = 0; j < q.cols(); ++j) q.col(j).array() /= left_.matrix.diagonal().array() + right_.matrix(j, j);
  }

  Reduced<T> left_, right_;
  Matrix<T> schur_left_;
  double scale_ = 0;
  bool examined_ = false;
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
  const auto norm = [](const Matrix<T>& m) { return static_cast<double>(m.stableNorm()); };
  const double size = (norm(a) + norm(b)) * norm(x) + norm(q);
  return size > 0 ? norm(r) / size : 0;
}

template <class T>
SylvesterResults<T> solve_oriented(const Matrix<T>& a, Shape shape_a, const Matrix<T>& b, Shape shape_b,
                                   const Matrix<T>& q, const Poll& poll) {
  constexpr double epsilon = std::numeric_limits<T>::epsilon();
  const double half_the_digits = std::sqrt(epsilon);
  SylvesterResults<T> out{q, std::numeric_limits<double>::infinity(), 0, false, false, ""};
  Equation<T> equation(a, shape_a, b, shape_b, poll);
  out.method = equation.method();
  equation.solve(out.x, poll);

  Matrix<T> r = residual_of(a, b, q, out.x);
  out.relative_residual = relative(r, a, b, q, out.x);
  if (out.relative_residual > 4 * epsilon && r.allFinite()) {
    equation.solve(r, poll);
    const Matrix<T> better = out.x + r;
    const double now = relative(residual_of(a, b, q, better), a, b, q, better);
    if (now < out.relative_residual) {
      out.x = better;
      out.relative_residual = now;
      out.refined = true;
    }
  }

  // A solution much larger than its right-hand side, or eigenvalues that nearly cancel, ask for a
  // closer look.
  const double norm_q = static_cast<double>(q.stableNorm()), norm_x = static_cast<double>(out.x.stableNorm());
  const bool grew = !(norm_x * equation.scale() * half_the_digits <= norm_q);
  if ((grew && norm_q > 0) || equation.smallest_relative_sum() < half_the_digits) {
    if (equation.both_diagonal()) {
      equation.examine_eigenvalues();
      out.nearly_singular = equation.smallest_relative_sum() < half_the_digits;
      out.separation = equation.smallest_sum();
    } else {
      out.separation = equation.separation();
      out.nearly_singular = out.separation < half_the_digits * equation.scale();
    }
  }
  return out;
}

// The side that should get the full Schur form: one that costs nothing or little, else the smaller.
bool left_should_be_schur(Shape a, Index k, Shape b, Index m) {
  if (a != Shape::general || b != Shape::general) return b == Shape::general;
  return k < m;
}

}  // namespace

template <class T>
SylvesterResults<T> solve_sylvester(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& q, const Poll& poll) {
  if (q.size() == 0) return {q, std::numeric_limits<double>::infinity(), 0, false, false, "empty"};
  const Shape shape_a = shape_of(a), shape_b = shape_of(b);
  if (!left_should_be_schur(shape_a, a.rows(), shape_b, b.rows()))
    return solve_oriented(a, shape_a, b, shape_b, q, poll);
  // Transposed, b' x' + x' a' = q', the sides change places.
  const auto transposed_shape = [](Shape shape) {
    if (shape == Shape::upper) return Shape::lower;
    return shape == Shape::lower ? Shape::upper : shape;
  };
  try {
    SylvesterResults<T> out = solve_oriented<T>(b.transpose(), transposed_shape(shape_b), a.transpose(),
                                                transposed_shape(shape_a), q.transpose(), poll);
    out.x.transposeInPlace();
    return out;
  } catch (const SingularEquation& e) {
    throw SingularEquation(e.of_b, e.of_a);
  }
}

template <class T>
double sylvester_residual(const Matrix<T>& a, const Matrix<T>& b, const Matrix<T>& q, const Matrix<T>& x) {
  return relative(residual_of(a, b, q, x), a, b, q, x);
}

#define JCMSPL_INSTANTIATE(T)                                                                                      \
  template SylvesterResults<T> solve_sylvester(const Matrix<T>&, const Matrix<T>&, const Matrix<T>&, const Poll&); \
  template double sylvester_residual(const Matrix<T>&, const Matrix<T>&, const Matrix<T>&, const Matrix<T>&);
JCMSPL_INSTANTIATE(float)
JCMSPL_INSTANTIATE(double)
#undef JCMSPL_INSTANTIATE

}  // namespace jcmspl
