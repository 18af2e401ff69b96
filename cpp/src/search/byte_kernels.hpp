// The byte products of one instruction set each, of which search/byte_products.cpp chooses one at run time.
#pragma once

#include "search/byte_products.hpp"

namespace jcmspl::search {

struct ByteKernels {
  const char* name;
  int candidate_limit;  // the largest code of a candidate: where products of two bytes are summed in 16 bits it is less
  Rounded (*round_floats)(const float* x, double scale, const double* origin, const double* other, Index n, int limit,
                          std::int8_t* codes);
  Rounded (*round_doubles)(const double* x, double scale, const double* origin, const double* other, Index n, int limit,
                           std::int8_t* codes);
  double (*dot_floats)(const float* x, const float* y, Index n);
  double (*dot_doubles)(const double* x, const double* y, Index n);
  void (*find_bounds)(const Panel& panel, const std::int8_t* codes, Index groups, const SampleTerms* terms,
                      const float* thresholds, Bounds& bounds);
};

// Null where the CPU, or the compiler, has no such instructions.
const ByteKernels* avx512_vnni_kernels();
const ByteKernels* avx_vnni_kernels();
const ByteKernels* avx2_kernels();

}  // namespace jcmspl::search
