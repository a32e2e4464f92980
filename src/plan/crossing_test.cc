// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "plan/plan.h"

namespace octet {
namespace {

constexpr u32 kDevice = 1;

struct Step {
  u32 device;
  std::vector<u32> inputs, outputs;
};

// Buffers 0 to 3 lie in the host's memory, 4 to 7 in the device's.
Plan plan_of(const std::vector<Step>& steps) {
  Plan plan;
  plan.buffers.resize(8);
  for (u32 b = 4; b < 8; ++b) plan.buffers[b].space = kDevice;
  for (const Step& step : steps)
    plan.steps.push_back(
        {.name = "step", .inputs = step.inputs, .outputs = step.outputs, .device = step.device});
  order_queues(plan);
  return plan;
}

std::vector<u32> waits(const Plan& plan) {
  std::vector<u32> all;
  for (const PlanStep& step : plan.steps) all.push_back(step.after);
  return all;
}

TEST(Crossing, TheHostWaitsForTheLastCopyOnce) {
  const Plan plan = plan_of({{kDevice, {0}, {4}},  // copy there
                             {kDevice, {4}, {5}},  // computes
                             {kDevice, {5}, {1}},  // copy back
                             {kDevice, {5}, {6}},  // goes on meanwhile
                             {kHost, {1}, {2}},    // waits for the copy back
                             {kHost, {2}, {3}},    // need not
                             {kDevice, {3}, {7}},  // copy there
                             {kHost, {2}, {3}}});  // may not overwrite what that copy reads
  EXPECT_EQ(waits(plan),
            (std::vector<u32>{kNoStep, kNoStep, kNoStep, kNoStep, 2, kNoStep, kNoStep, 6}));
}

TEST(Crossing, TheLastOfSeveralCopiesStandsForAll) {
  const Plan plan =
      plan_of({{kDevice, {0}, {4}}, {kDevice, {4}, {1}}, {kDevice, {4}, {2}}, {kHost, {1}, {3}}});
  EXPECT_EQ(waits(plan), (std::vector<u32>{kNoStep, kNoStep, kNoStep, 2}));
}

TEST(Crossing, StepsWithinOneMemoryAreNone) {
  const Plan plan = plan_of({{kHost, {0}, {1}}, {kDevice, {4}, {5}}, {kDevice, {5}, {1}}});
  EXPECT_FALSE(is_crossing(plan, plan.steps[0]));
  EXPECT_FALSE(is_crossing(plan, plan.steps[1]));
  EXPECT_TRUE(is_crossing(plan, plan.steps[2]));
}

TEST(Crossing, ACopySaysItsBytes) {
  const TensorType type{Dtype::u8, {2, 40, 3, 5}};
  EXPECT_EQ(crossing_copy(type, Layout::nhwc, kDevice, kHost).kernel, "copy_to_host");
  EXPECT_EQ(crossing_copy(type, Layout::nhwc, kHost, kDevice).note, "1200 bytes");
  EXPECT_EQ(crossing_copy(type, Layout::nc32hw32, kHost, kDevice).note, "1920 bytes");
  EXPECT_EQ(crossing_copy(type, Layout::linear, kDevice, kDevice).kernel, "copy_on_device");
}

// Each memory has its own arena, and buffers of one do not push those of the other.
TEST(Crossing, EachMemoryHasItsArena) {
  Plan plan = plan_of({{kDevice, {0}, {4}}, {kDevice, {4}, {5}}, {kDevice, {5}, {1}}});
  plan.devices.resize(2);
  for (Buffer& buffer : plan.buffers) buffer.bytes = 1000;
  plan.buffers[0].kind = plan.buffers[1].kind = Buffer::Kind::input;
  plan.steps[1].workspace_bytes = 500;
  plan_memory(plan, 1, 0);
  ASSERT_EQ(plan.arenas.size(), 2u);
  EXPECT_EQ(plan.arenas[kHost].workspace_offset, 0);
  EXPECT_GE(plan.arenas[kDevice].workspace_offset, 2000);
  EXPECT_GE(plan.arenas[kDevice].bytes, plan.arenas[kDevice].workspace_offset + 500);
  EXPECT_NE(plan.buffers[4].offset, plan.buffers[5].offset);
}

}  // namespace
}  // namespace octet
