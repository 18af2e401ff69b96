#pragma once

#include "jcmspl/support/types.hpp"

namespace jcmspl {

// The Frobenius norm, also where the squares of the elements overflow or underflow.
template <class M>
double frobenius_norm(const M& x) {
  const double plain = x.norm();
  return plain > 1e-140 && plain < 1e140 ? plain : x.stableNorm();
}

}  // namespace jcmspl
