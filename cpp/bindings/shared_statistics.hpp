// Statistics as Python sees them: several threads may use one object at once.
//
// To avoid deadlock, no thread acquires the GIL while it holds the lock: nothing polls for signals then, and the GIL is
// released before the lock is acquired.
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
