#include "linalg/symmetric.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace jcmspl {

// Tile by tile, so that an element and its mirror image are in cache together.
MatrixD full_symmetric(MatrixD a) {
  constexpr Index tile = 32;
  const Index n = a.rows();
  for (Index j0 = 0; j0 < n; j0 += tile)
    for (Index i0 = j0; i0 < n; i0 += tile)
      for (Index j = j0; j < std::min(j0 + tile, n); ++j)
        for (Index i = std::max(i0, j + 1); i < std::min(i0 + tile, n); ++i) a(j, i) = a(i, j);
  return a;
}

MatrixD transposed_lower(MatrixD lower) {
  MatrixD out = full_symmetric(std::move(lower));
  out.triangularView<Eigen::StrictlyLower>().setZero();
  return out;
}

SymmetricProduct symmetric_product(const MatrixD& a, const MatrixD& b) {
  double ab = a.diagonal().dot(b.diagonal()), aa = a.diagonal().squaredNorm(), bb = b.diagonal().squaredNorm();
  for (Index j = 0; j + 1 < a.cols(); ++j) {
    const auto x = a.col(j).tail(a.rows() - j - 1), y = b.col(j).tail(a.rows() - j - 1);
    ab += 2 * x.dot(y);
    aa += 2 * x.squaredNorm();
    bb += 2 * y.squaredNorm();
  }
  return {ab, std::sqrt(aa) * std::sqrt(bb)};
}

}  // namespace jcmspl
