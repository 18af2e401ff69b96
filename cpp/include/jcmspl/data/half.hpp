// Numbers of 16 bits, in which embeddings are often stored. The core reads them, and computes in double precision.
#pragma once

#include <cstdint>
#include <cstring>

namespace jcmspl {

inline float float_of_bits(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// IEEE 754 binary16. Without branches, so that compilers vectorise loops of conversions.
struct Half {
  std::uint16_t bits;

  operator float() const {
    const std::uint32_t magnitude = bits & 0x7fffu, sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    // The exponent is 112 less than that of a float. A product with 2^112 corrects it, for subnormal numbers as well.
    const float scaled = float_of_bits(magnitude << 13) * float_of_bits(0x77800000u);
    std::uint32_t value;
    std::memcpy(&value, &scaled, sizeof value);
    const std::uint32_t special = 0x7f800000u | magnitude << 13;  // infinity and NaN
    return float_of_bits(sign | (magnitude >= 0x7c00u ? special : value));
  }
};

// The upper half of a float.
struct BFloat16 {
  std::uint16_t bits;

  operator float() const { return float_of_bits(static_cast<std::uint32_t>(bits) << 16); }
};

}  // namespace jcmspl
