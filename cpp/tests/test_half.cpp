#include <cmath>
#include <cstdint>
#include <limits>

#include "jcmspl/data/half.hpp"
#include "testing.hpp"

namespace jcmspl {

namespace {

// The definition of IEEE 754: sign, exponent and fraction.
double value_of(unsigned bits, int n_exponent, int n_fraction) {
  const unsigned fraction = bits & ((1u << n_fraction) - 1), most = (1u << n_exponent) - 1;
  const unsigned exponent = (bits >> n_fraction) & most;
  const int bias = static_cast<int>(most / 2);
  const double sign = bits >> 15 ? -1 : 1, part = std::ldexp(fraction, -n_fraction);
  if (exponent == most)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(part, 1 - bias);
  return sign * std::ldexp(1 + part, static_cast<int>(exponent) - bias);
}

bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

TEST(every_number_of_16_bits_is_read_exactly) {
  bool halves = true, brain_floats = true;
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const auto stored = static_cast<std::uint16_t>(bits);
    halves = halves && same(Half{stored}, value_of(bits, 5, 10));
    brain_floats = brain_floats && same(BFloat16{stored}, value_of(bits, 8, 7));
  }
  CHECK(halves);
  CHECK(brain_floats);
}

}  // namespace

}  // namespace jcmspl
