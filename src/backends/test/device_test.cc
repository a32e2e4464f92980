// SPDX-License-Identifier: Apache-2.0
// The test device itself: it would be no test if it let a mistake pass.
#include "backends/test/device.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>

#include "backends/backends.h"
#include "backends/test/queue.h"
#include "core/check.h"
#include "octet/error.h"

namespace octet {
namespace {

using Bytes = std::array<std::byte, 5000>;

TEST(TestDevice, TheHostCannotTouchItsMemory) {
  const TestDevice device(1);
  const auto memory = device.allocate(5000, "a test");
  volatile std::byte* byte = memory.get();
  EXPECT_DEATH((void)*byte, "");
  EXPECT_DEATH(*byte = std::byte{1}, "");
  EXPECT_DEATH((void)byte[4999], "");
}

TEST(TestDevice, WhatIsCopiedThereAndBackIsTheSame) {
  const TestDevice device(1);
  const auto queue = device.make_queue(std::make_shared<ThreadPool>(1));
  const auto memory = device.allocate(2 * 5000 + 10, "a test");
  Bytes bytes, back{};
  bytes.fill(std::byte{7});
  queue->copy(memory.get() + 10, bytes.data(), 5000);
  queue->copy(memory.get() + 5010, memory.get() + 10, 5000);
  queue->copy(back.data(), memory.get() + 5010, 5000);
  queue->synchronize();
  EXPECT_EQ(back, bytes);
}

TEST(TestDevice, FreshMemoryIsZero) {
  const TestDevice device(1);
  const auto queue = device.make_queue(std::make_shared<ThreadPool>(1));
  const auto memory = device.allocate(5000, "a test");
  Bytes bytes;
  bytes.fill(std::byte{7});
  queue->copy(bytes.data(), memory.get(), 5000);
  queue->synchronize();
  EXPECT_EQ(bytes, Bytes{});
}

TEST(TestDevice, ItsBudgetCountsWhatLives) {
  const TestDevice device(1, s64{1} << 20);
  auto first = device.allocate(700 << 10, "the first");
  try {
    device.allocate(700 << 10, "the second");
    FAIL() << "there is no room for a second";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("the second takes 700 KiB"), std::string::npos)
        << error.what();
  }
  first.reset();
  EXPECT_EQ(device.memory().used(), 0);
  EXPECT_NE(device.allocate(700 << 10, "the second"), nullptr);
}

std::shared_ptr<const TestStep> step_of(std::string name, RunStep run) {
  return std::make_shared<const TestStep>(TestStep{std::move(name), 0, 0, std::move(run)});
}

// Whoever forgets to wait sees it at least once among so many steps.
TEST(TestDevice, WorkIsDoneLaterThanGiven) {
  const TestDevice device(1);
  const auto queue = device.make_queue(std::make_shared<ThreadPool>(1));
  auto& own = static_cast<TestQueue&>(*queue);
  int late = 0;
  for (int i = 0; i < 200; ++i) {
    std::atomic<bool> done = false;
    own.run(step_of("step", [&](const StepArgs&) { done = true; }),
            {nullptr, nullptr, nullptr, own});
    late += done ? 0 : 1;
    queue->synchronize();
    EXPECT_TRUE(done);
  }
  EXPECT_GT(late, 0);
}

TEST(TestDevice, AStepCannotTouchTheHosts) {
  const TestDevice device(1);
  const auto queue = device.make_queue(std::make_shared<ThreadPool>(1));
  auto& own = static_cast<TestQueue&>(*queue);
  bool ran = false;
  const TestStep step{"conv_3", 1, 0, [&](const StepArgs&) { ran = true; }};
  const std::byte host{};
  const std::byte* input = &host;
  own.run(std::make_shared<const TestStep>(step), {&input, nullptr, nullptr, own});
  try {
    queue->synchronize();
    FAIL() << "it has read what no copy brought";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::internal);
    EXPECT_NE(std::string(error.what()).find("conv_3"), std::string::npos) << error.what();
  }
  EXPECT_FALSE(ran);
}

TEST(TestDevice, EventsHappenInOrder) {
  const TestDevice device(3);
  const auto queue = device.make_queue(std::make_shared<ThreadPool>(1));
  std::byte from{1}, to{0};
  const auto before = queue->make_event(), after = queue->make_event();
  queue->record(*before);
  queue->copy(&to, &from, 1);
  queue->record(*after);
  after->synchronize();
  EXPECT_EQ(to, from);
  EXPECT_GE(after->microseconds_since(*before), 0);
}

TEST(TestDevice, AnErrorOfAStepIsTheWaiters) {
  const TestDevice device(1);
  const auto queue = device.make_queue(std::make_shared<ThreadPool>(1));
  auto& own = static_cast<TestQueue&>(*queue);
  int after = 0;
  const StepArgs none{nullptr, nullptr, nullptr, own};
  own.run(step_of("conv_7", [](const StepArgs&) { fail(Error::Code::internal, "out of luck"); }),
          none);
  own.run(step_of("conv_8", [&](const StepArgs&) { ++after; }), none);
  try {
    queue->synchronize();
    FAIL() << "the error is lost";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("conv_7"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("out of luck"), std::string::npos) << error.what();
  }
  EXPECT_EQ(after, 0);
  own.run(step_of("conv_9", [&](const StepArgs&) { ++after; }), none);
  queue->synchronize();
  EXPECT_EQ(after, 1);
}

TEST(FindDevice, ByName) {
  EXPECT_EQ(find_device("cpu").name(), "cpu");
  EXPECT_EQ(find_device("test").name(), "test:0");
  EXPECT_EQ(&find_device("test:12"), &find_device("test:12"));
  for (const char* name : {"", "gpu", "test:", "test:x", "test:1x", "test:-1", "cpu:0"})
    EXPECT_THROW(find_device(name), Error) << name;
}

}  // namespace
}  // namespace octet
