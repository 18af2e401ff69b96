#pragma once

#include <pybind11/pybind11.h>

namespace jcmspl::bindings {

void bind_kernels();
void register_errors(pybind11::module_& m);
void register_statistics(pybind11::module_& m);
void register_normalisation(pybind11::module_& m);
void register_spectrum(pybind11::module_& m);
void register_descent(pybind11::module_& m);
void register_sylvester(pybind11::module_& m);
void register_search(pybind11::module_& m);
void register_ranking(pybind11::module_& m);
void register_hamming(pybind11::module_& m);
void register_simplex(pybind11::module_& m);
void register_intersections(pybind11::module_& m);
void register_lasso(pybind11::module_& m);
void register_ball(pybind11::module_& m);
void register_adam(pybind11::module_& m);

}  // namespace jcmspl::bindings
