// SPDX-License-Identifier: Apache-2.0
#include "octet/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace octet {
namespace {

TEST(RunThreads, CallsEachOnceAndReturnsWhenAllHaveEnded) {
  std::vector<int> calls(7);
  run_threads(7, [&](int i) { ++calls[static_cast<size_t>(i)]; });
  EXPECT_EQ(calls, std::vector<int>(7, 1));
  run_threads(0, [](int) { FAIL(); });
}

TEST(RunThreads, ThrowsWhatTheFirstOfThemThrew) {
  std::atomic<int> calls = 0;
  try {
    run_threads(5, [&](int i) {
      ++calls;
      if (i >= 2) throw std::runtime_error(std::to_string(i));
    });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "2");
  }
  EXPECT_EQ(calls, 5);
}

}  // namespace
}  // namespace octet
