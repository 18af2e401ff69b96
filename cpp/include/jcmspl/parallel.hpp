// Loops on threads of our own, for work that BLAS does not do.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "jcmspl/types.hpp"

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
  std::mutex error_mutex;
  const auto fail = [&](Index block) {
    const std::lock_guard lock(error_mutex);
    if (block >= failed) return;
    failed = block;
    error = std::current_exception();
  };

  const auto take_blocks = [&](bool is_caller) {
    Index block = -1;
    const Poll own_poll = [&] {
      if (is_caller) try {
          poll();
        } catch (...) {
          fail(-1);
        }
      if (failed < block) throw GivenUp();
    };
    try {
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

  std::vector<std::thread> helpers;
  try {
    while (static_cast<Index>(helpers.size()) < std::min(n_threads, n_blocks) - 1)
      helpers.emplace_back(take_blocks, false);
  } catch (const std::system_error&) {  // no more threads to be had: fewer do it too
  }
  take_blocks(true);
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
