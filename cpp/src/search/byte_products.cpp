#include "search/byte_products.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>

#include "jcmspl/search/recognition.hpp"
#include "search/byte_kernels.hpp"

namespace jcmspl::search {

namespace {

constexpr ByteKernels none{"none", 0, 0, false, nullptr, nullptr, nullptr, nullptr, nullptr};

const ByteKernels& fastest() {
  static const ByteKernels& found = [&]() -> const ByteKernels& {
    for (const ByteKernels* kernels : {avx512_vnni_kernels(), avx_vnni_kernels(), avx2_kernels(), neon_kernels()})
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
  for (const ByteKernels* known :
       {avx512_vnni_kernels(), avx_vnni_kernels(), avx2_kernels(), neon_kernels(), &portable_kernels,
        &portable_kernels_of_runs, &portable_signed_kernels, &none, &fastest()})
    if (known && (name == known->name || (name == "fastest" && known == &fastest()))) {
      chosen = known;
      return true;
    }
  return false;
}

std::string byte_products() { return kernels().name; }

bool byte_products_available() { return kernels().find_bounds; }

int candidate_limit() { return kernels().candidate_limit; }

int candidate_offset() { return kernels().candidate_offset; }

bool sums_runs() { return kernels().sums_runs; }

std::int32_t largest_run(const std::int8_t* codes, Index groups) {
  std::int32_t largest = 0;
  for (Index run = 0; run < groups; run += run_groups) {
    std::int32_t first = 0, second = 0;
    for (Index g = run; g < std::min(run + run_groups, groups); ++g) {
      const std::int8_t* four = codes + g * group_size;
      first += four[0] * four[0] + four[1] * four[1];
      second += four[2] * four[2] + four[3] * four[3];
    }
    largest = std::max({largest, first, second});
  }
  return largest;
}

void find_run_starts(const std::int8_t* codes, Index groups, std::int32_t* starts) {
  for (Index run = 0; run < n_runs(groups); ++run) {
    std::int32_t first = 0, second = 0;
    for (Index g = run * run_groups; g < std::min((run + 1) * run_groups, groups); ++g) {
      const std::int8_t* four = codes + g * group_size;
      first += four[0] + four[1];
      second += four[2] + four[3];
    }
    const std::uint16_t both[2] = {static_cast<std::uint16_t>(-candidate_offset() * first),
                                   static_cast<std::uint16_t>(-candidate_offset() * second)};
    std::memcpy(starts + run, both, sizeof both);
  }
}

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

void find_bounds(const Panel& panel, const Tile& tile, Index groups, const float* thresholds, Bounds& bounds) {
  kernels().find_bounds(panel, tile, groups, thresholds, bounds);
}

}  // namespace jcmspl::search
