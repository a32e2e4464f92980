// SPDX-License-Identifier: Apache-2.0
#include "core/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <thread>

#include "core/error_testing.h"

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

// Killed, and at some time collected by who inherits it.
TEST(ChildProcess, WhatItStartedEndsWithIt) {
  std::string number(8, ' ');
  {
    ChildProcess child({"sh", "-c", "sleep 1000 & printf %8d $! >&0; wait"});
    child.read({reinterpret_cast<u8*>(number.data()), number.size()}, soon());
  }
  const std::string state = "/proc/" + std::to_string(std::stoi(number)) + "/stat";
  const auto lives = [&] {
    std::ifstream in(state);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    return !text.empty() && text.find(") Z ") == text.npos;
  };
  const auto end = soon();
  while (lives() && steady_clock::now() < end) std::this_thread::yield();
  EXPECT_FALSE(lives());
}

}  // namespace
}  // namespace octet
