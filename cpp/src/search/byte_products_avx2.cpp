// Products of bytes by 256 bits: with the instructions of AVX-VNNI, or with those of AVX2, which sum two products in 16
// bits. Such a sum does not overflow where codes of candidates are at most 63: 2 * 127 * 127 < 2^15. With AVX2 sums of
// runs stay in 16 bits where they fit; else each pair is widened to 32 bits at once, which takes a quarter longer.
#include <cmath>
#include <cstring>

#include "search/byte_kernels.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#if !defined(__clang__) && __GNUC__ < 13  // it warns of code in its own header
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// These functions call no templates of other headers, whose compiled code the linker could share with other callers.
#define JCMSPL_AVX2 __attribute__((target("avx2,fma")))
#define JCMSPL_AVX_VNNI __attribute__((target("avx2,fma,avxvnni")))
#if defined(__clang__) ? __clang_major__ >= 16 : __GNUC__ >= 12
#define JCMSPL_COMPILES_AVX_VNNI
#endif

#ifdef __clang__
#define JCMSPL_UNROLL _Pragma("unroll")
#define JCMSPL_KEEP_LOOP _Pragma("nounroll")
#else
#define JCMSPL_KEEP_LOOP _Pragma("GCC unroll 1")
#define JCMSPL_UNROLL _Pragma("GCC unroll 8")
#endif

namespace jcmspl::search {

namespace {

constexpr Index width = 4;  // doubles of a vector

// Four values as doubles; those from count on are zero.
JCMSPL_AVX2 inline __m256d load(const double* x, Index count) {
  if (count >= width) return _mm256_loadu_pd(x);
  double rest[width] = {};
  std::memcpy(rest, x, static_cast<std::size_t>(count) * sizeof *x);
  return _mm256_loadu_pd(rest);
}

JCMSPL_AVX2 inline __m256d load(const float* x, Index count) {
  if (count >= width) return _mm256_cvtps_pd(_mm_loadu_ps(x));
  float rest[width] = {};
  std::memcpy(rest, x, static_cast<std::size_t>(count) * sizeof *x);
  return _mm256_cvtps_pd(_mm_loadu_ps(rest));
}

JCMSPL_AVX2 inline double sum_of(__m256d x) {
  double parts[width];
  _mm256_storeu_pd(parts, x);
  return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

template <class T>
JCMSPL_AVX2 Rounded round_to_bytes(const T* x, double scale, const double* origin, const double* other, Index n,
                                   int limit, std::int8_t* codes) {
  const __m256d factor = _mm256_set1_pd(scale), sign = _mm256_set1_pd(-0.0);
  __m256d largest_of = _mm256_setzero_pd();
  for (Index j = 0; j < n; j += width) {
    const __m256d v = _mm256_fmsub_pd(load(x + j, n - j), factor, load(origin + j, n - j));
    largest_of = _mm256_max_pd(largest_of, _mm256_andnot_pd(sign, v));
  }
  double parts[width], largest = 0;
  _mm256_storeu_pd(parts, largest_of);
  for (const double part : parts) largest = part > largest ? part : largest;
  if (largest == 0) {
    std::memset(codes, 0, static_cast<std::size_t>(n));
    return {0, 0, 0, 0, 0, 0, true};
  }
  if (!(largest > 1e-140 && largest < 1e140)) return {0, 0, 0, 0, 0, 0, false};

  const double step = largest / limit;
  const __m256d steps = _mm256_set1_pd(step), inverse = _mm256_set1_pd(1 / step);
  __m256d squares = _mm256_setzero_pd(), sizes = squares, errors = squares, products = squares;
  __m128i sums = _mm_setzero_si128();
  for (Index j = 0; j < n; j += width) {
    const __m256d v = _mm256_fmsub_pd(load(x + j, n - j), factor, load(origin + j, n - j));
    const __m128i code = _mm256_cvtpd_epi32(_mm256_mul_pd(v, inverse));  // to nearest
    const __m256d rounded = _mm256_mul_pd(_mm256_cvtepi32_pd(code), steps);
    const __m256d error = _mm256_sub_pd(v, rounded);
    squares = _mm256_fmadd_pd(v, v, squares);
    sizes = _mm256_fmadd_pd(rounded, rounded, sizes);
    errors = _mm256_fmadd_pd(error, error, errors);
    products = _mm256_fmadd_pd(v, load(other + j, n - j), products);
    sums = _mm_add_epi32(sums, code);
    const __m128i pairs = _mm_packs_epi32(code, code);
    const std::int32_t four = _mm_cvtsi128_si32(_mm_packs_epi16(pairs, pairs));
    std::memcpy(codes + j, &four, static_cast<std::size_t>(n - j < width ? n - j : width));
  }
  std::int32_t four[width];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(four), sums);
  const std::int32_t sum = four[0] + four[1] + four[2] + four[3];
  return {step, std::sqrt(sum_of(squares)), std::sqrt(sum_of(sizes)), std::sqrt(sum_of(errors)), sum_of(products), sum,
          true};
}

template <class T>
JCMSPL_AVX2 double dot_in_double(const T* x, const T* y, Index n) {
  constexpr Index parts = 4;
  __m256d sums[parts] = {_mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd(), _mm256_setzero_pd()};
  Index j = 0;
  for (; j + parts * width <= n; j += parts * width) {
    JCMSPL_UNROLL
    for (Index part = 0; part < parts; ++part)
      sums[part] = _mm256_fmadd_pd(load(x + j + part * width, width), load(y + j + part * width, width), sums[part]);
  }
  for (; j < n; j += width) sums[0] = _mm256_fmadd_pd(load(x + j, n - j), load(y + j, n - j), sums[0]);
  return sum_of(_mm256_add_pd(_mm256_add_pd(sums[0], sums[1]), _mm256_add_pd(sums[2], sums[3])));
}

constexpr int lanes = 8, vectors = panel_width / lanes;
using Products = __m256i[tile_height][vectors];

// The sums must stay in registers: a few samples and two vectors of candidates at a time, in small separate functions
// whose loops over them are unrolled.
#define JCMSPL_MULTIPLY(name, attributes, n_samples, add)                                                           \
  attributes __attribute__((noinline)) void name(const std::uint8_t* panel, const std::int8_t* codes, Index groups, \
                                                 int sample, int vector, Products& products) {                      \
    __m256i sums[n_samples][2];                                                                                     \
    JCMSPL_UNROLL                                                                                                   \
    for (int i = 0; i < n_samples; ++i) sums[i][0] = sums[i][1] = _mm256_setzero_si256();                           \
    for (Index g = 0; g < groups; ++g) {                                                                            \
      const auto* at = reinterpret_cast<const __m256i*>(panel) + g * vectors + vector;                              \
      const __m256i first = _mm256_loadu_si256(at), second = _mm256_loadu_si256(at + 1);                            \
      JCMSPL_UNROLL                                                                                                 \
      for (int i = 0; i < n_samples; ++i) {                                                                         \
        std::int32_t four;                                                                                          \
        std::memcpy(&four, codes + ((sample + i) * groups + g) * group_size, sizeof four);                          \
        const __m256i values = _mm256_set1_epi32(four);                                                             \
        sums[i][0] = add(sums[i][0], first, values);                                                                \
        sums[i][1] = add(sums[i][1], second, values);                                                               \
      }                                                                                                             \
    }                                                                                                               \
    JCMSPL_UNROLL                                                                                                   \
    for (int i = 0; i < n_samples; ++i) {                                                                           \
      products[sample + i][vector] = sums[i][0];                                                                    \
      products[sample + i][vector + 1] = sums[i][1];                                                                \
    }                                                                                                               \
  }

JCMSPL_AVX2 inline __m256i add_products(__m256i sums, __m256i candidates, __m256i sample) {
  const __m256i pairs = _mm256_maddubs_epi16(candidates, sample);
  return _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

JCMSPL_MULTIPLY(multiply_by_avx2, JCMSPL_AVX2, 3, add_products)
#ifdef JCMSPL_COMPILES_AVX_VNNI
JCMSPL_MULTIPLY(multiply_by_avx_vnni, JCMSPL_AVX_VNNI, 6, _mm256_dpbusd_avx_epi32)
#endif

// With more samples at a time compilers do not keep the sums of a run in registers.
constexpr int at_once = 3;

JCMSPL_AVX2 __attribute__((noinline)) void multiply_by_runs(const Panel& panel, const Tile& tile, Index groups,
                                                            int sample, int vector, Products& products) {
  const Index row_length = groups * group_size, count = n_runs(groups);
  const auto* at = reinterpret_cast<const __m256i*>(panel.codes) + vector;
  const std::int8_t* codes = tile.codes + sample * row_length;
  const std::int32_t* starts = tile.starts + sample * count;
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sums[at_once][2];
  JCMSPL_UNROLL
  for (int i = 0; i < at_once; ++i) sums[i][0] = sums[i][1] = _mm256_set1_epi32(tile.terms[sample + i].offset);
  for (Index run = 0; run < count; ++run, ++starts) {
    __m256i parts[at_once][2];
    JCMSPL_UNROLL
    for (int i = 0; i < at_once; ++i) parts[i][0] = parts[i][1] = _mm256_set1_epi32(starts[i * count]);
    const Index end = (run + 1) * run_groups < groups ? (run + 1) * run_groups : groups;
    JCMSPL_KEEP_LOOP
    for (Index g = run * run_groups; g < end; ++g, at += vectors, codes += group_size) {
      const __m256i first = _mm256_loadu_si256(at), second = _mm256_loadu_si256(at + 1);
      JCMSPL_UNROLL
      for (int i = 0; i < at_once; ++i) {
        std::int32_t four;
        std::memcpy(&four, codes + i * row_length, sizeof four);
        const __m256i values = _mm256_set1_epi32(four);
        parts[i][0] = _mm256_add_epi16(parts[i][0], _mm256_maddubs_epi16(first, values));
        parts[i][1] = _mm256_add_epi16(parts[i][1], _mm256_maddubs_epi16(second, values));
      }
    }
    JCMSPL_UNROLL
    for (int i = 0; i < at_once; ++i) {
      sums[i][0] = _mm256_add_epi32(sums[i][0], _mm256_madd_epi16(parts[i][0], ones));
      sums[i][1] = _mm256_add_epi32(sums[i][1], _mm256_madd_epi16(parts[i][1], ones));
    }
  }
  JCMSPL_UNROLL
  for (int i = 0; i < at_once; ++i) {
    products[sample + i][vector] = sums[i][0];
    products[sample + i][vector + 1] = sums[i][1];
  }
}

JCMSPL_AVX2 void bound(const Panel& panel, const Products& products, const SampleTerms* terms, const float* thresholds,
                       Bounds& bounds) {
  for (int i = 0; i < tile_height; ++i) {
    const SampleTerms& term = terms[i];
    const __m256 step = _mm256_set1_ps(term.step), error = _mm256_set1_ps(term.error), size = _mm256_set1_ps(term.size),
                 weight = _mm256_set1_ps(term.weight), slack = _mm256_set1_ps(term.slack),
                 threshold = _mm256_set1_ps(thresholds[i]);
    const __m256i offset = _mm256_set1_epi32(term.offset);
    bounds.above[i] = 0;
    for (int v = 0; v < vectors; ++v) {
      const __m256 product = _mm256_cvtepi32_ps(_mm256_sub_epi32(products[i][v], offset));
      __m256 upper = _mm256_fmadd_ps(weight, _mm256_loadu_ps(panel.bias + v * lanes), slack);
      upper = _mm256_fmadd_ps(size, _mm256_loadu_ps(panel.error + v * lanes), upper);
      upper = _mm256_fmadd_ps(error, _mm256_loadu_ps(panel.length + v * lanes), upper);
      upper = _mm256_fmadd_ps(_mm256_mul_ps(step, _mm256_loadu_ps(panel.step + v * lanes)), product, upper);
      _mm256_store_ps(bounds.upper[i] + v * lanes, upper);
      const auto above = static_cast<std::uint64_t>(_mm256_movemask_ps(_mm256_cmp_ps(upper, threshold, _CMP_NLT_UQ)));
      bounds.above[i] |= above << (v * lanes);
    }
  }
}

JCMSPL_AVX2 void find_bounds_by_avx2(const Panel& panel, const Tile& tile, Index groups, const float* thresholds,
                                     Bounds& bounds) {
  Products products;
  const bool fit = runs_fit(panel, tile);
  for (int v = 0; v < vectors; v += 2)
    for (int i = 0; i < tile_height; i += at_once)
      if (fit)
        multiply_by_runs(panel, tile, groups, i, v, products);
      else
        multiply_by_avx2(panel.codes, tile.codes, groups, i, v, products);
  bound(panel, products, tile.terms, thresholds, bounds);
}

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

#ifdef JCMSPL_COMPILES_AVX_VNNI

JCMSPL_AVX2 void find_bounds_by_avx_vnni(const Panel& panel, const Tile& tile, Index groups, const float* thresholds,
                                         Bounds& bounds) {
  Products products;
  for (int v = 0; v < vectors; v += 2) multiply_by_avx_vnni(panel.codes, tile.codes, groups, 0, v, products);
  bound(panel, products, tile.terms, thresholds, bounds);
}

#endif

}  // namespace

const ByteKernels* avx2_kernels() {
  static constexpr ByteKernels kernels{"avx2",
                                       63,
                                       64,
                                       true,
                                       round_to_bytes<float>,
                                       round_to_bytes<double>,
                                       dot_in_double<float>,
                                       dot_in_double<double>,
                                       find_bounds_by_avx2};
  return has_avx2() ? &kernels : nullptr;
}

const ByteKernels* avx_vnni_kernels() {
#ifdef JCMSPL_COMPILES_AVX_VNNI
  static constexpr ByteKernels kernels{"avx_vnni",
                                       127,
                                       128,
                                       false,
                                       round_to_bytes<float>,
                                       round_to_bytes<double>,
                                       dot_in_double<float>,
                                       dot_in_double<double>,
                                       find_bounds_by_avx_vnni};
  if (has_avx2() && __builtin_cpu_supports("avxvnni")) return &kernels;
#endif
  return nullptr;
}

}  // namespace jcmspl::search

#else

namespace jcmspl::search {

const ByteKernels* avx2_kernels() { return nullptr; }
const ByteKernels* avx_vnni_kernels() { return nullptr; }

}  // namespace jcmspl::search

#endif
