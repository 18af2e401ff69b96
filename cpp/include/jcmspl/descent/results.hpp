#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "jcmspl/support/types.hpp"

namespace jcmspl::descent {

// The five terms of the objective, weights included, in the order of the formula in descent/solve.hpp.
struct Terms {
  double visual_projection, semantic_projection, class_codes, visual_reconstruction, semantic_reconstruction;
  double sum() const {
    return visual_projection + semantic_projection + class_codes + visual_reconstruction + semantic_reconstruction;
  }
};

// The norms of the gradients with respect to A, B and C, each divided by the sum of the norms of its terms.
struct Stationarity {
  double visual, semantic, concepts;
  bool finite() const { return std::isfinite(visual) && std::isfinite(semantic) && std::isfinite(concepts); }
};

// Seconds per stage.
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

// Transposed, as all matrices of the core.
struct Results {
  MatrixD visual_projection;    // A'   m x k
  MatrixD semantic_projection;  // B'   d x k
  MatrixD codes_of_samples;     // P'   m x k   empty unless Settings::want_codes
  MatrixD codes_of_classes;     // E'   c x k   empty unless Settings::want_codes
  Info info;
};

// Thrown when a value is not finite. Iteration 0 is the start.
struct Diverged : std::overflow_error {
  explicit Diverged(int at) : std::overflow_error("not finite in iteration " + std::to_string(at)), iteration(at) {}
  int iteration;
};

}  // namespace jcmspl::descent
