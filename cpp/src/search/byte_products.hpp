// Inner products of vectors that are rounded to one byte a value.
//
// BLAS has none, and CPUs with the instructions for them (AVX-512 VNNI, AVX-VNNI) compute four times as many as
// products of floats; those with AVX2 alone twice as many, of candidates with a bit less. All code that depends on the
// CPU is behind this header. Its functions may be called only where byte_products_available() returns true.
#pragma once

#include <cstdint>

#include "jcmspl/support/types.hpp"

namespace jcmspl::search {

// Whether this CPU has the instructions, or use_byte_products (recognition.hpp) has chosen to do without.
bool byte_products_available();

// The largest code that a candidate may have; that of samples is 127.
constexpr int sample_limit = 127;
int candidate_limit();

// Candidates are processed in panels, samples in tiles, features in groups as large as one instruction takes.
constexpr Index panel_width = 64;
constexpr Index tile_height = 6;
constexpr Index group_size = 4;
constexpr Index max_features = 65536;  // sums of products must fit into 32 bits

inline Index n_groups(Index n_features) { return (n_features + group_size - 1) / group_size; }

// v = scale x - origin, rounded to step * code with codes from -limit to limit. Lengths and sums are in double
// precision.
struct Rounded {
  double step;
  double length;     // |v|
  double size;       // |step code|
  double error;      // |v - step code|
  double along;      // <v, other>
  std::int32_t sum;  // of the codes
  bool exists;       // false if sums of squares of v would overflow or underflow
};

Rounded round_to_bytes(const float* x, double scale, const double* origin, const double* other, Index n, int limit,
                       std::int8_t* codes);
Rounded round_to_bytes(const double* x, double scale, const double* origin, const double* other, Index n, int limit,
                       std::int8_t* codes);

// <x, y>, summed in double precision.
double dot_in_double(const float* x, const float* y, Index n);
double dot_in_double(const double* x, const double* y, Index n);

// An upper bound of the score of candidate c for sample i is the sum of
//   step_i step_c <code_i, code_c>  +  error_i length_c  +  size_i error_c  +  weight_i bias_c  +  slack_i
// It is never below the score, and above it by no more than twice the terms with an error or slack.
struct Panel {
  const std::uint8_t*
      codes;  // codes + candidate_limit() + 1 of panel_width candidates: by groups of features, then by candidates
  const float *step, *length, *error, *bias;  // panel_width each
};

struct SampleTerms {
  float step, error, size, weight, slack;
  std::int32_t offset;  // candidate_limit() + 1 times the sum of the sample's codes
};

// The upper bounds of tile_height samples, and for each sample a bit for each candidate: set if its bound is not below
// the sample's threshold, or NaN.
struct Bounds {
  alignas(64) float upper[tile_height][panel_width];
  std::uint64_t above[tile_height];
};

// codes: tile_height rows of 4 n_groups values
void find_bounds(const Panel& panel, const std::int8_t* codes, Index groups, const SampleTerms* terms,
                 const float* thresholds, Bounds& bounds);

}  // namespace jcmspl::search
