// SPDX-License-Identifier: Apache-2.0
// Every index once, whatever the counts; small steps one after another; no thread runs two pieces at a time, and each its own.
#include "core/thread_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <numeric>
#include <thread>
#include <vector>

namespace octet {
namespace {

TEST(ThreadPool, CoversEveryIndexOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (const s64 count : {0, 1, 2, 3, 7, 8, 9, 1000}) {
      std::vector<std::atomic<int>> hits(static_cast<size_t>(count));
      pool.parallel_for(count, [&](s64 begin, s64 end, int thread) {
        EXPECT_GE(thread, 0);
        EXPECT_LT(thread, threads);
        EXPECT_LT(begin, end);
        for (s64 i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
      });
      for (const auto& hit : hits) EXPECT_EQ(hit, 1);
    }
  }
}

// A late worker must never run a piece of a step that is over: each step writes into memory of its own.
TEST(ThreadPool, StepsDoNotMix) {
  ThreadPool pool(3);
  for (int step = 0; step < 20000; ++step) {
    const s64 count = 1 + step % 7;
    std::vector<int> values(static_cast<size_t>(count), 0);
    pool.parallel_for(count, [&](s64 begin, s64 end, int) {
      for (s64 i = begin; i < end; ++i) values[static_cast<size_t>(i)] += step;
    });
    ASSERT_EQ(std::accumulate(values.begin(), values.end(), s64{0}), count * step);
  }
}

TEST(ThreadPool, AThreadRunsOnePieceAtATime) {
  ThreadPool pool(4);
  std::atomic<int> busy[4] = {};
  for (int step = 0; step < 2000; ++step) {
    pool.parallel_for(4, [&](s64, s64, int thread) {
      EXPECT_EQ(busy[thread].fetch_add(1), 0);
      busy[thread].fetch_sub(1);
    });
  }
}

// A body that waits until all threads have begun leaves nobody free to take what is not its own.
TEST(ThreadPool, EachThreadBeginsWithItsOwnPiece) {
  constexpr int kThreads = 3;
  ThreadPool pool(kThreads);
  for (int step = 0; step < 200; ++step) {
    std::atomic<int> begun{0};
    std::array<std::atomic<bool>, kThreads> has_begun = {};
    pool.parallel_for(2 * kThreads, [&](s64 begin, s64, int thread) {
      if (has_begun[static_cast<size_t>(thread)].exchange(true)) return;
      EXPECT_EQ(begin, 2 * thread);
      for (++begun; begun < kThreads;) std::this_thread::yield();
    });
  }
}

// The first index of thread 1's piece lasts until all others are done: the end of the piece is theirs.
TEST(ThreadPool, OthersFinishThePieceOfASlowThread) {
  ThreadPool pool(3);
  for (int step = 0; step < 50; ++step) {
    std::atomic<s64> left{29};
    pool.parallel_for(30, [&](s64 begin, s64 end, int) {
      for (s64 i = begin; i < end; ++i) {
        if (i != 10) --left;
      }
      while (begin <= 10 && 10 < end && left > 0) std::this_thread::yield();
    });
    ASSERT_EQ(left, 0);
  }
}

TEST(ThreadPool, NoRangeIsSmallerThanItsGrain) {
  ThreadPool pool(2);
  for (const s64 grain : {1, 3, 50, 400, 5000}) {
    std::atomic<s64> covered{0}, small{0};
    pool.parallel_for(
        1000,
        [&](s64 begin, s64 end, int) {
          covered += end - begin;
          small += end - begin < std::min<s64>(grain, 500);
        },
        grain);
    EXPECT_EQ(covered, 1000);
    EXPECT_EQ(small, 0) << grain;
  }
}

TEST(ThreadPool, WholePiecesAreOneCallEach) {
  std::shared_ptr<ThreadPool> whole;
  {
    ThreadPool pool(3);
    whole = pool.with_whole_pieces();
    std::atomic<s64> calls{0};
    pool.parallel_for(3000, [&](s64, s64, int) { ++calls; });
    EXPECT_GT(calls, 3);
  }
  // The threads live as long as one of their pools.
  EXPECT_EQ(whole->size(), 3);
  for (int step = 0; step < 200; ++step) {
    std::atomic<s64> calls{0}, covered{0};
    whole->parallel_for(3000, [&](s64 begin, s64 end, int) {
      ++calls;
      covered += end - begin;
    });
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(covered, 3000);
  }
}

TEST(ThreadPool, GuestsTakePartUntilThePoolCloses) {
  constexpr int kGuests = 2;
  ThreadPool pool(ThreadPool::Guests{kGuests});
  EXPECT_FALSE(pool.join());
  for (int round = 0; round < 100; ++round) {
    std::vector<std::atomic<int>> hits(1000);
    std::atomic<int> joined{0};
    pool.open();
    std::vector<std::thread> guests;
    for (int i = 0; i < kGuests; ++i) guests.emplace_back([&] { joined += pool.join(); });
    while (pool.size() < 1 + kGuests) std::this_thread::yield();
    EXPECT_FALSE(pool.join());  // full
    for (int step = 0; step < 20; ++step) {
      pool.parallel_for(1000, [&](s64 begin, s64 end, int thread) {
        EXPECT_LE(thread, kGuests);
        for (s64 i = begin; i < end; ++i) ++hits[static_cast<size_t>(i)];
      });
    }
    pool.close();
    EXPECT_EQ(pool.size(), 1);
    for (std::thread& guest : guests) guest.join();
    EXPECT_EQ(joined, kGuests);
    for (const auto& hit : hits) ASSERT_EQ(hit, 20);
  }
}

TEST(ThreadPool, GuestsComeWhileStepsRun) {
  ThreadPool own(4), pool(ThreadPool::Guests{3});
  for (int round = 0; round < 300; ++round) {
    std::atomic<s64> sum{0};
    std::atomic<bool> over{false};
    own.parallel_for(4, [&](s64 role, s64, int) {
      if (role != 0) {
        while (!over && !pool.join()) std::this_thread::yield();
        return;
      }
      pool.open();
      for (int step = 0; step < 30; ++step)
        pool.parallel_for(50, [&](s64 begin, s64 end, int) { sum += end - begin; });
      pool.close();
      over = true;
    });
    ASSERT_EQ(sum, 30 * 50);
  }
}

// The last step may be over, and the pool at its end, before a worker has looked at it.
TEST(ThreadPool, EndsWhileWorkersAreLate) {
  for (int i = 0; i < 3000; ++i) {
    ThreadPool pool(2 + i % 3);
    std::atomic<s64> sum{0};
    pool.parallel_for(1 + i % 4, [&](s64 begin, s64 end, int) { sum += end - begin; });
    ASSERT_EQ(sum, 1 + i % 4);
  }
}

TEST(ThreadPool, SleepingWorkersWakeAndEnd) {
  ThreadPool pool(2);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  std::atomic<s64> sum{0};
  pool.parallel_for(100, [&](s64 begin, s64 end, int) { sum += end - begin; });
  EXPECT_EQ(sum, 100);
}

}  // namespace
}  // namespace octet
