// SPDX-License-Identifier: Apache-2.0
// A GPU that disappears while a program runs, and one whose memory is full: one error each, and contexts on the CPU go on. Where the GPU
// is emulated, for no other can be told to fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "compile_only.h"
#include "graph/text.h"
#include "octet/engine.h"
#include "one_node.h"
#include "ops/registry.h"
#include "runtime/context.h"
#include "runtime/inside.h"

namespace octet {
namespace {

using testing::ExitedWithCode;

std::shared_ptr<const Model> product_model() {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(R"(graph "g"(%x: f32[2,5]) {
  const %c: f32[5] = {1, 2, 3, 4, 5}
  %y: f32[2,5] = Mul(%x, %c) name "mul"
  return %y
})",
                             find_op);
  return model;
}

Tensor some_input() {
  Tensor tensor(Dtype::f32, {2, 5});
  f32 next = 0;
  for (f32& v : tensor.mutable_as<f32>()) v = next += 1;
  return tensor;
}

// What running says, which is also printed; empty where it gave the product.
std::string said_by(Context& context) {
  try {
    const std::vector<Tensor> got = context.run(std::vector<Tensor>{some_input()});
    return got[0].as<f32>()[9] == 50 ? "" : "another product";
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.message().c_str());
    return error.message();
  }
}

Context context_on(const std::string& device) {
  return Inside::context(product_model(), {.device = device});
}

bool has(const std::string& text, const char* part) { return text.find(part) != text.npos; }

// Each in a process of its own: the device is lost afterwards. 7: as it should be.
[[noreturn]] void lose_while_running(const char* failure) {
  Context gpu = context_on("cuda:0"), cpu = context_on("cpu");
  bool right = said_by(gpu).empty() && said_by(cpu).empty();
  setenv("OCTET_EMULATED_FAIL", failure, 1);
  const std::string first = said_by(gpu);
  right = right && has(first, "cuda:0") && has(first, "it takes no more work in this process");
  unsetenv("OCTET_EMULATED_FAIL");
  right = right && has(said_by(gpu), "failed before") && said_by(cpu).empty();
  try {
    Context other = context_on("cuda:0");
    right = right && has(said_by(other), "failed before");
  } catch (const Error& error) {
    right = right && has(error.message(), "failed before");
  }
  std::_Exit(right ? 7 : 1);
}

[[noreturn]] void fill_memory() {
  Context gpu = context_on("cuda:0"), cpu = context_on("cpu");
  bool right = true;
  setenv("OCTET_EMULATED_FAIL", "cuMemAlloc_v2:1:2", 1);
  right = has(said_by(gpu), "cuda:0 has") && said_by(cpu).empty();
  unsetenv("OCTET_EMULATED_FAIL");
  right = right && said_by(gpu).empty();  // there is room again
  std::_Exit(right ? 7 : 1);
}

class GpuLostDeathTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* driver = std::getenv("OCTET_CUDA_DRIVER");
    if (test::only_compiles() || driver == nullptr || !has(driver, "emulated"))
      GTEST_SKIP() << "the GPU is not emulated";
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(GpuLostDeathTest, TheCpuGoesOn) {
  for (const char* failure :
       {"cuStreamSynchronize:1:719:*", "cuMemcpyAsync:1:700:*", "cuLaunchKernelEx:1:214:*"})
    EXPECT_EXIT(lose_while_running(failure), ExitedWithCode(7), "cuda:0") << failure;
}

TEST_F(GpuLostDeathTest, FullMemoryIsOneErrorAndPasses) {
  EXPECT_EXIT(fill_memory(), ExitedWithCode(7), "cuda:0 has");
}

}  // namespace
}  // namespace octet
