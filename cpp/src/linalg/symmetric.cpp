#include "jcmspl/linalg/symmetric.hpp"

#include <cmath>

namespace jcmspl {

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
