// Norms that neither overflow nor underflow, and scaling by powers of two, which is exact.
#pragma once

#include <cmath>
#include <type_traits>

#include "jcmspl/support/types.hpp"

namespace jcmspl {

// The exponent of the power of two above the largest element; if all are zero an exponent below any other.
template <class M>
int exponent_of(const M& x) {
  int exponent = -2000;
  const auto largest = x.size() > 0 ? x.cwiseAbs().maxCoeff() : 0;
  if (largest != 0) std::frexp(largest, &exponent);
  return exponent;
}

// x times a power of two, which may be out of range for x's type.
template <class M>
typename M::PlainObject times_power_of_two(const M& x, int exponent) {
  using T = typename M::Scalar;
  const T power = std::ldexp(T(1), exponent);
  if (std::isnormal(power)) return x * power;
  return x.unaryExpr([exponent](T value) { return std::ldexp(value, exponent); });
}

// Whether a sum of squares has not lost digits to overflow or underflow.
inline bool is_safe_square(double sum) { return sum > 1e-280 && sum < 1e280; }

// The sum of squares of doubles or floats, in double precision.
template <class M>
double sum_of_squares(const M& x) {
  if constexpr (std::is_same_v<typename M::Scalar, float> && M::IsVectorAtCompileTime) {
    // Eigen does not vectorise conversions, and a single sum waits for every addition. Compilers vectorise eight sums.
    constexpr Index lanes = 8;
    double sums[lanes] = {}, rest = 0;
    const auto square = [&](Index j) { return static_cast<double>(x[j]) * static_cast<double>(x[j]); };
    Index j = 0;
    for (; j + lanes <= x.size(); j += lanes)
      for (Index lane = 0; lane < lanes; ++lane) sums[lane] += square(j + lane);
    for (; j < x.size(); ++j) rest += square(j);
    return rest + ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  } else {
    return x.template cast<double>().squaredNorm();
  }
}

// The Frobenius norm, or length of a vector, of doubles or floats.
template <class M>
double frobenius_norm(const M& x) {
  const double sum = sum_of_squares(x);
  if (is_safe_square(sum)) return std::sqrt(sum);
  const auto wide = x.template cast<double>().eval();
  if (!wide.allFinite()) return std::sqrt(sum);
  const int exponent = exponent_of(wide);
  return std::ldexp(std::sqrt(times_power_of_two(wide, -exponent).squaredNorm()), exponent);
}

// Scales a vector to length one, in place; one of zeros stays as it is.
template <class V>
void scale_to_unit(V&& x) {
  using T = typename std::decay_t<V>::Scalar;
  const double sum = sum_of_squares(x);
  if (is_safe_square(sum)) {
    x = (x.template cast<double>() / std::sqrt(sum)).template cast<T>();
  } else if (sum > 0 || x.cwiseAbs().maxCoeff() > 0) {
    const auto wide = x.template cast<double>().eval();
    const auto near_one = times_power_of_two(wide, -exponent_of(wide));
    x = (near_one / near_one.norm()).template cast<T>();
  }
}

}  // namespace jcmspl
