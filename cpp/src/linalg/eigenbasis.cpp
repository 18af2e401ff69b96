#include "jcmspl/linalg/eigenbasis.hpp"

#include <limits>
#include <utility>

#include "linalg/products.hpp"

namespace jcmspl {

Eigenbasis::Eigenbasis(MatrixD G_lower, Index noise_dimension, const Poll& poll) : dimension_(G_lower.rows()) {
  reflectors_.reduce(std::move(G_lower));
  poll();
  auto [all, vectors] = reflectors_.eigen();
  const Index n = all.size();
  const double largest = n == 0 ? 0 : all[n - 1];
  const double noise = std::numeric_limits<double>::epsilon() * static_cast<double>(noise_dimension) * largest;
  Index first = 0;  // the eigenvalues ascend
  while (first < n && !(all[first] > noise)) ++first;
  values_ = all.tail(n - first);
  if (first == 0)
    vectors_ = std::move(vectors);
  else
    vectors_ = vectors.rightCols(n - first);
}

MatrixD Eigenbasis::project(const Argument& a, const Team& team) const {
  MatrixD rotated = a;
  reflectors_.apply(Side::left, true, rotated, team);
  MatrixD out(rank(), a.cols());
  gemm(team, Op::transpose, Op::none, 1, vectors_, rotated, 0, out);
  return out;
}

MatrixD Eigenbasis::lift(const Argument& a, const Team& team) const {
  MatrixD out(dimension_, a.cols());
  gemm(team, Op::none, Op::none, 1, vectors_, a, 0, out);
  reflectors_.apply(Side::left, false, out, team);
  return out;
}

}  // namespace jcmspl
