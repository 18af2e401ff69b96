// Statistics as Python sees them: several threads may use one object at once.
//
// The lock is never held by a thread that may need the GIL: nothing polls for signals under it, and whoever takes it
// has let go of the GIL before.
#pragma once

#include <mutex>
#include <utility>

#include "jcmspl/data/statistics.hpp"

namespace jcmspl::bindings {

class SharedStatistics {
public:
  SharedStatistics(Index features, Index classes) : SharedStatistics(Statistics(features, classes)) {}
  explicit SharedStatistics(Statistics&& value)
      : n_features(value.n_features()),
        n_classes(value.n_classes()),
        block_rows(value.block_rows()),
        value_(std::move(value)) {}
  SharedStatistics(SharedStatistics&& other) : SharedStatistics(std::move(other.value_)) {}

  // Calls function(statistics) under the lock.
  template <class Function>
  auto with(Function function) {
    const std::lock_guard lock(mutex_);
    return function(value_);
  }

  const Index n_features, n_classes, block_rows;

private:
  Statistics value_;
  std::mutex mutex_;
};

}  // namespace jcmspl::bindings
