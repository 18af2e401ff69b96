#include "jcmspl/linalg/kernels.hpp"

namespace jcmspl {

template <class T>
Kernels<T>& kernels() {
  static Kernels<T> table;
  return table;
}

template Kernels<float>& kernels<float>();
template Kernels<double>& kernels<double>();

}  // namespace jcmspl
