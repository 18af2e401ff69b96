// The table of BLAS and LAPACK functions that the core computes with.
//
// The core is linked to no BLAS: the program that embeds it fills the table once (the Python bindings use SciPy's
// functions), so that products and decompositions run on a library that selects its code for the CPU at run time.
#pragma once

#include <stdexcept>
#include <string>

namespace jcmspl {

// Arguments of the routines: whether a matrix is transposed, and on which side of a product it stands.
enum class Op : char { none = 'N', transpose = 'T' };
enum class Side : char { left = 'L', right = 'R' };

// Name and C signature of each routine, for scalar type T; the name gets LAPACK's prefix (s or d) when it is bound.
#define JCMSPL_BLAS_ROUTINES(X)                                                   \
  X(gemm, (char*, char*, int*, int*, int*, T*, T*, int*, T*, int*, T*, T*, int*)) \
  X(syrk, (char*, char*, int*, int*, T*, T*, int*, T*, T*, int*))                 \
  X(trmm, (char*, char*, char*, char*, int*, int*, T*, T*, int*, T*, int*))

#define JCMSPL_LAPACK_ROUTINES(X)                                                          \
  X(potrf, (char*, int*, T*, int*, int*))                                                  \
  X(sytrd, (char*, int*, T*, int*, T*, T*, T*, T*, int*, int*))                            \
  X(stedc, (char*, int*, T*, T*, T*, int*, T*, int*, int*, int*, int*))                    \
  X(gehrd, (int*, int*, int*, T*, int*, T*, T*, int*, int*))                               \
  X(orghr, (int*, int*, int*, T*, int*, T*, T*, int*, int*))                               \
  X(ormhr, (char*, char*, int*, int*, int*, int*, T*, int*, T*, T*, int*, T*, int*, int*)) \
  X(hseqr, (char*, char*, int*, int*, int*, T*, int*, T*, T*, T*, int*, T*, int*, int*))

// A routine was called before the table was filled.
struct UnboundKernel : std::logic_error {
  explicit UnboundKernel(const char* routine)
      : std::logic_error(std::string("the routine ") + routine +
                         " of BLAS or LAPACK is not bound: fill the table of kernels before calling the core") {}
};

// A decomposition that did not converge, or was called with an invalid argument.
struct LapackError : std::runtime_error {
  LapackError(const char* routine, int info)
      : std::runtime_error(std::string("LAPACK's ") + routine + " failed with info = " + std::to_string(info)) {}
};

template <class Signature>
class Kernel;

// One entry of the table. A call throws UnboundKernel as long as no function was assigned.
template <class... Args>
class Kernel<void(Args...)> {
public:
  using Function = void (*)(Args...);

  explicit Kernel(const char* name) : name_(name) {}
  Kernel& operator=(Function function) {
    function_ = function;
    return *this;
  }

  void operator()(Args... args) const {
    if (!function_) throw UnboundKernel(name_);
    function_(args...);
  }

private:
  const char* name_;
  Function function_ = nullptr;
};

template <class T>
struct Kernels {
#define JCMSPL_FIELD(name, signature) Kernel<void signature> name{#name};
  JCMSPL_BLAS_ROUTINES(JCMSPL_FIELD)
  JCMSPL_LAPACK_ROUTINES(JCMSPL_FIELD)
#undef JCMSPL_FIELD
};

// The process-wide table. It must be filled before anything else of the core is called.
template <class T>
Kernels<T>& kernels();

}  // namespace jcmspl
