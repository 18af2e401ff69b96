#include <pybind11/complex.h>
#include <pybind11/stl.h>

#include <complex>
#include <optional>
#include <utility>

#include "arrays.hpp"
#include "jcmspl/linalg/sylvester.hpp"
#include "register.hpp"
#include "signals.hpp"

namespace jcmspl::bindings {

namespace {

// The memory of a C-ordered a x + x b = q is that of the column-major b' x' + x' a' = q'.
template <class T>
struct TransposedEquation {
  Matrix<T> a, b, q;
  TransposedEquation(const Contiguous<T>& given_a, const Contiguous<T>& given_b, const Contiguous<T>& given_q)
      : a(transposed(given_b)), b(transposed(given_a)), q(transposed(given_q)) {
    require(a.rows() == a.cols() && b.rows() == b.cols() && q.rows() == a.rows() && q.cols() == b.rows(),
            "expected a (k, k), b (m, m) and q (k, m)");
  }
};

// The core's SylvesterResults for either type of x, or the two eigenvalues that make the equation singular.
struct Answer {
  py::object x = py::none();  // an array, unless the equation is singular
  bool nearly_singular = false;
  double separation = 0;
  std::optional<std::pair<std::complex<double>, std::complex<double>>> singular_pair;  // of a and of b
};

template <class T>
Answer solve(const Contiguous<T>& a, const Contiguous<T>& b, const Contiguous<T>& q) {
  const TransposedEquation<T> equation(a, b, q);
  Answer out;
  try {
    SylvesterResults<T> results = [&] {
      py::gil_scoped_release release;
      return solve_sylvester(equation.a, equation.b, equation.q, SignalPoll());
    }();
    out.x = to_numpy(std::move(results.x));
    out.nearly_singular = results.nearly_singular;
    out.separation = results.separation;
  } catch (const SingularEquation& e) {
    out.singular_pair = {e.of_b, e.of_a};
  }
  return out;
}

template <class T>
double residual(const Contiguous<T>& a, const Contiguous<T>& b, const Contiguous<T>& q, const Contiguous<T>& x) {
  const TransposedEquation<T> equation(a, b, q);
  const Matrix<T> solution = transposed(x);
  require(solution.rows() == equation.q.rows() && solution.cols() == equation.q.cols(), "expected x of q's shape");
  py::gil_scoped_release release;
  return sylvester_residual(equation.a, equation.b, equation.q, solution);
}

template <class T>
void register_equations(py::module_& m) {
  m.def("solve_sylvester", &solve<T>, py::arg("a").noconvert(), py::arg("b").noconvert(), py::arg("q").noconvert());
  m.def("sylvester_residual", &residual<T>, py::arg("a").noconvert(), py::arg("b").noconvert(),
        py::arg("q").noconvert(), py::arg("x").noconvert());
}

}  // namespace

void register_sylvester(py::module_& m) {
  py::class_<Answer>(m, "SylvesterResults")
      .def_readonly("x", &Answer::x)
      .def_readonly("nearly_singular", &Answer::nearly_singular)
      .def_readonly("separation", &Answer::separation)
      .def_readonly("singular_pair", &Answer::singular_pair);
  register_equations<float>(m);
  register_equations<double>(m);
}

}  // namespace jcmspl::bindings
