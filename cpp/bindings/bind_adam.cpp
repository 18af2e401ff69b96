#include <pybind11/stl.h>

#include <optional>

#include "arrays.hpp"
#include "jcmspl/networks/adam.hpp"
#include "register.hpp"

namespace jcmspl::bindings {

namespace {

template <class T>
void register_step(py::module_& m) {
  using Array = Contiguous<T>;
  m.def(
      "adam_step",
      [](const Array& gradient, Array& parameter, Array& mean, Array& square, std::optional<Array> largest, double step,
         double epsilon, double beta1, double beta2, double decay) {
        const py::ssize_t n = parameter.size();
        require(gradient.size() == n && mean.size() == n && square.size() == n && (!largest || largest->size() == n),
                "expected arrays of one size");
        const networks::AdamSettings settings{step, epsilon, beta1, beta2, decay};
        const T* g = gradient.data();
        T *p = parameter.mutable_data(), *q = mean.mutable_data(), *v = square.mutable_data();
        T* most = largest ? largest->mutable_data() : nullptr;
        py::gil_scoped_release release;
        networks::adam_step(settings, n, g, p, q, v, most);
      },
      py::arg("gradient").noconvert(), py::arg("parameter").noconvert(), py::arg("mean").noconvert(),
      py::arg("square").noconvert(), py::arg("largest").noconvert(), py::kw_only(), py::arg("step"), py::arg("epsilon"),
      py::arg("beta1"), py::arg("beta2"), py::arg("decay"));
}

}  // namespace

void register_adam(py::module_& m) {
  register_step<float>(m);
  register_step<double>(m);
}

}  // namespace jcmspl::bindings
