#include "descent/problem.hpp"

#include "jcmspl/descent/concept_blocks.hpp"

namespace jcmspl::descent {

Problem::Problem(const Spectrum& spectrum, const Settings& given, const Team& threads)
    : data(spectrum),
      settings(given),
      team(threads),
      k(given.n_concepts),
      c(spectrum.n_classes()),
      r(spectrum.visual.rank()),
      q(spectrum.semantic.rank()),
      s(spectrum.n_coordinates()) {
  const std::vector<Index> block = concept_blocks(k, c);
  for (Index cls = 0; cls < c; ++cls) class_of.insert(class_of.end(), block[cls + 1] - block[cls], cls);
  for (const Index cls : class_of) H_squared += data.counts[cls];
}

}  // namespace jcmspl::descent
