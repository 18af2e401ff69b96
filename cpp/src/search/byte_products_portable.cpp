// Products of bytes in plain C++: slow, and only for tests. Each is the twin of kernels that some CPUs lack.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "search/byte_kernels.hpp"

namespace jcmspl::search {

namespace {

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

// A function that returns the code of feature j of candidate c, with its offset, as a number of the given type.
template <class Byte>
auto candidate_codes(const Panel& panel, Index c) {
  return [=](Index j) {
    return std::int32_t{
        static_cast<Byte>(panel.codes[(j / group_size * panel_width + c) * group_size + j % group_size])};
  };
}

template <class Byte>
std::int32_t product(const Panel& panel, const std::int8_t* codes, Index groups, Index c) {
  const auto candidate = candidate_codes<Byte>(panel, c);
  std::int32_t sum = 0;
  for (Index j = 0; j < groups * group_size; ++j) sum += codes[j] * candidate(j);
  return sum;
}

// Sums of 16 bits that wrap around.
std::int32_t product_by_runs(const Panel& panel, const std::int8_t* codes, const std::int32_t* starts, Index groups,
                             Index c) {
  const auto candidate = candidate_codes<std::uint8_t>(panel, c);
  std::int32_t sum = 0;
  for (Index run = 0; run < n_runs(groups); ++run) {
    std::uint16_t parts[2];
    std::memcpy(parts, starts + run, sizeof parts);
    for (Index j = run * run_groups * group_size; j < std::min((run + 1) * run_groups, groups) * group_size; ++j)
      parts[j / 2 % 2] = static_cast<std::uint16_t>(parts[j / 2 % 2] + codes[j] * candidate(j));
    for (const std::uint16_t part : parts) sum += static_cast<std::int16_t>(part);
  }
  return sum;
}

template <class Byte, bool of_runs>
void find_bounds(const Panel& panel, const Tile& tile, Index groups, const float* thresholds, Bounds& bounds) {
  for (Index i = 0; i < tile_height; ++i) {
    const SampleTerms& term = tile.terms[i];
    const std::int8_t* codes = tile.codes + i * groups * group_size;
    bounds.above[i] = 0;
    for (Index c = 0; c < panel_width; ++c) {
      const std::int32_t sum = of_runs && runs_fit(panel, tile)
                                   ? product_by_runs(panel, codes, tile.starts + i * n_runs(groups), groups, c)
                                   : product<Byte>(panel, codes, groups, c) - term.offset;
      const float upper = term.step * panel.step[c] * static_cast<float>(sum) + term.error * panel.length[c] +
                          term.size * panel.error[c] + term.weight * panel.bias[c] + term.slack;
      bounds.upper[i][c] = upper;
      if (!(upper < thresholds[i])) bounds.above[i] |= std::uint64_t{1} << c;
    }
  }
}

template <class Byte, bool of_runs>
constexpr ByteKernels kernels(const char* name, int candidate_limit, int candidate_offset) {
  return {name,
          candidate_limit,
          candidate_offset,
          of_runs,
          round_to_bytes<float>,
          round_to_bytes<double>,
          dot_in_double<float>,
          dot_in_double<double>,
          find_bounds<Byte, of_runs>};
}

}  // namespace

constexpr ByteKernels portable_kernels = kernels<std::uint8_t, false>("portable", 127, 128);
constexpr ByteKernels portable_kernels_of_runs = kernels<std::uint8_t, true>("portable_runs", 63, 64);
constexpr ByteKernels portable_signed_kernels = kernels<std::int8_t, false>("portable_signed", 127, 0);

}  // namespace jcmspl::search
