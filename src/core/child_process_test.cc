// SPDX-License-Identifier: Apache-2.0
#include "core/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "core/error_testing.h"
#include "core/running_processes.h"

namespace octet {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;
using test::expect_error;

ChildProcess::Deadline soon() { return steady_clock::now() + seconds(60); }

TEST(ChildProcess, AnswersOnTheSocket) {
  ChildProcess echo({"sh", "-c", "head -c 4096 <&0 >&0"});
  std::vector<u8> block(1 << 12), back(block.size());
  for (size_t i = 0; i < block.size(); ++i) block[i] = static_cast<u8>(i * 7);
  echo.write(block, soon());
  echo.read(back, soon());
  EXPECT_EQ(back, block);
}

TEST(ChildProcess, LastWordsAreInTheError) {
  ChildProcess child({"sh", "-c", "echo on standard output; echo sorry >&2"});
  std::vector<u8> answer(1);
  expect_error([&] { child.read(answer, soon()); }, Error::Code::io,
               {"'sh' ended before it answered; it said:\non standard output\nsorry"});
}

TEST(ChildProcess, WritingToOneThatEndedIsAnError) {
  ChildProcess child({"true"});
  const std::vector<u8> much(1 << 24);
  expect_error([&] { child.write(much, soon()); }, Error::Code::io, {"'true' ended"});
}

TEST(ChildProcess, ManyWordsBlockNobody) {
  ChildProcess child({"sh", "-c", "head -c 1000000 /dev/zero >&2; printf x >&0"});
  std::vector<u8> answer(1);
  child.read(answer, soon());
  EXPECT_EQ(answer[0], 'x');
}

TEST(ChildProcess, NoAnswerInTimeIsAnError) {
  ChildProcess child({"sleep", "1000"});
  std::vector<u8> answer(1);
  expect_error([&] { child.read(answer, steady_clock::now()); }, Error::Code::io,
               {"'sleep' does not answer in time"});
}

TEST(ChildProcess, UnknownProgramIsAnError) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "vfork() is fork() there, and the child's error stays with it";
#endif
  expect_error([] { ChildProcess({"/no/such/program"}); }, Error::Code::io,
               {"'/no/such/program' cannot be started"});
}

TEST(ChildProcess, EndsWithTheObject) {
  std::string number(8, ' ');
  {
    ChildProcess child({"sh", "-c", "printf %8d $$ >&0; exec sleep 1000"});
    child.read({reinterpret_cast<u8*>(number.data()), number.size()}, soon());
    EXPECT_EQ(kill(std::stoi(number), 0), 0);
  }
  EXPECT_NE(kill(std::stoi(number), 0), 0);
}

bool lives(pid_t pid) {
  const auto all = running_processes();
  return std::ranges::find(all, pid, &RunningProcess::pid) != all.end();
}

// Also what has left its group and its session, and whose parent is gone.
TEST(ChildProcess, WhatItStartedEndsWithIt) {
  for (const char* start :
       {"sleep 1000 & printf %8d $! >&0; wait",
        "exec 3>&0; (setsid sh -c 'printf %8d $$ >&3; exec sleep 1000' &); exec sleep 1000"}) {
    std::string number(8, ' ');
    {
      ChildProcess child({"sh", "-c", start});
      child.read({reinterpret_cast<u8*>(number.data()), number.size()}, soon());
      EXPECT_TRUE(lives(std::stoi(number)));
    }
    EXPECT_FALSE(lives(std::stoi(number)));
  }
}

TEST(ChildProcess, HasThreeDescriptorsOfOurs) {
  const int other = dup(STDERR_FILENO);
  ChildProcess child(
      {"sh", "-c", "[ ! -e /proc/$$/fd/" + std::to_string(other) + " ] && printf x >&0"});
  std::vector<u8> answer(1);
  child.read(answer, soon());
  close(other);
  EXPECT_EQ(answer[0], 'x');
}

TEST(ChildProcess, MoreProcessesThanAllowedAreAnError) {
  ChildProcess child({"sh", "-c", "for i in 1 2 3 4 5; do sleep 1000 & done; wait"},
                     {.processes = 3});
  std::vector<u8> answer(1);
  expect_error([&] { child.read(answer, soon()); }, Error::Code::out_of_memory,
               {"'sh' starts more than 3 processes"});
}

TEST(SpawnedChild, WaitsUntilItEndsOrIsLate) {
  SpawnedChild good({"sh", "-c", "exit 3"}, {}, {});
  EXPECT_EQ(to_string(good.wait(), {}), "ends with 3");
  const ChildLimits limits{.seconds = 1};
  SpawnedChild late({"sh", "-c", "sleep 1000"}, {}, limits);
  EXPECT_EQ(to_string(late.wait(), limits), "does not end within 1 s");
}

}  // namespace
}  // namespace octet
