#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/parallel.hpp"
#include "testing.hpp"

namespace jcmspl {

namespace {

const Poll no_poll = [] {};

struct Stop {};

// The message of the error that the loop throws.
template <class Loop>
std::string error_of(Loop loop) {
  try {
    loop();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(every_block_is_worked_on_once) {
  for (const Index n_blocks : {0, 1, 2, 7, 500})
    for (const Index n_threads : {1, 2, 8}) {
      std::vector<std::atomic<int>> counts(static_cast<std::size_t>(n_blocks));
      std::atomic<int> n_workers{0};
      for_each_in_parallel(n_blocks, n_threads, no_poll, [&] {
        ++n_workers;
        return [&](Index block, const Poll&) { ++counts[static_cast<std::size_t>(block)]; };
      });
      for (const auto& count : counts) CHECK(count == 1);
      CHECK(n_workers <= std::max<Index>(1, std::min(n_blocks, n_threads)));
    }
}

TEST(ranges_cover_every_index_once) {
  for (const Index count : {0, 1, 5, 1000, 300000})
    for (const Index cost : {0, 1, 1000, 200000}) {
      if (count * cost > Index(1) << 30) continue;
      std::vector<int> counts(static_cast<std::size_t>(count));
      for_ranges_in_parallel(count, cost, 4, no_poll, [&] {
        return [&](Index first, Index last, const Poll&) {
          for (Index i = first; i < last; ++i) ++counts[static_cast<std::size_t>(i)];
        };
      });
      CHECK(std::all_of(counts.begin(), counts.end(), [](int times) { return times == 1; }));
    }
}

TEST(a_worker_is_used_by_the_thread_that_made_it) {
  std::atomic<bool> is_shared{false};
  for_each_in_parallel(200, 4, no_poll, [&] {
    return [&is_shared, maker = std::this_thread::get_id()](Index, const Poll&) {
      if (std::this_thread::get_id() != maker) is_shared = true;
    };
  });
  CHECK(!is_shared);
}

TEST(the_error_of_the_first_block_that_has_one_is_thrown) {
  for (int attempt = 0; attempt < 20; ++attempt)
    CHECK(error_of([] {
            for_each_in_parallel(100, 4, no_poll, [] {
              return [](Index block, const Poll&) {
                if (block == 3) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // later blocks fail sooner
                if (block >= 3) throw std::runtime_error(std::to_string(block));
              };
            });
          }) == "3");
}

TEST(an_error_of_a_worker_that_cannot_be_made_is_thrown) {
  const auto fails = []() -> std::function<void(Index, const Poll&)> { throw std::runtime_error("no memory"); };
  CHECK(error_of([&] { for_each_in_parallel(10, 4, no_poll, fails); }) == "no memory");
}

TEST(only_the_calling_thread_calls_the_poll) {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> elsewhere{false};
  const Poll poll = [&] { elsewhere = elsewhere || std::this_thread::get_id() != caller; };
  for_each_in_parallel(100, 4, poll, [] { return [](Index, const Poll& own_poll) { own_poll(); }; });
  CHECK(!elsewhere);
}

// The workers never end unless the error of the poll reaches them.
TEST(an_error_of_the_poll_stops_all_threads) {
  for (const Index n_threads : {1, 4}) {
    int n_calls = 0;
    const Poll poll = [&] {
      if (++n_calls == 3) throw Stop();
    };
    CHECK_THROWS(Stop, for_each_in_parallel(4, n_threads, poll, [] {
                   return [](Index, const Poll& own_poll) {
                     while (true) own_poll();
                   };
                 }));
  }
}

TEST(parts_in_order_are_done_in_order) {
  for (const Index n_threads : {1, 2, 8}) {
    std::vector<Index> order;
    InOrder in_order;
    for_each_in_parallel(50, n_threads, no_poll, [&] {
      return [&](Index block, const Poll& poll) { in_order(block, poll, [&] { order.push_back(block); }); };
    });
    CHECK(order.size() == 50);
    CHECK(std::is_sorted(order.begin(), order.end()));
  }
}

TEST(a_part_in_order_that_fails_ends_the_others) {
  for (const Index n_threads : {1, 2, 8}) {
    InOrder in_order;
    const auto loop = [&] {
      for_each_in_parallel(50, n_threads, no_poll, [&] {
        return [&](Index block, const Poll& poll) {
          in_order(block, poll, [&] {
            if (block == 7) throw std::runtime_error("the seventh");
          });
        };
      });
    };
    CHECK(error_of(loop) == "the seventh");
  }
}

}  // namespace

}  // namespace jcmspl
