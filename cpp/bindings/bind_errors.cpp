// The core's exceptions as Python's.
#include <pybind11/pybind11.h>

#include "jcmspl/kernels.hpp"
#include "jcmspl/solver.hpp"
#include "jcmspl/statistics.hpp"
#include "register.hpp"

namespace jcmspl::bindings {

namespace py = pybind11;

void register_errors(py::module_&) {
  py::register_exception_translator([](std::exception_ptr p) {
    const auto linalg_error = [](const std::string& message) {
      const py::object type = py::module_::import("numpy.linalg").attr("LinAlgError");
      PyErr_SetString(type.ptr(), message.c_str());
    };
    try {
      if (p) std::rethrow_exception(p);
    } catch (const BadValue& e) {
      py::set_error(PyExc_ValueError, ("sample " + std::to_string(e.row) +
                                       " holds NaN, infinity or a value too large to square: remove or replace it")
                                          .c_str());
    } catch (const Diverged& e) {
      linalg_error("the objective overflowed or is not a number in iteration " + std::to_string(e.iteration) +
                   ": the weights l1..l4 or the values of the data are too far apart in scale");
    } catch (const LapackError& e) {
      linalg_error(e.what());
    }
  });
}

}  // namespace jcmspl::bindings
