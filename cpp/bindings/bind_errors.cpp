// The core's exceptions as Python's.
#include <pybind11/pybind11.h>

#include "jcmspl/data/samples.hpp"
#include "jcmspl/descent/results.hpp"
#include "jcmspl/linalg/kernels.hpp"
#include "register.hpp"

namespace jcmspl::bindings {

namespace py = pybind11;

void register_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr p) {
    const auto raise = [](const char* module, const char* type, const std::string& message) {
      PyErr_SetString(py::object(py::module_::import(module).attr(type)).ptr(), message.c_str());
    };
    try {
      if (p) std::rethrow_exception(p);
    } catch (const BadValue& e) {
      const std::string what = e.finite ? " holds a value too large to square: scale the data down"
                                        : " holds NaN or infinity: remove or replace such values";
      py::set_error(PyExc_ValueError, ("sample " + std::to_string(e.row) + what).c_str());
    } catch (const descent::Diverged& e) {
      raise("jcmspl.support.exceptions", "DivergenceError",
            "the objective overflowed or is not a number in iteration " + std::to_string(e.iteration) +
                ": the weights l1..l4 or the values of the data are too far apart in scale");
    } catch (const LapackError& e) {
      raise("numpy.linalg", "LinAlgError", e.what());
    }
  });
}

}  // namespace jcmspl::bindings
