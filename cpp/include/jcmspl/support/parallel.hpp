// Loops on threads of our own, for work that BLAS does not do.
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

// Every thread calls make_worker() once, and what it returns as worker(block, poll) for each block that it takes: a
// worker owns all that it writes to but the results of its blocks. The calling thread is one of them, and the only one
// that calls the given poll.
//
// Blocks are taken in ascending order and given up only for an error in an earlier one, or in the poll. So the error
// that is thrown is that of the first block that has one, whatever the threads do.
template <class MakeWorker>
void for_each_in_parallel(Index n_blocks, Index n_threads, const Poll& poll, MakeWorker make_worker) {
  struct GivenUp {};
  std::atomic<Index> next{0}, failed{n_blocks};
  std::exception_ptr error;
  std::size_t n_running = 0;  // of the helpers
  std::mutex mutex;           // of these two
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
  } catch (...) {  // no more threads to be had: fewer do it too
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

// The same for ranges: calls worker(first, last, poll) for parts of 0..count - 1, each enough work for a thread to be
// worth its start. cost: of one of them, in values that are read.
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
