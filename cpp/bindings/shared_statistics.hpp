// Statistics as Python sees them: several threads may use one object at once.
#pragma once

#include <mutex>

#include "jcmspl/statistics.hpp"

namespace jcmspl::bindings {

struct SharedStatistics {
  SharedStatistics(Index n_features, Index n_classes) : value(n_features, n_classes) {}
  SharedStatistics(SharedStatistics&& other) : value(std::move(other.value)) {}

  Statistics copy() {
    const std::lock_guard lock(mutex);
    return value;
  }

  Statistics value;
  std::mutex mutex;
};

}  // namespace jcmspl::bindings
