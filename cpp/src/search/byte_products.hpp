// Inner products of vectors that are rounded to one byte a value.
//
// BLAS has none, and CPUs with the instructions for them (AVX-512 VNNI, AVX-VNNI, dot products of NEON) compute four
// times as many as products of floats; those with AVX2 alone more than twice as many, of candidates with a bit less.
// All code that depends on the CPU is behind this header. Its functions may be called only where
// byte_products_available() returns true.
#pragma once

#include <cstdint>

#include "jcmspl/support/types.hpp"

namespace jcmspl::search {

// Whether this CPU has the instructions, or use_byte_products (recognition.hpp) has chosen to do without.
bool byte_products_available();

// The largest code that a candidate may have; that of samples is 127.
constexpr int sample_limit = 127;
int candidate_limit();
int candidate_offset();  // added to the codes of candidates

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

// Where there are only instructions that sum products in 16 bits, these sums hold a run of groups: each has the first
// two features, or the last two, of all groups of the run. They may wrap around on the way if the result, without the
// offset of candidates, fits: it is at most |codes of the sample| |codes of the candidate| of these features.
constexpr Index run_groups = 6;

inline Index n_runs(Index groups) { return (groups + run_groups - 1) / run_groups; }

bool sums_runs();  // whether the kernels need what these two functions return

// The largest square of the length of the codes that are summed together.
std::int32_t largest_run(const std::int8_t* codes, Index groups);
// Minus the offset of candidates times the sums of a sample's codes, as two numbers of 16 bits for each run.
void find_run_starts(const std::int8_t* codes, Index groups, std::int32_t* starts);

// An upper bound of the score of candidate c for sample i is the sum of
//   step_i step_c <code_i, code_c>  +  error_i length_c  +  size_i error_c  +  weight_i bias_c  +  slack_i
// It is never below the score, and above it by no more than twice the terms with an error or slack.
struct Panel {
  const std::uint8_t*
      codes;  // codes + candidate_offset() of panel_width candidates: by groups of features, then by candidates
  const float *step, *length, *error, *bias;  // panel_width each
  std::int32_t largest_run;                   // of all of them; 0 unless sums_runs()
};

struct SampleTerms {
  float step, error, size, weight, slack;
  std::int32_t offset;       // candidate_offset() times the sum of the sample's codes
  std::int32_t largest_run;  // 0 unless sums_runs()
};

// tile_height samples
struct Tile {
  const std::int8_t* codes;    // rows of 4 n_groups values
  const std::int32_t* starts;  // rows of n_runs values, if sums_runs()
  const SampleTerms* terms;
};

// Whether sums of runs fit into 16 bits.
inline bool runs_fit(const Panel& panel, const Tile& tile) {
  std::int64_t largest = 0;
  for (Index i = 0; i < tile_height; ++i)
    largest = largest < tile.terms[i].largest_run ? tile.terms[i].largest_run : largest;
  return largest * panel.largest_run <= std::int64_t{32767} * 32767;
}

// The upper bounds of tile_height samples, and for each sample a bit for each candidate: set if its bound is not below
// the sample's threshold, or NaN.
struct Bounds {
  alignas(64) float upper[tile_height][panel_width];
  std::uint64_t above[tile_height];
};

void find_bounds(const Panel& panel, const Tile& tile, Index groups, const float* thresholds, Bounds& bounds);

}  // namespace jcmspl::search
