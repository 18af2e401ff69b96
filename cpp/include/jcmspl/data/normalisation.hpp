// Normalisation of samples by way of their statistics: z = T (x - shift) / scale. All of it is computed in place, on
// the lower triangle of the Gram matrix.
//
// T whitens by the scatter within classes, S, with w its mean eigenvalue: T (S + b w I) T' is a multiple of the
// identity, and the mean square length of the samples becomes 1. b is the shrinkage. T is the inverse of a Cholesky
// factor, or symmetric: any two such T differ by a rotation.
#pragma once

#include <optional>

#include "jcmspl/data/statistics.hpp"
#include "jcmspl/support/team.hpp"

namespace jcmspl {

// Shifts and scales each column. noise: how much of the sum of squares of each column, after that, may be rounding: a
// column with no more is constant, and becomes zero.
Statistics shifted_and_scaled(Statistics statistics, const VectorD& shift, const VectorD& scale, const VectorD& noise);

struct Whitening {
  MatrixD Tt;  // T', upper triangular or symmetric   m x m
  Statistics statistics;
};

// noise: the error of an element i, j of the Gram matrix is up to noise[i] noise[j]. Nothing if samples of a class do
// not differ.
std::optional<Whitening> whiten(Statistics statistics, double shrinkage, const VectorD& noise, bool symmetric,
                                const Team& team);

// The statistics of samples that are whitened by a given T', m x k.
Statistics whitened(Statistics statistics, const MatrixD& Tt, const VectorD& noise, const Team& team);

}  // namespace jcmspl
