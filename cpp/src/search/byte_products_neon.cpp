// Products of bytes by the dot products of NEON, which are optional before ARMv8.4. Both factors are signed, so that
// codes of candidates need no offset.
#include <cmath>
#include <cstring>

#include "search/byte_kernels.hpp"

// Clang has had these intrinsics in functions with an attribute since version 16.
#if defined(__aarch64__) && defined(__GNUC__) && !defined(__AARCH64EB__) && \
    (defined(__ARM_FEATURE_DOTPROD) || !defined(__clang__) || __clang_major__ >= 16)

#include <arm_neon.h>

#ifdef __ARM_FEATURE_DOTPROD  // of all CPUs that the compiler builds for, as on Apple's
#define JCMSPL_DOT
#elif defined(__clang__)
#define JCMSPL_DOT __attribute__((target("dotprod")))
#else
#define JCMSPL_DOT __attribute__((target("arch=armv8.2-a+dotprod")))
#endif

#if !defined(__ARM_FEATURE_DOTPROD) && defined(__linux__)
#include <sys/auxv.h>
#endif

#ifdef __clang__
#define JCMSPL_UNROLL _Pragma("unroll")
#else
#define JCMSPL_UNROLL _Pragma("GCC unroll 8")
#endif

namespace jcmspl::search {

namespace {

bool has_instructions() {
#if defined(__ARM_FEATURE_DOTPROD)
  return true;
#elif defined(__linux__)
  constexpr unsigned long dot_products = 1ul << 20;  // HWCAP_ASIMDDP, which old headers lack
  return getauxval(AT_HWCAP) & dot_products;
#else
  return false;
#endif
}

constexpr Index width = 2;  // doubles of a vector

// Two values as doubles; the second is zero if count is 1.
inline float64x2_t load(const double* x, Index count) {
  return count >= width ? vld1q_f64(x) : vsetq_lane_f64(*x, vdupq_n_f64(0), 0);
}

inline float64x2_t load(const float* x, Index count) {
  return count >= width ? vcvt_f64_f32(vld1_f32(x)) : vsetq_lane_f64(static_cast<double>(*x), vdupq_n_f64(0), 0);
}

template <class T>
Rounded round_to_bytes(const T* x, double scale, const double* origin, const double* other, Index n, int limit,
                       std::int8_t* codes) {
  const float64x2_t factor = vdupq_n_f64(scale);
  const auto value = [=](Index j) { return vnegq_f64(vfmsq_f64(load(origin + j, n - j), load(x + j, n - j), factor)); };
  float64x2_t largest_of = vdupq_n_f64(0);
  for (Index j = 0; j < n; j += width) largest_of = vmaxq_f64(largest_of, vabsq_f64(value(j)));
  const double largest = vmaxvq_f64(largest_of);
  if (largest == 0) {
    std::memset(codes, 0, static_cast<std::size_t>(n));
    return {0, 0, 0, 0, 0, 0, true};
  }
  if (!(largest > 1e-140 && largest < 1e140)) return {0, 0, 0, 0, 0, 0, false};

  const double step = largest / limit;
  const float64x2_t steps = vdupq_n_f64(step), inverse = vdupq_n_f64(1 / step);
  float64x2_t squares = vdupq_n_f64(0), sizes = squares, errors = squares, products = squares;
  std::int64_t sum = 0;
  for (Index j = 0; j < n; j += width) {
    const float64x2_t v = value(j);
    const int64x2_t code = vcvtnq_s64_f64(vmulq_f64(v, inverse));  // to nearest
    const float64x2_t rounded = vmulq_f64(vcvtq_f64_s64(code), steps), error = vsubq_f64(v, rounded);
    squares = vfmaq_f64(squares, v, v);
    sizes = vfmaq_f64(sizes, rounded, rounded);
    errors = vfmaq_f64(errors, error, error);
    products = vfmaq_f64(products, v, load(other + j, n - j));
    sum += vaddvq_s64(code);
    codes[j] = static_cast<std::int8_t>(vgetq_lane_s64(code, 0));
    if (n - j >= width) codes[j + 1] = static_cast<std::int8_t>(vgetq_lane_s64(code, 1));
  }
  return {step,
          std::sqrt(vaddvq_f64(squares)),
          std::sqrt(vaddvq_f64(sizes)),
          std::sqrt(vaddvq_f64(errors)),
          vaddvq_f64(products),
          static_cast<std::int32_t>(sum),
          true};
}

template <class T>
double dot_in_double(const T* x, const T* y, Index n) {
  constexpr Index parts = 4;
  float64x2_t sums[parts] = {vdupq_n_f64(0), vdupq_n_f64(0), vdupq_n_f64(0), vdupq_n_f64(0)};
  Index j = 0;
  for (; j + parts * width <= n; j += parts * width) {
    JCMSPL_UNROLL
    for (Index part = 0; part < parts; ++part)
      sums[part] = vfmaq_f64(sums[part], load(x + j + part * width, width), load(y + j + part * width, width));
  }
  for (; j < n; j += width) sums[0] = vfmaq_f64(sums[0], load(x + j, n - j), load(y + j, n - j));
  return vaddvq_f64(vaddq_f64(vaddq_f64(sums[0], sums[1]), vaddq_f64(sums[2], sums[3])));
}

constexpr int lanes = 4, vectors = panel_width / lanes, at_once = 4;
using Products = int32x4_t[tile_height][vectors];

// The sums of four vectors must stay in registers: a small separate function whose loops over them are unrolled.
JCMSPL_DOT __attribute__((noinline)) void multiply(const std::uint8_t* panel, const std::int8_t* codes, Index groups,
                                                   int vector, Products& products) {
  int32x4_t sums[tile_height][at_once];
  JCMSPL_UNROLL
  for (int i = 0; i < tile_height; ++i) {
    JCMSPL_UNROLL
    for (int v = 0; v < at_once; ++v) sums[i][v] = vdupq_n_s32(0);
  }
  for (Index g = 0; g < groups; ++g) {
    int8x16_t candidates[at_once];
    JCMSPL_UNROLL
    for (int v = 0; v < at_once; ++v)
      candidates[v] = vreinterpretq_s8_u8(vld1q_u8(panel + (g * vectors + vector + v) * lanes * group_size));
    JCMSPL_UNROLL
    for (int i = 0; i < tile_height; ++i) {
      std::int32_t four;
      std::memcpy(&four, codes + (i * groups + g) * group_size, sizeof four);
      const int8x16_t sample = vreinterpretq_s8_s32(vdupq_n_s32(four));
      JCMSPL_UNROLL
      for (int v = 0; v < at_once; ++v) sums[i][v] = vdotq_s32(sums[i][v], candidates[v], sample);
    }
  }
  JCMSPL_UNROLL
  for (int i = 0; i < tile_height; ++i) {
    JCMSPL_UNROLL
    for (int v = 0; v < at_once; ++v) products[i][vector + v] = sums[i][v];
  }
}

void find_bounds_by_dots(const Panel& panel, const Tile& tile, Index groups, const float* thresholds, Bounds& bounds) {
  constexpr std::uint32_t bits[lanes] = {1, 2, 4, 8};
  Products products;
  for (int v = 0; v < vectors; v += at_once) multiply(panel.codes, tile.codes, groups, v, products);
  for (int i = 0; i < tile_height; ++i) {
    const SampleTerms& term = tile.terms[i];
    const float32x4_t threshold = vdupq_n_f32(thresholds[i]);
    bounds.above[i] = 0;
    for (int v = 0; v < vectors; ++v) {
      const Index c = v * lanes;
      float32x4_t upper = vfmaq_n_f32(vdupq_n_f32(term.slack), vld1q_f32(panel.bias + c), term.weight);
      upper = vfmaq_n_f32(upper, vld1q_f32(panel.error + c), term.size);
      upper = vfmaq_n_f32(upper, vld1q_f32(panel.length + c), term.error);
      upper = vfmaq_f32(upper, vmulq_n_f32(vld1q_f32(panel.step + c), term.step), vcvtq_f32_s32(products[i][v]));
      vst1q_f32(bounds.upper[i] + c, upper);
      const uint32x4_t not_below = vmvnq_u32(vcltq_f32(upper, threshold));
      bounds.above[i] |= std::uint64_t{vaddvq_u32(vandq_u32(not_below, vld1q_u32(bits)))} << c;
    }
  }
}

}  // namespace

const ByteKernels* neon_kernels() {
  static constexpr ByteKernels kernels{"neon",
                                       127,
                                       0,
                                       false,
                                       round_to_bytes<float>,
                                       round_to_bytes<double>,
                                       dot_in_double<float>,
                                       dot_in_double<double>,
                                       find_bounds_by_dots};
  return has_instructions() ? &kernels : nullptr;
}

}  // namespace jcmspl::search

#else

namespace jcmspl::search {

const ByteKernels* neon_kernels() { return nullptr; }

}  // namespace jcmspl::search

#endif
