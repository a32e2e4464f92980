// SPDX-License-Identifier: Apache-2.0
// One engine on two GPUs, which may be of two levels and have memory of two sizes: the CPU's bits, and what becomes of a device that fails. Where they
// are emulated, for no others can be told to.
#include "octet/spread.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "compile_only.h"
#include "graph/text.h"
#include "octet/machine.h"
#include "ops/registry.h"
#include "runtime/inside.h"

namespace octet {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ExitedWithCode;
using testing::Gt;

Engine engine_of(const std::string& text) {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(text, find_op);
  return Inside::engine(std::move(model));
}

// A convolution of codes, whose kernels are others on each generation of chips.
Engine convolution() {
  std::string weights, multipliers;
  for (int i = 0; i < 16 * 32; ++i) weights += fmt::format("{}{}", i > 0 ? ", " : "", i % 23 - 11);
  for (int i = 0; i < 32; ++i) multipliers += fmt::format("{}0.0{}", i > 0 ? ", " : "", i % 9 + 1);
  return engine_of("graph \"g\"(%x: u8[?,16,5,5]) {\n  const %w: s8[32,16,1,1] = {" + weights +
                   "}\n  const %m: f32[32] = {" + multipliers + R"(}
  %y: u8[?,32,5,5] @(0.1, 7) = QConv(%x, %w, _, %m) {hi=255, input_zero_points=ints[0, 0, 0, 0], lo=0, output_dtype="u8", output_zero_point=7} name "conv"
  return %y
})");
}

Tensor codes(s64 rows) {
  Tensor tensor(Dtype::u8, {rows, 16, 5, 5});
  u32 seed = 5;
  for (u8& code : tensor.mutable_as<u8>())
    code = static_cast<u8>((seed = seed * 1664525u + 1013904223u) >> 24);
  return tensor;
}

bool same(std::span<const Tensor> got, std::span<const Tensor> want) {
  return got.size() == 1 && got[0].type() == want[0].type() &&
         std::memcmp(got[0].data(), want[0].data(), want[0].bytes()) == 0;
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

SpreadOptions everywhere() { return {.devices = devices_named("cuda:all")}; }

// A product whose rows have a MiB.
Engine large() {
  return engine_of(R"(graph "g"(%x: f32[?,262144]) {
  const %c: f32[] = {2}
  %y: f32[?,262144] = Mul(%x, %c) name "mul"
  return %y
})");
}

Tensor mebibytes(s64 count) {
  Tensor tensor(Dtype::f32, {count, 262144});
  for (f32& value : tensor.mutable_as<f32>()) value = 3;
  return tensor;
}

// Each in a process of its own: a device is lost afterwards. 7: as it should be.
[[noreturn]] void lose_one_and_then_the_other() {
  const Engine engine = convolution();
  const std::vector<Tensor> inputs = {codes(12)};
  const std::vector<Tensor> want = engine.make_context().run(inputs);
  Spread spread(engine, everywhere());
  bool right = same(spread.run_rows(inputs, 2), want) && spread.left_out().empty();
  setenv("OCTET_EMULATED_FAIL", "cuStreamSynchronize:1:719:*:1", 1);
  right = right && same(spread.run_rows(inputs, 2), want) && spread.contexts() == 1;
  const auto lost = spread.left_out();
  right = right && lost.size() == 1 && lost[0].device == "cuda:1" &&
          has(lost[0].why, "takes no more work in this process");
  right = right && same(spread.run_rows(inputs, 2), want) && spread.left_out().size() == 1;
  setenv("OCTET_EMULATED_FAIL", "cuStreamSynchronize:1:719:*:0", 1);
  try {
    spread.run_rows(inputs, 2);
    right = false;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.message().c_str());
    right = right && spread.contexts() == 0;
  }
  try {
    spread.run(inputs);
    right = false;
  } catch (const Error& error) {
    right = right && has(error.message(), "no device is left");
  }
  std::_Exit(right ? 7 : 1);
}

class GpuSpread : public testing::Test {
 protected:
  void SetUp() override {
    const char* driver = std::getenv("OCTET_CUDA_DRIVER");
    if (test::only_compiles() || driver == nullptr || !has(driver, "emulated"))
      GTEST_SKIP() << "the GPU is not emulated";
    ASSERT_GE(devices_named("cuda:all").size(), 2u);
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(GpuSpread, AllGpusShareABatch) {
  EXPECT_THAT(devices_named("cuda:all"), ElementsAre("cuda:0", "cuda:1"));
  const Engine engine = convolution();
  Context cpu = engine.make_context();
  Spread spread(engine, everywhere());
  for (const s64 rows : {7, 12}) {
    const std::vector<Tensor> inputs = {codes(rows)};
    EXPECT_TRUE(same(spread.run_rows(inputs), cpu.run(inputs))) << rows;
    EXPECT_TRUE(same(spread.run_rows(inputs, 3), cpu.run(inputs))) << rows;
  }
  EXPECT_THAT(spread.runs(), Each(Gt(0)));
  EXPECT_EQ(spread.contexts(), 2);
}

// What the environment's list says of a device, the last entry for all others.
std::string asked_for(const char* name, size_t device, const std::string& otherwise) {
  const char* value = std::getenv(name);
  std::string text = value != nullptr ? value : otherwise;
  for (size_t i = 0; i < device && has(text, ","); ++i) text = text.substr(text.find(',') + 1);
  return text.substr(0, text.find(','));
}

// Each device has kernels of its own generation.
TEST_F(GpuSpread, LevelsAreEachDevicesOwn) {
  for (size_t device = 0; device < 2; ++device) {
    const std::string capability = asked_for("OCTET_EMULATED_CAPABILITY", device, "8.0");
    const std::string digits = capability.substr(0, capability.find('.')) + capability.back();
    const std::string level = device_info(fmt::format("cuda:{}", device)).level;
    EXPECT_TRUE(level.starts_with("sm_" + digits)) << level << " of " << capability;
  }
}

// With less memory on the second one a run of 40 MiB does not fit there.
TEST_F(GpuSpread, AGpuThatIsTooSmallIsLeftOut) {
  const Engine engine = large();
  const std::vector<Tensor> few = {mebibytes(2)}, many = {mebibytes(80)};
  Spread spread(engine, everywhere());
  EXPECT_EQ(spread.run_rows(few)[0].as<f32>()[5], 6);
  EXPECT_TRUE(spread.left_out().empty());
  const std::vector<Tensor> got = spread.run_rows(many, 40);
  EXPECT_EQ(got[0].as<f32>().back(), 6);
  if (std::stoi(asked_for("OCTET_EMULATED_MEMORY_MB", 1, "4096")) > 1000) {
    EXPECT_TRUE(spread.left_out().empty());
    return;
  }
  ASSERT_EQ(spread.left_out().size(), 1u);
  EXPECT_EQ(spread.left_out()[0].device, "cuda:1");
  EXPECT_TRUE(has(spread.left_out()[0].why, "cuda:1 has")) << spread.left_out()[0].why;
}

using GpuSpreadDeathTest = GpuSpread;

TEST_F(GpuSpreadDeathTest, OneLostGpuLeavesTheOther) {
  EXPECT_EXIT(lose_one_and_then_the_other(), ExitedWithCode(7), "cuda:0");
}

}  // namespace
}  // namespace octet
