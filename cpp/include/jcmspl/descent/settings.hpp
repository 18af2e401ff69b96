#pragma once

#include "jcmspl/support/types.hpp"

namespace jcmspl::descent {

// The parameters of a fit. l1..l4 are the weights of the objective (descent/solve.hpp), all at least 0.
struct Settings {
  double l1 = 1, l2 = 1, l3 = 1, l4 = 1;
  Index n_concepts = 0;  // k, at least the number of classes
  int max_iter = 35;
  double tol = 1e-6;        // stop when an iteration lowers the objective by less than tol times its value; 0: never
  bool want_codes = false;  // whether to return P and E, which C = P X + E L' is made of
};

}  // namespace jcmspl::descent
