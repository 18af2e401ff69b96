// Products of bytes by the instructions of AVX-512 VNNI.
#include <cmath>
#include <cstring>

#include "search/byte_kernels.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#if !defined(__clang__) && __GNUC__ < 13  // it warns of code in its own header
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

// A function with this attribute may use the instructions; the rest of the library must not. Therefore these functions
// call no templates of other headers, whose compiled code the linker could share with other callers.
#define JCMSPL_VNNI __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma")))

#ifdef __clang__
#define JCMSPL_UNROLL _Pragma("unroll")
#else
#define JCMSPL_UNROLL _Pragma("GCC unroll 8")
#endif

namespace jcmspl::search {

namespace {

bool has_instructions() {
  static const bool yes = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("fma");
  return yes;
}

// Eight values as doubles; those from count on are zero.
JCMSPL_VNNI inline __m512d load(const double* x, Index count) {
  return count >= 8 ? _mm512_loadu_pd(x) : _mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << count) - 1), x);
}

JCMSPL_VNNI inline __m512d load(const float* x, Index count) {
  return _mm512_cvtps_pd(count >= 8 ? _mm256_loadu_ps(x)
                                    : _mm256_maskz_loadu_ps(static_cast<__mmask8>((1u << count) - 1), x));
}

template <class T>
JCMSPL_VNNI Rounded round_to_bytes(const T* x, double scale, const double* origin, const double* other, Index n,
                                   int limit, std::int8_t* codes) {
  const __m512d factor = _mm512_set1_pd(scale);
  __m512d largest_of = _mm512_setzero_pd();
  for (Index j = 0; j < n; j += 8) {
    const __m512d v = _mm512_fmsub_pd(load(x + j, n - j), factor, load(origin + j, n - j));
    largest_of = _mm512_max_pd(largest_of, _mm512_abs_pd(v));
  }
  const double largest = _mm512_reduce_max_pd(largest_of);
  if (largest == 0) {
    std::memset(codes, 0, static_cast<std::size_t>(n));
    return {0, 0, 0, 0, 0, 0, true};
  }
  if (!(largest > 1e-140 && largest < 1e140)) return {0, 0, 0, 0, 0, 0, false};

  const double step = largest / limit;
  const __m512d steps = _mm512_set1_pd(step), inverse = _mm512_set1_pd(1 / step);
  __m512d squares = _mm512_setzero_pd(), sizes = squares, errors = squares, products = squares;
  __m256i sums = _mm256_setzero_si256();
  for (Index j = 0; j < n; j += 8) {
    const __m512d v = _mm512_fmsub_pd(load(x + j, n - j), factor, load(origin + j, n - j));
    const __m256i code = _mm512_cvtpd_epi32(_mm512_mul_pd(v, inverse));  // to nearest
    const __m512d rounded = _mm512_mul_pd(_mm512_cvtepi32_pd(code), steps);
    const __m512d error = _mm512_sub_pd(v, rounded);
    squares = _mm512_fmadd_pd(v, v, squares);
    sizes = _mm512_fmadd_pd(rounded, rounded, sizes);
    errors = _mm512_fmadd_pd(error, error, errors);
    products = _mm512_fmadd_pd(v, load(other + j, n - j), products);
    sums = _mm256_add_epi32(sums, code);
    const __mmask8 inside = n - j >= 8 ? __mmask8{255} : static_cast<__mmask8>((1u << (n - j)) - 1);
    _mm256_mask_cvtepi32_storeu_epi8(codes + j, inside, code);
  }
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  const std::int32_t sum = _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, 0xb1)));
  return {step,
          std::sqrt(_mm512_reduce_add_pd(squares)),
          std::sqrt(_mm512_reduce_add_pd(sizes)),
          std::sqrt(_mm512_reduce_add_pd(errors)),
          _mm512_reduce_add_pd(products),
          sum,
          true};
}

template <class T>
JCMSPL_VNNI double dot_in_double(const T* x, const T* y, Index n) {
  __m512d even = _mm512_setzero_pd(), odd = even;
  for (Index j = 0; j < n; j += 16) {
    even = _mm512_fmadd_pd(load(x + j, n - j), load(y + j, n - j), even);
    if (n - j > 8) odd = _mm512_fmadd_pd(load(x + j + 8, n - j - 8), load(y + j + 8, n - j - 8), odd);
  }
  return _mm512_reduce_add_pd(_mm512_add_pd(even, odd));
}

constexpr int lanes = 16, vectors = panel_width / lanes;

// The sums must stay in registers. Compilers manage that only in a small separate function whose loops over them are
// unrolled.
JCMSPL_VNNI __attribute__((noinline)) void multiply(const std::uint8_t* panel, const std::int8_t* codes, Index groups,
                                                    __m512i (&products)[tile_height][vectors]) {
  __m512i sums[tile_height][vectors];
  JCMSPL_UNROLL
  for (int i = 0; i < tile_height; ++i) {
    JCMSPL_UNROLL
    for (int v = 0; v < vectors; ++v) sums[i][v] = _mm512_setzero_si512();
  }
  for (Index g = 0; g < groups; ++g) {
    __m512i candidates[vectors];
    JCMSPL_UNROLL
    for (int v = 0; v < vectors; ++v)
      candidates[v] = _mm512_loadu_si512(panel + (g * vectors + v) * lanes * group_size);
    JCMSPL_UNROLL
    for (int i = 0; i < tile_height; ++i) {
      std::int32_t four;
      std::memcpy(&four, codes + (i * groups + g) * group_size, sizeof four);
      const __m512i sample = _mm512_set1_epi32(four);
      JCMSPL_UNROLL
      for (int v = 0; v < vectors; ++v) sums[i][v] = _mm512_dpbusd_epi32(sums[i][v], candidates[v], sample);
    }
  }
  JCMSPL_UNROLL
  for (int i = 0; i < tile_height; ++i) {
    JCMSPL_UNROLL
    for (int v = 0; v < vectors; ++v) products[i][v] = sums[i][v];
  }
}

JCMSPL_VNNI void find_bounds_by_vnni(const Panel& panel, const Tile& tile, Index groups, const float* thresholds,
                                     Bounds& bounds) {
  __m512i products[tile_height][vectors];
  multiply(panel.codes, tile.codes, groups, products);
  for (int i = 0; i < tile_height; ++i) {
    const SampleTerms& term = tile.terms[i];
    const __m512 step = _mm512_set1_ps(term.step), error = _mm512_set1_ps(term.error), size = _mm512_set1_ps(term.size),
                 weight = _mm512_set1_ps(term.weight), slack = _mm512_set1_ps(term.slack),
                 threshold = _mm512_set1_ps(thresholds[i]);
    const __m512i offset = _mm512_set1_epi32(term.offset);
    bounds.above[i] = 0;
    for (int v = 0; v < vectors; ++v) {
      const __m512 product = _mm512_cvtepi32_ps(_mm512_sub_epi32(products[i][v], offset));
      __m512 upper = _mm512_fmadd_ps(weight, _mm512_loadu_ps(panel.bias + v * lanes), slack);
      upper = _mm512_fmadd_ps(size, _mm512_loadu_ps(panel.error + v * lanes), upper);
      upper = _mm512_fmadd_ps(error, _mm512_loadu_ps(panel.length + v * lanes), upper);
      upper = _mm512_fmadd_ps(_mm512_mul_ps(step, _mm512_loadu_ps(panel.step + v * lanes)), product, upper);
      _mm512_store_ps(bounds.upper[i] + v * lanes, upper);
      const std::uint64_t above = _mm512_cmp_ps_mask(upper, threshold, _CMP_NLT_UQ);
      bounds.above[i] |= above << (v * lanes);
    }
  }
}

}  // namespace

const ByteKernels* avx512_vnni_kernels() {
  static constexpr ByteKernels kernels{"avx512_vnni",
                                       127,
                                       128,
                                       false,
                                       round_to_bytes<float>,
                                       round_to_bytes<double>,
                                       dot_in_double<float>,
                                       dot_in_double<double>,
                                       find_bounds_by_vnni};
  return has_instructions() ? &kernels : nullptr;
}

}  // namespace jcmspl::search

#else

namespace jcmspl::search {

const ByteKernels* avx512_vnni_kernels() { return nullptr; }

}  // namespace jcmspl::search

#endif
