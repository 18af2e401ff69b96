#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "jcmspl/search/recognition.hpp"
#include "search/byte_products.hpp"
#include "testing.hpp"

namespace jcmspl::search {

namespace {

// Calls function() with each of the kernels that this CPU has, and with the portable ones.
template <class Function>
void for_each_kernel(Function function) {
  for (const char* name : {"avx512_vnni", "avx_vnni", "avx2", "neon", "portable", "portable_runs", "portable_signed"})
    if (use_byte_products(name))
      function();
    else
      std::printf("no %s on this CPU\n", name);
  use_byte_products("fastest");
}

using Codes = std::vector<std::int8_t>;

// Codes of a panel of candidates and a tile of samples, by rows.
struct Case {
  Index groups;
  Codes candidates, samples;
};

Codes random_codes(Index count, int limit, double spread, std::mt19937& generator) {
  std::normal_distribution<double> normal;
  Codes codes(static_cast<std::size_t>(count));
  for (std::int8_t& code : codes)
    code = static_cast<std::int8_t>(std::fmax(-limit, std::fmin(limit, std::nearbyint(spread * normal(generator)))));
  return codes;
}

std::vector<Case> cases() {
  std::mt19937 generator(0);
  std::vector<Case> all;
  const int limit = candidate_limit();
  for (const Index groups : {1, 5, 6, 7, 12, 13, 40, 64}) {
    const Index rows = groups * group_size;
    for (const double spread : {0.02, 0.2, 0.5, 20.0})  // the last: all codes are as large as they may be
      all.push_back({groups, random_codes(panel_width * rows, limit, spread * limit, generator),
                     random_codes(tile_height * rows, sample_limit, spread * sample_limit, generator)});
    for (const int sign : {-1, 1})  // the sums are as large as they may be
      all.push_back(
          {groups, Codes(static_cast<std::size_t>(panel_width * rows), static_cast<std::int8_t>(limit)),
           Codes(static_cast<std::size_t>(tile_height * rows), static_cast<std::int8_t>(sign * sample_limit))});
  }
  return all;
}

TEST(bounds_are_those_of_the_definition) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for_each_kernel([&] {
    int n_fitting = 0, n_others = 0;
    for (const Case& data : cases()) {
      const Index row = data.groups * group_size, runs = n_runs(data.groups);
      std::vector<std::uint8_t> bytes(data.candidates.size());
      std::vector<float> terms(4 * panel_width);
      Panel panel{bytes.data(), &terms[0], &terms[panel_width], &terms[2 * panel_width], &terms[3 * panel_width], 0};
      for (Index c = 0; c < panel_width; ++c) {
        const std::int8_t* codes = &data.candidates[c * row];
        for (Index j = 0; j < row; ++j)
          bytes[(j / group_size * panel_width + c) * group_size + j % group_size] =
              static_cast<std::uint8_t>(codes[j] + candidate_offset());
        panel.largest_run = std::max(panel.largest_run, largest_run(codes, data.groups));
        for (Index t = 0; t < 4; ++t) terms[t * panel_width + c] = static_cast<float>(1 + (c + t) % 3);
      }
      std::vector<std::int32_t> starts(tile_height * runs);
      SampleTerms samples[tile_height];
      for (Index i = 0; i < tile_height; ++i) {
        const std::int8_t* codes = &data.samples[i * row];
        std::int32_t sum = 0;
        for (Index j = 0; j < row; ++j) sum += codes[j];
        samples[i] = {1, 2, 3, 5, 7, candidate_offset() * sum, largest_run(codes, data.groups)};
        find_run_starts(codes, data.groups, &starts[i * runs]);
      }
      const Tile tile{data.samples.data(), starts.data(), samples};
      ++(runs_fit(panel, tile) ? n_fitting : n_others);

      // All sums are whole numbers that floats hold, so that there is no rounding.
      float expected[tile_height][panel_width], thresholds[tile_height];
      for (Index i = 0; i < tile_height; ++i) {
        for (Index c = 0; c < panel_width; ++c) {
          std::int64_t product = 0;
          for (Index j = 0; j < row; ++j) product += data.samples[i * row + j] * data.candidates[c * row + j];
          expected[i][c] = panel.step[c] * static_cast<float>(product) + 2 * panel.length[c] + 3 * panel.error[c] +
                           5 * panel.bias[c] + 7;
        }
        thresholds[i] = i == 0 ? nan : i == 1 ? infinity : i == 2 ? -infinity : expected[i][7 * i];
      }
      Bounds bounds;
      find_bounds(panel, tile, data.groups, thresholds, bounds);
      bool equal = true;
      for (Index i = 0; i < tile_height; ++i)
        for (Index c = 0; c < panel_width; ++c)
          equal = equal && bounds.upper[i][c] == expected[i][c] &&
                  (bounds.above[i] >> c & 1) == !(expected[i][c] < thresholds[i]);
      CHECK(equal);
    }
    CHECK(!sums_runs() || (n_fitting > 5 && n_others > 5));
  });
}

template <class T>
void check_rounding(Index n, double scale) {
  std::mt19937 generator(static_cast<unsigned>(n));
  std::normal_distribution<double> normal;
  std::vector<T> x(static_cast<std::size_t>(n));
  std::vector<double> origin(x.size()), other(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    x[j] = static_cast<T>(normal(generator));
    origin[j] = scale * normal(generator);
    other[j] = normal(generator);
  }
  for (const int limit : {63, 127}) {
    Codes codes(x.size() + 1, 111);  // one more, which must stay
    const Rounded found = round_to_bytes(x.data(), scale, origin.data(), other.data(), n, limit, codes.data());
    double length = 0, size = 0, error = 0, along = 0, largest = 0;
    int sum = 0;
    bool near = true;
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double v = scale * static_cast<double>(x[j]) - origin[j], rounded = found.step * codes[j];
      length += v * v;
      size += rounded * rounded;
      error += (v - rounded) * (v - rounded);
      along += v * other[j];
      sum += codes[j];
      largest = std::fmax(largest, std::abs(v));
      near = near && std::abs(v - rounded) <= 0.5000001 * found.step && std::abs(codes[j]) <= limit;
    }
    const auto equal = [](double a, double b) { return std::abs(a - b) <= 1e-12 * (std::abs(a) + std::abs(b)); };
    CHECK(found.exists && near && codes.back() == 111 && found.sum == sum);
    CHECK(equal(found.step * limit, largest) && equal(found.length, std::sqrt(length)));
    CHECK(equal(found.size, std::sqrt(size)) && std::abs(found.error - std::sqrt(error)) <= 1e-12 * found.length);
    CHECK(std::abs(found.along - along) <= 1e-12 * std::sqrt(length * static_cast<double>(n)));
  }
}

TEST(vectors_are_rounded_to_bytes) {
  for_each_kernel([] {
    for (const Index n : {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 33, 100})
      for (const double scale : {1.0, 1e-130, 1e130}) {
        check_rounding<double>(n, scale);
        check_rounding<float>(n, scale);
      }
  });
}

TEST(vectors_without_bytes) {
  for_each_kernel([] {
    const std::vector<double> zeros(19);
    for (const double size : {0.0, 1e-145, 1e145, std::numeric_limits<double>::infinity()}) {
      std::vector<double> x(19);
      x[17] = size;
      Codes codes(19, 5);
      const Rounded found = round_to_bytes(x.data(), 1, zeros.data(), zeros.data(), 19, 127, codes.data());
      CHECK(found.exists == (size == 0));
      CHECK(size != 0 || (codes == Codes(19) && found.length == 0 && found.sum == 0));
    }
  });
}

TEST(products_in_double_precision) {
  for_each_kernel([] {
    for (const Index n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100}) {
      std::vector<float> x(static_cast<std::size_t>(n)), y(x.size());
      std::vector<double> wide_x(x.size()), wide_y(x.size());
      double expected = 0;
      for (std::size_t j = 0; j < x.size(); ++j) {
        wide_x[j] = x[j] = static_cast<float>(j % 7) - 3;
        wide_y[j] = y[j] = static_cast<float>(j % 5) * 1000;
        expected += wide_x[j] * wide_y[j];
      }
      CHECK(dot_in_double(x.data(), y.data(), n) == expected);
      CHECK(dot_in_double(wide_x.data(), wide_y.data(), n) == expected);
    }
  });
}

}  // namespace

}  // namespace jcmspl::search
