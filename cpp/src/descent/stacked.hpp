#pragma once

#include "jcmspl/support/types.hpp"

namespace jcmspl::descent {

// Two matrices with the same number of columns, one on top of the other in the same memory, so that one product serves
// both.
class Stacked {
public:
  Stacked(Index top_rows, Index bottom_rows, Index cols) : top_rows_(top_rows), all_(top_rows + bottom_rows, cols) {}

  View<double> all() { return view(all_); }
  View<double> top() { return {all_.data(), top_rows_, all_.cols(), stride()}; }
  View<double> bottom() { return {all_.data() + top_rows_, bottom_rows(), all_.cols(), stride()}; }

  ConstView<double> top() const { return first_rows(top_rows_); }
  ConstView<double> bottom() const { return {all_.data() + top_rows_, bottom_rows(), all_.cols(), stride()}; }
  // The first rows, those of the top before those of the bottom.
  ConstView<double> first_rows(Index count) const { return {all_.data(), count, all_.cols(), stride()}; }

private:
  Index bottom_rows() const { return all_.rows() - top_rows_; }
  Eigen::OuterStride<> stride() const { return Eigen::OuterStride<>(all_.rows()); }

  Index top_rows_;
  MatrixD all_;
};

}  // namespace jcmspl::descent
