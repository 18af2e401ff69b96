// Inner products of vectors that are rounded to one byte a value.
//
// BLAS has none, and CPUs with the instructions for them (AVX-512 VNNI, found out at run time) do four times as many as
// products of floats. All that depends on the CPU is behind this header. Nothing but available() may be called unless
// it says so.
#pragma once

#include <cstdint>

#include "jcmspl/support/types.hpp"

namespace jcmspl::bytes {

bool available();

// Candidates come in panels, samples in tiles, features in groups that one instruction takes.
constexpr Index panel_width = 64;
constexpr Index tile_height = 6;
constexpr Index group_size = 4;
constexpr Index max_features = 65536;  // sums of products must fit into 32 bits

inline Index n_groups(Index n_features) { return (n_features + group_size - 1) / group_size; }

// v = scale x - origin is near step * code, with codes from -127 to 127. What lengths and sums are known of it, in
// double precision:
struct Rounded {
  double step;
  double length;     // |v|
  double size;       // |step code|
  double error;      // |v - step code|
  double along;      // <v, other>
  std::int32_t sum;  // of the codes
  bool exists;       // not if v is too large or too small for the sums
};

Rounded round(const float* x, double scale, const double* origin, const double* other, Index n, std::int8_t* codes);
Rounded round(const double* x, double scale, const double* origin, const double* other, Index n, std::int8_t* codes);

// <x, y>, summed in double precision.
double dot(const float* x, const float* y, Index n);
double dot(const double* x, const double* y, Index n);

// An upper bound of the score of candidate c for sample i is the sum of
//   step_i step_c <code_i, code_c>  +  error_i length_c  +  size_i error_c  +  weight_i bias_c  +  slack_i
// It is never below the score, and above it by no more than twice the terms with an error or slack.
struct Panel {
  const std::uint8_t* codes;  // codes + 128 of panel_width candidates: by groups of features, then by candidates
  const float *step, *length, *error, *bias;  // panel_width each
};

struct SampleTerms {
  float step, error, size, weight, slack;
  std::int32_t offset;  // 128 times the sum of the sample's codes
};

// The bounds of tile_height samples, and for each a bit set of those that are not below its threshold (NaN is not).
struct Bounds {
  alignas(64) float upper[tile_height][panel_width];
  std::uint64_t above[tile_height];
};

// codes: tile_height rows of 4 n_groups values
void find_bounds(const Panel& panel, const std::int8_t* codes, Index groups, const SampleTerms* terms,
                 const float* thresholds, Bounds& bounds);

}  // namespace jcmspl::bytes
