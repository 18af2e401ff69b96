// Fills the core's table with the BLAS and LAPACK functions that SciPy offers to extension modules.
#include <pybind11/pybind11.h>

#include <algorithm>
#include <string>
#include <type_traits>

#include "jcmspl/linalg/kernels.hpp"
#include "register.hpp"

namespace jcmspl::bindings {

namespace py = pybind11;

namespace {

template <class T>
const char* type_name() {
  if (std::is_same_v<T, char*>) return "char *";
  if (std::is_same_v<T, int*>) return "int *";
  return std::is_same_v<T, float*> ? "s *" : "d *";
}

template <class... Args>
std::string signature() {
  std::string names;
  ((names += (names.empty() ? "" : ", ") + std::string(type_name<Args>())), ...);
  return "void (" + names + ")";
}

// Cython writes "__pyx_t_5scipy_6linalg_11cython_blas_d" for the type of BLAS's d routines: the last letter tells.
std::string without_cython_names(std::string text) {
  const std::string prefix = "__pyx_t_";
  for (std::size_t start; (start = text.find(prefix)) != std::string::npos;) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    text.erase(start, end - 1 - start);
  }
  return text;
}

// The capsule's name is the C signature. It is compared with ours, so that a SciPy with another calling convention
// (64-bit integers, say) is refused at import instead of corrupting memory.
template <class... Args>
void bind_routine(const py::dict& functions, const std::string& name, Kernel<void(Args...)>& target) {
  if (!functions.contains(name)) throw py::import_error("SciPy offers no " + name + ": a newer SciPy is needed");
  const py::capsule capsule = functions[py::str(name)];
  const std::string given = without_cython_names(capsule.name());
  const std::string expected = signature<Args...>();
  if (given != expected)
    throw py::import_error("SciPy's " + name + " is " + given + ", but " + expected +
                           " was expected: this SciPy is not supported");
  target = reinterpret_cast<typename Kernel<void(Args...)>::Function>(capsule.get_pointer<void>());
}

template <class T>
void bind_all(const py::dict& blas, const py::dict& lapack, const std::string& prefix) {
  Kernels<T>& table = kernels<T>();
#define JCMSPL_BIND_BLAS(name, ignored) bind_routine(blas, prefix + #name, table.name);
#define JCMSPL_BIND_LAPACK(name, ignored) bind_routine(lapack, prefix + #name, table.name);
  JCMSPL_BLAS_ROUTINES(JCMSPL_BIND_BLAS)
  JCMSPL_LAPACK_ROUTINES(JCMSPL_BIND_LAPACK)
}

}  // namespace

void bind_kernels() {
  const py::dict blas = py::module_::import("scipy.linalg.cython_blas").attr("__pyx_capi__");
  const py::dict lapack = py::module_::import("scipy.linalg.cython_lapack").attr("__pyx_capi__");
  bind_all<float>(blas, lapack, "s");
  bind_all<double>(blas, lapack, "d");
}

}  // namespace jcmspl::bindings
