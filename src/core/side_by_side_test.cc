// SPDX-License-Identifier: Apache-2.0
#include "core/side_by_side.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace octet {
namespace {

TEST(SideBySide, EachOnce) {
  for (const int threads : {-1, 1, 2, 7, 64}) {
    std::vector<int> calls(50);
    side_by_side(calls.size(), threads, [&](size_t i) { ++calls[i]; });
    EXPECT_EQ(std::ranges::count(calls, 1), 50) << threads;
  }
  side_by_side(0, 4, [](size_t) { FAIL(); });
}

TEST(SideBySide, ThrowsWhatOneThrewWhenAllHaveEnded) {
  for (const int threads : {1, 4}) {
    std::atomic<int> begun{0}, ended{0};
    const auto work = [&](size_t i) {
      ++begun;
      if (i == 3) {
        ++ended;
        throw std::runtime_error("the fourth");
      }
      ++ended;
    };
    try {
      side_by_side(1000, threads, work);
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(std::string(error.what()), "the fourth");
    }
    EXPECT_EQ(begun, ended);
  }
}

}  // namespace
}  // namespace octet
