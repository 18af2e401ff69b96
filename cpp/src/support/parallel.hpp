// Parallel loops, for work that BLAS does not do.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "jcmspl/support/types.hpp"

namespace jcmspl {

// Calls worker(block, poll) for each block, on n_threads threads. Each thread makes its own worker by make_worker(), so
// that workers share nothing but the results of their blocks. The calling thread is one of the threads, and the only
// one that calls the given poll.
//
// Threads take blocks in ascending order, and abandon one only for an error in an earlier block or in the poll. So the
// error of the first failing block is thrown, in whatever order the threads run.
template <class MakeWorker>
void for_each_in_parallel(Index n_blocks, Index n_threads, const Poll& poll, MakeWorker make_worker) {
  struct GivenUp {};
  std::atomic<Index> next{0}, failed{n_blocks};
  std::exception_ptr error;
  std::size_t n_running = 0;  // helpers
  std::mutex mutex;           // guards error and n_running
  std::condition_variable helper_ends;

  const auto fail = [&](Index block) {
    const std::lock_guard lock(mutex);
    if (block >= failed) return;
    failed = block;
    error = std::current_exception();
  };
  const auto poll_as_caller = [&] {
    try {
      poll();
    } catch (...) {
      fail(-1);
    }
  };
  const auto take_blocks = [&](bool is_caller) {
    Index block = -1;
    try {
      const Poll own_poll = [&] {
        if (is_caller) poll_as_caller();
        if (failed < block) throw GivenUp();
      };
      auto worker = make_worker();
      while (failed == n_blocks && (block = next++) < n_blocks) {
        worker(block, own_poll);
        own_poll();
      }
    } catch (const GivenUp&) {
    } catch (...) {
      fail(block);
    }
  };
  const auto help = [&] {
    take_blocks(false);
    const std::lock_guard lock(mutex);
    --n_running;
    helper_ends.notify_one();
  };

  std::vector<std::thread> helpers;
  try {
    for (Index i = 1; i < std::min(n_threads, n_blocks); ++i) {
      const std::lock_guard lock(mutex);
      helpers.emplace_back(help);
      ++n_running;
    }
  } catch (...) {  // the system has no more threads: continue with those that have started
  }
  take_blocks(true);
  std::unique_lock lock(mutex);
  while (n_running > 0) {
    helper_ends.wait_for(lock, std::chrono::milliseconds(50));
    lock.unlock();
    poll_as_caller();
    lock.lock();
  }
  lock.unlock();
  for (std::thread& helper : helpers) helper.join();
  if (error) std::rethrow_exception(error);
}

// Lets the workers of a loop do a part of their work one after the other, in the order of their blocks, so that sums of
// blocks do not depend on the number of threads.
class InOrder {
public:
  // Calls function() when all earlier blocks have done so.
  template <class Function>
  void operator()(Index block, const Poll& poll, Function function) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(50), [&] { return next_ == block; })) {
      lock.unlock();
      poll();  // throws if an earlier block has failed
      lock.lock();
    }
    function();
    ++next_;
    changed_.notify_all();
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Index next_ = 0;
};

// for_each_in_parallel for ranges: calls worker(first, last, poll) for parts of 0..count - 1, each long enough to be
// worth a thread. cost: the number of values that are read for each index.
template <class MakeWorker>
void for_ranges_in_parallel(Index count, Index cost, Index n_threads, const Poll& poll, MakeWorker make_worker) {
  const Index size = std::max<Index>(1, 131072 / std::max<Index>(1, cost));
  for_each_in_parallel((count + size - 1) / size, n_threads, poll, [&] {
    return [=, worker = make_worker()](Index block, const Poll& own_poll) mutable {
      worker(block * size, std::min(count, (block + 1) * size), own_poll);
    };
  });
}

}  // namespace jcmspl
