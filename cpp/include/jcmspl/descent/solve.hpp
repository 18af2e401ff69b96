// Block coordinate descent for
//
//   min over A,B,C  1/2 |AX-C|^2 + l1/2 |BY-C|^2 + l2/2 |C-H|^2 + l3/2 |X-A'C|^2 + l4/2 |Y-B'C|^2
//
// on sufficient statistics. After an update C = P X + E L' with L the one-hot labels, so that C has no more coordinates
// than X and L' span, whatever the number of samples. docs/algorithm.md has the table of symbols and the derivations.
#pragma once

#include <functional>
#include <variant>

#include "jcmspl/data/spectrum.hpp"
#include "jcmspl/data/start_statistics.hpp"
#include "jcmspl/descent/results.hpp"
#include "jcmspl/descent/settings.hpp"

namespace jcmspl::descent {

// The first C: codes per class (E0', c x k, so that C = E0 L'), or the statistics of codes per sample.
using Start = std::variant<MatrixD, StartStatistics>;

// Called after each iteration with its number and objective.
using OnIteration = std::function<void(int, double)>;

Results solve(const Spectrum& spectrum, const Settings& settings, const Start& start, const OnIteration& on_iteration,
              const Team& team);

}  // namespace jcmspl::descent
