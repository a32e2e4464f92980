// SPDX-License-Identifier: Apache-2.0
#include "cli/samples/ordered_work.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace octet::cli {
namespace {

using Numbers = OrderedWork<int>;

// Numbers from 0 on, of which `work` is done by `threads`; in what order they were told.
struct Counted {
  explicit Counted(int end) : end(end) {}

  void run(int threads, std::function<void(int&)> work, int64_t bytes = 1) {
    Numbers({[this]() -> std::optional<int> {
               if (next == end) return std::nullopt;
               return next++;
             },
             std::move(work),
             [this](int& number) {
               EXPECT_EQ(std::this_thread::get_id(), caller);
               told.push_back(number);
             },
             [bytes](const int&) { return bytes; }},
            threads)
        .run();
  }

  const int end;
  int next = 0;
  std::vector<int> told;
  const std::thread::id caller = std::this_thread::get_id();
};

std::vector<int> up_to(int end) {
  std::vector<int> all;
  for (int i = 0; i < end; ++i) all.push_back(i);
  return all;
}

// Waits for another thread's progress, which a thread that waits for this one never makes.
class Awaited {
 public:
  void count() {
    const std::lock_guard lock(mutex_);
    ++count_;
    changed_.notify_all();
  }
  bool reaches(int count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::minutes(1), [&] { return count_ >= count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int count_ = 0;
};

TEST(OrderedWork, NobodyWaitsForASlowThread) {
  constexpr int kItems = 200;
  Counted numbers(kItems);
  Awaited others;
  std::thread::id slow;
  std::atomic<int> of_slow = 0;
  numbers.run(3, [&](int& number) {
    if (number == 0) {
      slow = std::this_thread::get_id();
      ++of_slow;
      EXPECT_TRUE(others.reaches(kItems - 1));
    } else {
      others.count();
    }
  });
  EXPECT_EQ(of_slow, 1);
  EXPECT_EQ(numbers.told, up_to(kItems));
}

TEST(OrderedWork, WhatWaitsIsBounded) {
  constexpr int kItems = 1000;
  struct Window {
    int64_t bytes_of_item;
    int most;
  };
  for (const Window& window : {Window{0, 256}, Window{int64_t{1} << 20, 64},
                               Window{int64_t{16} << 20, 4}, Window{int64_t{1} << 40, 4}}) {
    Counted numbers(kItems);
    Awaited others;
    std::atomic<int> largest = 0;
    numbers.run(
        2,
        [&](int& number) {
          if (number == 0) {
            EXPECT_TRUE(others.reaches(window.most - 1));
            // All that has room beside this one is done; what is beyond it was not begun.
            EXPECT_EQ(largest, window.most - 1);
          }
          largest = std::max(largest.load(), number);
          others.count();
        },
        window.bytes_of_item);
    EXPECT_EQ(numbers.told, up_to(kItems));
  }
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

TEST(OrderedWork, TheFirstErrorInTheOrderOfItemsIsTheCallers) {
  for (const int threads : {1, 2, 5}) {
    Counted numbers(100);
    EXPECT_EQ(error_of([&] {
                numbers.run(threads, [](int& number) {
                  if (number >= 40) throw std::runtime_error("item " + std::to_string(number));
                });
              }),
              "item 40");
    EXPECT_EQ(numbers.told, up_to(40));
    EXPECT_LT(numbers.next, 100);
  }
}

TEST(OrderedWork, ErrorsOfTakingAndOfTelling) {
  for (const bool of_taking : {true, false}) {
    int next = 0, told = 0;
    Numbers work({[&]() -> std::optional<int> {
                    if (of_taking && next == 7) throw std::runtime_error("taking");
                    return next++;
                  },
                  [](int&) {},
                  [&](int& number) {
                    EXPECT_EQ(number, told);
                    if (number == 7) throw std::runtime_error("telling");
                    ++told;
                  },
                  [](const int&) { return int64_t{1}; }},
                 3);
    EXPECT_EQ(error_of([&] { work.run(); }), of_taking ? "taking" : "telling");
    EXPECT_EQ(told, 7);
  }
}

TEST(OrderedWork, NothingToDo) {
  Counted none(0);
  none.run(4, [](int&) { FAIL(); });
  EXPECT_TRUE(none.told.empty());
}

}  // namespace
}  // namespace octet::cli
