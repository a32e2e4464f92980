// SPDX-License-Identifier: Apache-2.0
// What kernels find wrong with data: the CPU's error, with the layer's name, wherever the run is waited for; later runs are right.
#include <gtest/gtest.h>

#include <cstring>

#include "backends/backends.h"
#include "core/error_testing.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "octet/engine.h"
#include "octet/error.h"
#include "on_gpu.h"
#include "ops/registry.h"
#include "runtime/context.h"
#include "runtime/device_memory_testing.h"
#include "runtime/inside.h"

namespace octet {
namespace {

using test::DeviceTensor;

constexpr std::string_view kEmbedding = R"(graph "g"(%ids: s64[?,3], %more: s64[2]) {
  const %t: f32[4,2] = {1, 2, 3, 4, 5, 6, 7, 8}
  const %u: f32[5,2] = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0}
  const %first: s64[1] = {0}
  %e: f32[?,3,2] = Gather(%t, %ids) {axis=0} name "embed"
  %f: f32[2,2] = Gather(%u, %more) {axis=0} name "positions"
  %m: f32[1,2] = ReduceMax(%f, %first) {keepdims=1} name "largest"
  %y: f32[?,3,2] = Add(%e, %m) name "add"
  return %y
})";

// The running product is the CPU's: the GPU is waited for in the middle of a run.
constexpr std::string_view kWithHost = R"(graph "g"(%ids: s64[?,3]) {
  const %t: f32[4,2] = {1, 2, 3, 4, 5, 6, 7, 8}
  const %axis: s64[] = {1}
  %e: f32[?,3,2] = Gather(%t, %ids) {axis=0} name "embed"
  %y: f32[?,3,2] = CumProd(%e, %axis) name "product"
  return %y
})";

// Sequences of lengths that a run brings.
constexpr std::string_view kRecurrent = R"(graph "g"(%x: f32[3,2,1], %lengths: s32[2]) {
  const %w: f32[1,4,1] = {1, 2, 3, 4}
  const %r: f32[1,4,1] = {4, 3, 2, 1}
  %y: f32[3,1,2,1] = LSTM(%x, %w, %r, _, %lengths) {hidden_size=1} name "walk"
  return %y
})";

std::shared_ptr<const Model> model_of(std::string_view text) {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(text, find_op);
  return model;
}

Tensor ids(std::vector<s64> values) {
  return Tensor::of<s64>(Shape{std::ssize(values) / 3, 3}, values);
}

class GpuReports : public test::OnGpu {
 protected:
  Context context(const std::shared_ptr<const Model>& model, const std::string& device) const {
    return Inside::context(model, {.device = device});
  }
  // The same bytes or the same error as on the CPU, in each of several runs in turn.
  void expect_alike(std::string_view text, const std::vector<std::vector<Tensor>>& runs) const {
    const auto model = model_of(text);
    Context here = context(model, "cpu"), there = context(model, std::string(device_->name()));
    for (int round = 0; round < 3; ++round) {
      for (const std::vector<Tensor>& inputs : runs) {
        Tensor want, got;
        const std::string error = test::error_of([&] { want = here.run(inputs)[0]; });
        EXPECT_EQ(test::error_of([&] { got = there.run(inputs)[0]; }), error);
        if (error != "no error") continue;
        EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0);
      }
    }
  }
};

TEST_F(GpuReports, AreTheErrorsOfTheCpu) {
  const auto two = [](s64 a, s64 b) { return Tensor::of<s64>(Shape{2}, std::vector<s64>{a, b}); };
  const std::vector<Tensor> good = {ids({0, 3, -4, -1, 2, 1}), two(4, -5)};
  const std::vector<Tensor> first = {ids({0, 3, 4, -1, -7, 1}), two(0, 1)};
  const std::vector<Tensor> second = {ids({0, 3, 1, -1, 2, 1}), two(0, 5)};
  const std::vector<Tensor> both = {ids({0, 3, 1, -1, -5, 1}), two(-6, 1)};
  expect_alike(kEmbedding, {good, first, good, good, second, first, both, good});
  const auto model = model_of(kEmbedding);
  EXPECT_EQ(test::error_of([&] { context(model, std::string(device_->name())).run(first); }),
            "index 4 is outside [-4, 4) of axis 0\n  running 'embed'");
}

TEST_F(GpuReports, ComeBeforeWhatTheHostDoesWithResults) {
  expect_alike(kWithHost,
               {{ids({0, 3, -4})}, {ids({0, 3, -5})}, {ids({1, 1, 2})}, {ids({9, 3, -5})}});
}

TEST_F(GpuReports, AreOfLengthsToo) {
  const std::vector<f32> values = {1, -2, 3, -0.5f, 0.25f, 2};
  const Tensor x = Tensor::of<f32>(Shape{3, 2, 1}, values);
  const auto run = [&](s32 a, s32 b) {
    return std::vector<Tensor>{x, Tensor::of<s32>(Shape{2}, std::vector<s32>{a, b})};
  };
  expect_alike(kRecurrent, {run(3, 1), run(3, 4), run(0, 2), run(-1, 4), run(3, 3), run(2, -5)});
  const auto model = model_of(kRecurrent);
  EXPECT_EQ(test::error_of([&] { context(model, std::string(device_->name())).run(run(3, -7)); }),
            "sequence 1 has length -7 of 3\n  running 'walk'");
}

TEST_F(GpuReports, AreWaitedForInStreams) {
  const auto model = model_of(kEmbedding);
  Context ran = context(model, std::string(device_->name()));
  const Tensor more = Tensor::of<s64>(Shape{2}, std::vector<s64>{1, 2});
  const Tensor right = ids({0, 3, -4, -1, 2, 1}), wrong = ids({0, 3, 1, -1, -5, 1});
  const Tensor want = interpret(model->graph, std::vector<Tensor>{right, more})[0];
  const DeviceTensor x(*device_, right), bad(*device_, wrong), other(*device_, more);
  const DeviceTensor out(*device_, want.type());
  const auto run = [&](const DeviceTensor& input) {
    const std::vector<TensorView> inputs = {input.view(), other.view()};
    ran.run_into(inputs, std::vector<MutableTensorView>{out.view()}, {.stream = nullptr});
  };
  for (int round = 0; round < 3; ++round) {
    run(x);
    run(bad);  // says nothing yet
    EXPECT_EQ(test::error_of([&] { ran.synchronize(); }),
              "index -5 is outside [-4, 4) of axis 0\n  running 'embed'");
    run(x);
    ran.synchronize();
    const Tensor got = out.read();
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0);
  }
  EXPECT_TRUE(Inside::impl(ran).plans.front().is_of_device());
}

}  // namespace
}  // namespace octet
