// Adam: steps along the mean of gradients so far, in units of their root mean square.
#pragma once

#include "jcmspl/support/types.hpp"

namespace jcmspl::networks {

struct AdamSettings {
  double step;     // the learning rate, times sqrt(1 - beta2^t) / (1 - beta1^t) in step t
  double epsilon;  // times sqrt(1 - beta2^t)
  double beta1, beta2;
  double decay;
};

// One step for n parameters: g += decay p; mean = beta1 mean + (1 - beta1) g; square = beta2 square + (1 - beta2) g^2;
// p -= step mean / (sqrt(square) + epsilon), all in one pass over memory. largest: null, or the largest squares so far,
// which then take the place of square in the last equation (AMSGrad).
template <class T>
void adam_step(const AdamSettings& settings, Index n, const T* gradient, T* parameter, T* mean, T* square, T* largest);

}  // namespace jcmspl::networks
