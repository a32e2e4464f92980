// SPDX-License-Identifier: Apache-2.0
// A decoder's caches on a GPU: rows that are appended, and one plan, with its kernels, for many lengths.
#include <cstring>

#include "octet/plans.h"
#include "on_gpu.h"
#include "plan/growing_testing.h"
#include "runtime/context.h"
#include "runtime/inside.h"

namespace octet::test {
namespace {

class GpuGrowing : public OnGpu {
 protected:
  Context context_of(std::string_view text, std::string device) const {
    auto model = std::make_shared<Model>();
    model->graph = growing_graph(std::string(text));
    ContextOptions options;
    options.device = std::move(device);
    return Inside::context(model, options);
  }
};

TEST_F(GpuGrowing, RowsBehindThoseInUse) {
  const Graph graph = parse_graph(R"(graph "g"(%past: f32[2,9,3], %x: f32[2,2,3], %n: s64[]) {
  %y: f32[2,9,3] = CacheAppend(%past, %x, %n) {axis=1} name "append"
  return %y
})",
                                  find_op);
  for (const s64 length : {0, 1, 4, 7}) {
    const std::vector<Tensor> inputs = {growing_reals({2, 9, 3}, 1), growing_reals({2, 2, 3}, 50),
                                        Tensor::scalar<s64>(length)};
    std::vector<std::string> kernels;
    expect_cpu_bytes(graph, 0, inputs, std::to_string(length), kernels);
    EXPECT_EQ(kernels, std::vector<std::string>{"cache_append"});
  }
}

TEST_F(GpuGrowing, CodesOfAllLengthsAreTheCpusByOnePlan) {
  Context gpu = context_of(kGrowingCodes, std::string(device_->name()));
  Context cpu = context_of(kGrowingCodes, "cpu");
  Inside::impl(cpu).grows = false;
  const Graph graph = growing_graph(std::string(kGrowingCodes));
  const s64 most = is_emulated(*device_) ? 12 : 63;
  for (s64 length = 1; length <= most; ++length) {
    const std::vector<Tensor> inputs = growing_inputs(graph, length);
    const std::vector<Tensor> got = gpu.run(inputs), want = cpu.run(inputs);
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(got[i].type(), want[i].type());
      EXPECT_EQ(std::memcmp(got[i].data(), want[i].data(), want[i].bytes()), 0)
          << "output " << i << " of length " << length;
    }
  }
  EXPECT_EQ(plans_made(gpu), 1);
}

TEST_F(GpuGrowing, RealsOfAllLengthsByOnePlan) {
  Context gpu = context_of(kGrowingReals, std::string(device_->name()));
  Context cpu = context_of(kGrowingReals, "cpu");
  Inside::impl(cpu).grows = false;
  const Graph graph = growing_graph(std::string(kGrowingReals));
  for (const s64 length : {1, 2, 9, 40, 63}) {
    const std::vector<Tensor> inputs = growing_inputs(graph, length);
    const std::vector<Tensor> got = gpu.run(inputs), want = cpu.run(inputs);
    const auto y = got[0].as<f32>(), z = want[0].as<f32>();
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], z[i], 1e-4f) << length;
  }
  EXPECT_EQ(plans_made(gpu), 1);
}

}  // namespace
}  // namespace octet::test
