// Block coordinate descent for
//
//   min over A,B,C  1/2 |AX-C|^2 + l1/2 |BY-C|^2 + l2/2 |C-H|^2 + l3/2 |X-A'C|^2 + l4/2 |Y-B'C|^2
//
// on sufficient statistics. After an update C = P X + E L' with L the one-hot labels, so that C has
// no more coordinates than X and L' span, whatever the number of samples. All matrices are stored
// transposed and, inside the solver, seen in the bases of the Spectrum: there XX' and YY' are
// diagonal.
#pragma once

#include <cmath>
#include <functional>
#include <stdexcept>
#include <variant>
#include <vector>

#include "jcmspl/data/spectrum.hpp"

namespace jcmspl {

struct Settings {
  double l1 = 1, l2 = 1, l3 = 1, l4 = 1;
  Index n_concepts = 0;
  int max_iter = 35;
  double tol = 1e-6;        // stop when an iteration lowers the objective by less than this part of it; 0: never
  bool want_codes = false;  // whether to return P and E as well
};

// The five terms of the objective, weights included, in the order of the formula above.
struct Terms {
  double visual_projection, semantic_projection, class_codes, visual_reconstruction, semantic_reconstruction;
  double sum() const {
    return visual_projection + semantic_projection + class_codes + visual_reconstruction + semantic_reconstruction;
  }
};

// The norm of each block's gradient, relative to the norms of the parts it is the sum of.
struct Stationarity {
  double visual, semantic, concept_codes;
  bool finite() const { return std::isfinite(visual) && std::isfinite(semantic) && std::isfinite(concept_codes); }
};

struct Timings {
  double start = 0, projections = 0, concepts = 0, objective = 0, finish = 0;
};

struct Info {
  int n_iter = 0;
  bool converged = false;
  std::vector<Terms> terms;  // after each iteration
  Stationarity stationarity{};
  Timings timings;
};

struct Results {
  MatrixD visual_projection;    // A'   m x k
  MatrixD semantic_projection;  // B'   d x k
  MatrixD codes_of_samples;     // P'   m x k    C = P X + E L', if they are wanted
  MatrixD codes_of_classes;     // E'   c x k
  Info info;
};

// Where the descent starts: codes per class (E0', c x k), or what codes per sample amount to.
using Start = std::variant<MatrixD, StartStatistics>;

struct Diverged : std::overflow_error {
  explicit Diverged(int at) : std::overflow_error("not finite in iteration " + std::to_string(at)), iteration(at) {}
  int iteration;
};

// Called after each iteration with its number and objective.
using OnIteration = std::function<void(int, double)>;

// The first concept row of each class, and one past the last: k rows in c consecutive blocks, as
// even as possible.
std::vector<Index> concept_blocks(Index n_concepts, Index n_classes);

Results solve(const Spectrum& spectrum, const Settings& settings, const Start& start, const OnIteration& on_iteration,
              const Poll& poll);

}  // namespace jcmspl
