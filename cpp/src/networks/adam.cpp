#include "jcmspl/networks/adam.hpp"

#include <algorithm>
#include <cmath>

namespace jcmspl::networks {

template <class T>
void adam_step(const AdamSettings& settings, Index n, const T* __restrict gradient, T* __restrict parameter,
               T* __restrict mean, T* __restrict square, T* __restrict largest) {
  const T step = static_cast<T>(settings.step), epsilon = static_cast<T>(settings.epsilon);
  const T beta1 = static_cast<T>(settings.beta1), beta2 = static_cast<T>(settings.beta2);
  const T rest1 = static_cast<T>(1 - settings.beta1), rest2 = static_cast<T>(1 - settings.beta2);
  const T decay = static_cast<T>(settings.decay);
  const auto updated = [&](Index i) {
    const T g = gradient[i] + decay * parameter[i];
    mean[i] = beta1 * mean[i] + rest1 * g;
    return square[i] = beta2 * square[i] + rest2 * g * g;
  };
  if (largest == nullptr) {
    for (Index i = 0; i < n; ++i) {
      const T size = std::sqrt(updated(i));
      parameter[i] -= step * mean[i] / (size + epsilon);
    }
  } else {
    for (Index i = 0; i < n; ++i) {
      largest[i] = std::max(largest[i], updated(i));
      parameter[i] -= step * mean[i] / (std::sqrt(largest[i]) + epsilon);
    }
  }
}

template void adam_step(const AdamSettings&, Index, const float*, float*, float*, float*, float*);
template void adam_step(const AdamSettings&, Index, const double*, double*, double*, double*, double*);

}  // namespace jcmspl::networks
