// The byte products of one instruction set each, of which search/byte_products.cpp chooses one at run time.
#pragma once

#include "search/byte_products.hpp"

namespace jcmspl::search {

struct ByteKernels {
  const char* name;
  int candidate_limit;  // the largest code of a candidate: where products of two bytes are summed in 16 bits it is less
  int candidate_offset;  // added to the codes of candidates, where instructions multiply signed bytes by unsigned ones
  bool sums_runs;        // needs the facts of runs
  Rounded (*round_floats)(const float* x, double scale, const double* origin, const double* other, Index n, int limit,
                          std::int8_t* codes);
  Rounded (*round_doubles)(const double* x, double scale, const double* origin, const double* other, Index n, int limit,
                           std::int8_t* codes);
  double (*dot_floats)(const float* x, const float* y, Index n);
  double (*dot_doubles)(const double* x, const double* y, Index n);
  void (*find_bounds)(const Panel& panel, const Tile& tile, Index groups, const float* thresholds, Bounds& bounds);
};

// Null where the CPU, or the compiler, has no such instructions.
const ByteKernels* avx512_vnni_kernels();
const ByteKernels* avx_vnni_kernels();
const ByteKernels* avx2_kernels();
const ByteKernels* neon_kernels();

// Twins of the above in plain C++, for tests: of kernels with sums of 32 bits, of those of AVX2, and of those of NEON.
extern const ByteKernels portable_kernels, portable_kernels_of_runs, portable_signed_kernels;

}  // namespace jcmspl::search
