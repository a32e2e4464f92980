// SPDX-License-Identifier: Apache-2.0
#include "core/processors.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <fstream>
#include <thread>

#include "octet/machine.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

class Processors : public testing::Test {
 protected:
  Processors() {
    root_ = fs::path(testing::TempDir()) / "octet_processors";
    fs::remove_all(root_);
    fs::create_directories(root_ / "outer" / "inner");
  }
  ~Processors() override { fs::remove_all(root_); }

  void limit(const fs::path& group, const std::string& text) const {
    std::ofstream(root_ / group / "cpu.max") << text;
  }

  fs::path root_;
};

TEST_F(Processors, TheLeastOfAGroupAndThoseAroundIt) {
  const std::string membership = "9:name=systemd:/elsewhere\n0::/outer/inner\n";
  EXPECT_EQ(processors_of_groups(root_, membership), std::nullopt);
  limit("outer/inner", "max 100000\n");
  EXPECT_EQ(processors_of_groups(root_, membership), std::nullopt);
  limit("outer", "400000 100000\n");
  EXPECT_EQ(processors_of_groups(root_, membership), 4);
  limit("outer/inner", "150000 100000\n");
  EXPECT_EQ(processors_of_groups(root_, membership), 2);  // one and a half
  limit(".", "50000 100000\n");
  EXPECT_EQ(processors_of_groups(root_, membership), 1);
}

TEST_F(Processors, WhatIsNoLimitIsNone) {
  for (const char* text : {"", "max", "-1 100000", "100000", "x 100000", "100000 0"}) {
    limit(".", text);
    EXPECT_EQ(processors_of_groups(root_, "0::/\n"), std::nullopt) << text;
  }
  limit("outer", "100000 100000");
  // Groups of version 1 alone, and a path that leads out.
  EXPECT_EQ(processors_of_groups(root_, "1:cpu:/outer\n"), std::nullopt);
  EXPECT_EQ(processors_of_groups(root_, "0::/../outer\n"), std::nullopt);
  EXPECT_EQ(processors_of_groups(root_, ""), std::nullopt);
}

TEST(UsableProcessors, FollowTheAffinity) {
  int found = 0;
  // A thread of its own: the others keep theirs.
  std::thread([&] {
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    CPU_ZERO(&one);
    for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    found = usable_processors();
  }).join();
  EXPECT_EQ(found, 1);
  EXPECT_GE(usable_processors(), 1);
}

}  // namespace
}  // namespace octet
