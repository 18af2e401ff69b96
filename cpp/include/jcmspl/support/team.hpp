// The threads that share a computation, and the poll of its caller.
#pragma once

#include "jcmspl/support/types.hpp"

namespace jcmspl {

// Give more than one thread only while BLAS uses one.
struct Team {
  Index n_threads = 1;
  Poll poll = [] {};
};

}  // namespace jcmspl
