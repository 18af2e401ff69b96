#include "register.hpp"

PYBIND11_MODULE(_core, m) {
  using namespace jcmspl::bindings;
  m.doc() = "The compiled core of jcmspl. Use the functions of the package, which check their arguments.";
  m.attr("__version__") = JCMSPL_VERSION;
  bind_kernels();
  register_errors(m);
  register_statistics(m);
  register_normalisation(m);
  register_spectrum(m);
  register_descent(m);
  register_sylvester(m);
  register_search(m);
  register_ranking(m);
  register_hamming(m);
  register_simplex(m);
  register_intersections(m);
  register_lasso(m);
  register_ball(m);
  register_adam(m);
}
