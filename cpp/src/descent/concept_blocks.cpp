#include "jcmspl/descent/concept_blocks.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace jcmspl::descent {

std::vector<Index> concept_blocks(Index n_concepts, Index n_classes) {
  if (n_classes < 1) throw std::invalid_argument("there must be at least one class");
  if (n_concepts < n_classes)
    throw std::invalid_argument("n_concepts (" + std::to_string(n_concepts) + ") is less than the number of classes (" +
                                std::to_string(n_classes) + ")");
  std::vector<Index> first(static_cast<std::size_t>(n_classes) + 1);
  for (Index cls = 0; cls <= n_classes; ++cls)  // the first k mod c blocks are one longer
    first[cls] = cls * (n_concepts / n_classes) + std::min(cls, n_concepts % n_classes);
  return first;
}

}  // namespace jcmspl::descent
