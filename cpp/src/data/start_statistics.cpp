#include "jcmspl/data/start_statistics.hpp"

#include <algorithm>
#include <stdexcept>

#include "data/sample_reader.hpp"
#include "linalg/blas.hpp"

namespace jcmspl {

StartStatistics::StartStatistics(Index n_concepts, Index n_features, Index n_classes)
    : code_gram(MatrixD::Zero(n_concepts, n_concepts)),
      sample_code(MatrixD::Zero(n_features, n_concepts)),
      class_code_sums(MatrixD::Zero(n_classes, n_concepts)) {}

template <class Code, class T>
void StartStatistics::update(const Samples<Code>& codes, const Samples<T>& samples, const std::int64_t* labels) {
  if (codes.cols != n_concepts() || samples.cols != n_features() || codes.rows != samples.rows)
    throw std::invalid_argument("the codes or the samples have the wrong shape");
  check_labels(labels, codes.rows, n_classes());
  check_values(codes, largest_value);
  check_values(samples, largest_value);
  SampleReader<double, Code> code_reader(codes);
  SampleReader<double, T> sample_reader(samples);
  // Steps only keep copies small.
  const bool in_place = code_reader.in_place() && sample_reader.in_place();
  const Index step = in_place ? std::max<Index>(1, codes.rows) : block_rows(n_concepts() + n_features());
  for (Index first = 0; first < codes.rows; first += step) {
    const Index rows = std::min(step, codes.rows - first);
    const ConstView<double> c = code_reader.read(first, rows), x = sample_reader.read(first, rows);
    gemm(Op::none, Op::transpose, 1, c, c, 1, code_gram);
    gemm(Op::none, Op::transpose, 1, x, c, 1, sample_code);
    for (Index i = 0; i < rows; ++i) class_code_sums.row(labels[first + i]) += c.col(i).transpose();
  }
}

#define JCMSPL_INSTANTIATE(Code, T) \
  template void StartStatistics::update(const Samples<Code>&, const Samples<T>&, const std::int64_t*);
JCMSPL_INSTANTIATE(float, float)
JCMSPL_INSTANTIATE(float, double)
JCMSPL_INSTANTIATE(double, float)
JCMSPL_INSTANTIATE(double, double)
#undef JCMSPL_INSTANTIATE

}  // namespace jcmspl
