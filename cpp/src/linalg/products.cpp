#include "linalg/products.hpp"

#include <algorithm>

#include "support/parallel.hpp"

namespace jcmspl {

namespace {

// Rows or columns of op(a).
template <class T>
ConstView<T> rows_of_product(Op op, const ConstView<T>& a, Index first, Index count) {
  if (op == Op::none) return {a.data() + first, count, a.cols(), Eigen::OuterStride<>(a.outerStride())};
  return {a.data() + first * a.outerStride(), a.rows(), count, Eigen::OuterStride<>(a.outerStride())};
}

template <class T>
ConstView<T> cols_of_product(Op op, const ConstView<T>& a, Index first, Index count) {
  return rows_of_product(op == Op::none ? Op::transpose : Op::none, a, first, count);
}

template <class T>
View<T> block_of(View<T>& c, Index row, Index col, Index rows, Index cols) {
  return {c.data() + row + col * c.outerStride(), rows, cols, Eigen::OuterStride<>(c.outerStride())};
}

}  // namespace

void for_panels(Index count, Index least, double multiplications, const Team& team,
                const std::function<void(Index, Index)>& panel) {
  const Index n_panels = multiplications < least_shared_work ? 1 : std::min<Index>(count / least / 2 * 2, 16);
  if (n_panels < 2) return panel(0, count);
  const Index width = (count + n_panels - 1) / n_panels;
  for_each_in_parallel(n_panels, team.n_threads, team.poll, [&] {
    return [&](Index index, const Poll&) {
      const Index first = std::min(count, index * width);
      panel(first, std::min(width, count - first));
    };
  });
}

template <class T>
void gemm_in_panels(const Team& team, Op op_a, Op op_b, double alpha, ConstView<T> a, ConstView<T> b, double beta,
                    View<T> c) {
  eigen_assert(rows_of(op_a, a) == c.rows() && cols_of(op_b, b) == c.cols() && "gemm: the shapes do not match");
  const double work = static_cast<double>(c.size()) * static_cast<double>(cols_of(op_a, a));
  if (c.rows() >= c.cols())
    for_panels(c.rows(), 64, work, team, [&](Index first, Index count) {
      gemm(op_a, op_b, alpha, rows_of_product(op_a, a, first, count), b, beta, block_of(c, first, 0, count, c.cols()));
    });
  else
    for_panels(c.cols(), 64, work, team, [&](Index first, Index count) {
      gemm(op_a, op_b, alpha, a, cols_of_product(op_b, b, first, count), beta, block_of(c, 0, first, c.rows(), count));
    });
}

template <class T>
void syrk_in_panels(const Team& team, Op op, double alpha, ConstView<T> a, double beta, View<T> c) {
  eigen_assert(rows_of(op, a) == c.rows() && c.rows() == c.cols() && "syrk: the shapes do not match");
  const double work = static_cast<double>(c.size()) / 2 * static_cast<double>(cols_of(op, a));
  const Op flipped = op == Op::none ? Op::transpose : Op::none;
  for_panels(c.rows(), 64, work, team, [&](Index first, Index count) {  // of columns, the longest ones first
    const Index below = first + count, rest = c.rows() - below;
    const ConstView<T> own = rows_of_product(op, a, first, count);
    syrk(op, alpha, own, beta, block_of(c, first, first, count, count));
    gemm(op, flipped, alpha, rows_of_product(op, a, below, rest), own, beta, block_of(c, below, first, rest, count));
  });
}

template <class T>
void trmm_in_panels(const Team& team, Side side, Op op, double alpha, ConstView<T> a, View<T> b) {
  const double work = static_cast<double>(b.size()) / 2 * static_cast<double>(a.rows());
  if (side == Side::right)
    for_panels(b.rows(), 64, work, team,
               [&](Index first, Index count) { trmm(side, op, alpha, a, block_of(b, first, 0, count, b.cols())); });
  else
    for_panels(b.cols(), 64, work, team,
               [&](Index first, Index count) { trmm(side, op, alpha, a, block_of(b, 0, first, b.rows(), count)); });
}

#define JCMSPL_INSTANTIATE(T)                                                                             \
  template void gemm_in_panels(const Team&, Op, Op, double, ConstView<T>, ConstView<T>, double, View<T>); \
  template void syrk_in_panels(const Team&, Op, double, ConstView<T>, double, View<T>);                   \
  template void trmm_in_panels(const Team&, Side, Op, double, ConstView<T>, View<T>);
JCMSPL_INSTANTIATE(float)
JCMSPL_INSTANTIATE(double)
#undef JCMSPL_INSTANTIATE

}  // namespace jcmspl
