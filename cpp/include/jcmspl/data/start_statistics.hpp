#pragma once

#include "jcmspl/data/samples.hpp"
#include "jcmspl/support/types.hpp"

namespace jcmspl {

// The sums of a start C0, given sample by sample, that the first iteration needs. Transposed, as all matrices of the
// core.
class StartStatistics {
public:
  StartStatistics(Index n_concepts, Index n_features, Index n_classes);

  // Adds samples with their codes, a row of k values each; all of them or, when it throws, none.
  template <class Code, class T>
  void update(const Samples<Code>& codes, const Samples<T>& samples, const std::int64_t* labels);

  Index n_concepts() const { return code_gram.rows(); }
  Index n_features() const { return sample_code.rows(); }
  Index n_classes() const { return class_code_sums.rows(); }

  MatrixD code_gram;        // C0 C0'      k x k
  MatrixD sample_code;      // X C0'       m x k
  MatrixD class_code_sums;  // L' C0'      c x k
};

}  // namespace jcmspl
