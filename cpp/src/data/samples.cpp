#include "jcmspl/data/samples.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <type_traits>

#include "jcmspl/data/half.hpp"

namespace jcmspl {

namespace {

template <class Values>
bool within(const Values& values, double limit) {  // NaN is beyond any limit
  return values.size() == 0 || static_cast<double>(values.cwiseAbs().template maxCoeff<Eigen::PropagateNaN>()) <= limit;
}

}  // namespace

template <class T>
void check_row(const Samples<T>& samples, Index row, double limit) {
  const T* first = samples.data + row * samples.row_stride;
  using Computed = std::conditional_t<std::is_floating_point_v<T>, T, float>;
  const auto value = [=](Index j) { return static_cast<Computed>(first[j * samples.col_stride]); };
  const auto values = Vector<Computed>::NullaryExpr(samples.cols, value);
  if (!within(values, limit)) throw BadValue(row, within(values, std::numeric_limits<double>::max()));
}

template <class T>
void check_values(const Samples<T>& samples, double limit) {
  for (Index i = 0; i < samples.rows; ++i) check_row(samples, i, limit);
}

template void check_row(const Samples<float>&, Index, double);
template void check_row(const Samples<double>&, Index, double);
template void check_row(const Samples<Half>&, Index, double);
template void check_row(const Samples<BFloat16>&, Index, double);
template void check_values(const Samples<Half>&, double);
template void check_values(const Samples<BFloat16>&, double);
template void check_values(const Samples<float>&, double);
template void check_values(const Samples<double>&, double);

void check_labels(const std::int64_t* labels, Index count, Index n_classes) {
  for (Index i = 0; i < count; ++i)
    if (labels[i] < 0 || labels[i] >= n_classes)
      throw std::out_of_range("label " + std::to_string(labels[i]) + " of sample " + std::to_string(i) +
                              " is outside 0.." + std::to_string(n_classes - 1));
}

Index block_rows(Index values_per_row) {
  constexpr Index block_values = Index(1) << 21;  // 16 MB of doubles
  return std::clamp<Index>(block_values / std::max<Index>(1, values_per_row), 64, 8192);
}

}  // namespace jcmspl
