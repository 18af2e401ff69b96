// Statistics as Python sees them: several threads may use one object at once.
//
// To avoid deadlock, no thread acquires the GIL while it holds the lock: nothing polls for signals then, and the GIL is
// released before the lock is acquired.
#pragma once

#include <mutex>
#include <utility>

#include "jcmspl/data/start_statistics.hpp"
#include "jcmspl/data/statistics.hpp"

namespace jcmspl::bindings {

template <class Value>
class Locked {
public:
  template <class... Args>
  explicit Locked(Args&&... args) : value_(std::forward<Args>(args)...) {}

  // Calls function(value) under the lock.
  template <class Function>
  auto with(Function function) {
    const std::lock_guard lock(mutex_);
    return function(value_);
  }

private:
  Value value_;
  std::mutex mutex_;
};

using SharedStart = Locked<StartStatistics>;

class SharedStatistics : public Locked<Statistics> {
public:
  SharedStatistics(Index features, Index classes) : SharedStatistics(Statistics(features, classes)) {}
  explicit SharedStatistics(Statistics&& value)
      : Locked(std::move(value)),
        n_features(with([](const Statistics& s) { return s.n_features(); })),
        n_classes(with([](const Statistics& s) { return s.n_classes(); })),
        block_rows(with([](const Statistics& s) { return s.block_rows(); })) {}

  const Index n_features, n_classes, block_rows;
};

}  // namespace jcmspl::bindings
