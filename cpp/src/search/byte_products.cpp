#include "search/byte_products.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <string>

#include "jcmspl/search/recognition.hpp"
#include "search/byte_kernels.hpp"

namespace jcmspl::search {

namespace {

// The same functions in plain C++: slow, and only for tests.
namespace portable {

template <class T>
Rounded round_to_bytes(const T* x, double scale, const double* origin, const double* other, Index n, int limit,
                       std::int8_t* codes) {
  const auto value = [=](Index j) { return std::fma(static_cast<double>(x[j]), scale, -origin[j]); };
  double largest = 0;
  for (Index j = 0; j < n; ++j) largest = std::max(largest, std::abs(value(j)));
  Rounded out{0, 0, 0, 0, 0, 0, largest == 0 || (largest > 1e-140 && largest < 1e140)};
  if (largest == 0) std::memset(codes, 0, static_cast<std::size_t>(n));
  if (largest == 0 || !out.exists) return out;
  out.step = largest / limit;
  for (Index j = 0; j < n; ++j) {
    const double v = value(j), code = std::nearbyint(v / out.step), rounded = code * out.step;
    out.length += v * v;
    out.size += rounded * rounded;
    out.error += (v - rounded) * (v - rounded);
    out.along += v * other[j];
    out.sum += static_cast<std::int32_t>(code);
    codes[j] = static_cast<std::int8_t>(code);
  }
  for (double* square : {&out.length, &out.size, &out.error}) *square = std::sqrt(*square);
  return out;
}

template <class T>
double dot_in_double(const T* x, const T* y, Index n) {
  double sum = 0;
  for (Index j = 0; j < n; ++j) sum += static_cast<double>(x[j]) * static_cast<double>(y[j]);
  return sum;
}

void find_bounds(const Panel& panel, const std::int8_t* codes, Index groups, const SampleTerms* terms,
                 const float* thresholds, Bounds& bounds) {
  for (Index i = 0; i < tile_height; ++i) {
    const SampleTerms& term = terms[i];
    bounds.above[i] = 0;
    for (Index c = 0; c < panel_width; ++c) {
      std::int32_t product = -term.offset;
      for (Index j = 0; j < groups * group_size; ++j)
        product += codes[i * groups * group_size + j] *
                   panel.codes[(j / group_size * panel_width + c) * group_size + j % group_size];
      const float upper = term.step * panel.step[c] * static_cast<float>(product) + term.error * panel.length[c] +
                          term.size * panel.error[c] + term.weight * panel.bias[c] + term.slack;
      bounds.upper[i][c] = upper;
      if (!(upper < thresholds[i])) bounds.above[i] |= std::uint64_t{1} << c;
    }
  }
}

constexpr ByteKernels kernels(const char* name, int candidate_limit) {
  return {name,
          candidate_limit,
          round_to_bytes<float>,
          round_to_bytes<double>,
          dot_in_double<float>,
          dot_in_double<double>,
          find_bounds};
}

}  // namespace portable

constexpr ByteKernels none{"none", 0, nullptr, nullptr, nullptr, nullptr, nullptr};

const ByteKernels& fastest() {
  static const ByteKernels& found = [&]() -> const ByteKernels& {
    for (const ByteKernels* kernels : {avx512_vnni_kernels(), avx_vnni_kernels(), avx2_kernels()})
      if (kernels) return *kernels;
    return none;
  }();
  return found;
}

std::atomic<const ByteKernels*> chosen{nullptr};

const ByteKernels& kernels() {
  const ByteKernels* own = chosen;
  return own ? *own : fastest();
}

}  // namespace

bool use_byte_products(const std::string& name) {
  // "portable63" is the twin of AVX2, whose candidates have smaller codes.
  static constexpr ByteKernels whole = portable::kernels("portable", 127), small = portable::kernels("portable63", 63);
  for (const ByteKernels* known :
       {avx512_vnni_kernels(), avx_vnni_kernels(), avx2_kernels(), &whole, &small, &none, &fastest()})
    if (known && (name == known->name || (name == "fastest" && known == &fastest()))) {
      chosen = known;
      return true;
    }
  return false;
}

std::string byte_products() { return kernels().name; }

bool byte_products_available() { return kernels().find_bounds; }

int candidate_limit() { return kernels().candidate_limit; }

Rounded round_to_bytes(const float* x, double scale, const double* origin, const double* other, Index n, int limit,
                       std::int8_t* codes) {
  return kernels().round_floats(x, scale, origin, other, n, limit, codes);
}

Rounded round_to_bytes(const double* x, double scale, const double* origin, const double* other, Index n, int limit,
                       std::int8_t* codes) {
  return kernels().round_doubles(x, scale, origin, other, n, limit, codes);
}

double dot_in_double(const float* x, const float* y, Index n) { return kernels().dot_floats(x, y, n); }

double dot_in_double(const double* x, const double* y, Index n) { return kernels().dot_doubles(x, y, n); }

void find_bounds(const Panel& panel, const std::int8_t* codes, Index groups, const SampleTerms* terms,
                 const float* thresholds, Bounds& bounds) {
  kernels().find_bounds(panel, codes, groups, terms, thresholds, bounds);
}

}  // namespace jcmspl::search
