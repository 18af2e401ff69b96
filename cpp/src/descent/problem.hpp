#pragma once

#include <vector>

#include "jcmspl/data/spectrum.hpp"
#include "jcmspl/descent/settings.hpp"

namespace jcmspl::descent {

// The data, settings and dimensions of a fit, constant over its iterations. Refers to the spectrum, the settings
// and the team, which must outlive it.
struct Problem {
  Problem(const Spectrum& spectrum, const Settings& given, const Team& threads);

  const Spectrum& data;
  const Settings& settings;
  const Team& team;
  const Index k, c, r, q, s;    // concepts; classes; ranks of X and Y; coordinates of a row of X, Y, H or C
  std::vector<Index> class_of;  // for each concept the class of its block, where H is one
  double H_squared = 0;         // |H|^2

  struct Weights {
    double l1, l2, l3, l4;
  };
  Weights weights() const { return {settings.l1, settings.l2, settings.l3, settings.l4}; }

  // (1 + l3) A X for one concept: its first r coordinates, from a column of A'. The others are zero.
  template <class Column>
  auto weighted_visual_code(const Column& of_At) const {
    return (1 + settings.l3) * data.roots.cwiseProduct(of_At);
  }
};

}  // namespace jcmspl::descent
