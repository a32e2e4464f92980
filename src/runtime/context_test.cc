// SPDX-License-Identifier: Apache-2.0
#include "runtime/context.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <thread>

#include "graph/interpret.h"
#include "octet/engine.h"
#include "runtime/inside.h"
#include "runtime/model_testing.h"

namespace octet {
namespace {

using test::model_of;

constexpr std::string_view kConv = R"(graph "g"(%x: u8[?,4,5,5]) {
  const %w: s8[2,4,1,1] = {1, -2, 3, -4, 5, -6, 7, -8}
  const %m: f32[2] = {0.02, 0.05}
  %y: u8[?,2,5,5] @(0.1, 7) = QConv(%x, %w, _, %m) {hi=255, input_zero_points=ints[0, 0, 0, 0], lo=0, output_dtype="u8", output_zero_point=7} name "conv"
  %z: u8[?,2,5,5] @(0.1, 7) = MaxPool(%y) {kernel_shape=ints[3, 3], pads=ints[1, 1, 1, 1]} name "pool"
  return %z
})";

Tensor codes(s64 batch, u32 seed) {
  Tensor tensor(Dtype::u8, {batch, 4, 5, 5});
  for (u8& q : tensor.mutable_as<u8>())
    q = static_cast<u8>((seed = seed * 1664525u + 1013904223u) >> 24);
  return tensor;
}

std::vector<u8> list(const Tensor& tensor) {
  return {tensor.as<u8>().begin(), tensor.as<u8>().end()};
}

TEST(Context, RunsAnyBatchAndRemembersPlans) {
  const auto model = model_of(kConv);
  Context context = Inside::context(model, {});
  for (s64 batch : {1, 3, 1, 2}) {
    const std::vector<Tensor> inputs = {codes(batch, 5)};
    EXPECT_EQ(list(context.run(inputs)[0]), list(interpret(model->graph, inputs)[0])) << batch;
  }
  EXPECT_EQ(Inside::impl(context).plans.size(), 3u);
}

// Reshapes share bytes: of an input, of a value that is read under both shapes, of one that is an output too.
TEST(Context, ReshapesShareBytes) {
  const auto model = model_of(R"(graph "g"(%x: u8[2,6]) {
    const %flat: s64[1] = {12}
    const %square: s64[2] = {3, 4}
    const %s: f32[] = {0.5}
    const %z: u8[] = {3}
    %a: u8[12] = Reshape(%x, %flat) name "a"
    %b: f32[12] = DequantizeLinear(%a, %s, %z) name "b"
    %c: f32[3,4] = Reshape(%b, %square) name "c"
    %d: f32[4,3] = Transpose(%c) {perm=ints[1, 0]} name "d"
    %e: f32[12] = Reshape(%d, %flat) name "e"
    %f: f32[12] = Add(%b, %e) name "f"
    %g: f32[3,4] = Reshape(%f, %square) name "g"
    %h: u8[3,4] = Reshape(%a, %square) name "h"
    %i: f32[3,4] = Sub(%g, %c) name "i"
    return %i, %g, %h
  })");
  Tensor x(Dtype::u8, {2, 6});
  u8 next = 1;
  for (u8& q : x.mutable_as<u8>()) q = next = static_cast<u8>(next * 7 + 1);
  const std::vector<Tensor> inputs = {x};
  const std::vector<Tensor> want = interpret(model->graph, inputs);
  Context context = Inside::context(model, {});
  const std::vector<Tensor> got = context.run(inputs);
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].type(), want[i].type());
    EXPECT_EQ(std::memcmp(got[i].data(), want[i].data(), want[i].bytes()), 0) << i;
  }
  const Plan& plan = Inside::impl(context).plans.front().plan();
  const auto shared = std::ranges::count_if(
      plan.buffers, [](const Buffer& buffer) { return buffer.same_as != kNoBuffer; });
  EXPECT_EQ(shared, 3);  // two Reshapes, and the sum takes the memory of its second operand
}

// What products write is joined where it is written; an input that comes twice, or is read elsewhere, too.
TEST(Context, ConcatenationsAreWrittenInPlace) {
  const auto model = model_of(R"(graph "g"(%x: u8[?,4,5,5]) {
    const %w: s8[2,4,1,1] = {1, -2, 3, -4, 5, -6, 7, -8}
    const %v: s8[2,8,1,1] = {1, -2, 3, -4, 5, -6, 7, -8, 8, 7, -6, 5, -4, 3, -2, 1}
    const %m: f32[2] = {0.02, 0.05}
    %a: u8[?,2,5,5] @(0.1, 7) = QConv(%x, %w, _, %m) {hi=255, input_zero_points=ints[0, 0, 0, 0], lo=0, output_dtype="u8", output_zero_point=7} name "a"
    %b: u8[?,2,5,5] @(0.1, 7) = QConv(%x, %w, _, %m) {hi=255, input_zero_points=ints[9, 0, 0, 0], lo=0, output_dtype="u8", output_zero_point=7} name "b"
    %c: u8[?,2,5,5] @(0.1, 7) = QConv(%x, %w, _, %m) {hi=200, input_zero_points=ints[30, 0, 0, 0], lo=3, output_dtype="u8", output_zero_point=7} name "c"
    %j: u8[?,8,5,5] @(0.1, 7) = Concat(%a, %b, %a, %c) {axis=1} name "j"
    %k: u8[?,4,5,5] @(0.1, 7) = Concat(%c, %b) {axis=1} name "k"
    %y: u8[?,2,5,5] @(0.1, 0) = QConv(%j, %v, _, %m) {hi=255, input_zero_points=ints[7, 0, 0, 0], lo=0, output_dtype="u8", output_zero_point=0} name "y"
    %z: u8[?,2,5,5] @(0.1, 0) = QConv(%k, %w, _, %m) {hi=255, input_zero_points=ints[7, 0, 0, 0], lo=0, output_dtype="u8", output_zero_point=0} name "z"
    return %y, %z
  })");
  for (s64 batch : {1, 3}) {
    const std::vector<Tensor> inputs = {codes(batch, 8)};
    const std::vector<Tensor> want = interpret(model->graph, inputs);
    Context context = Inside::context(model, {});
    const std::vector<Tensor> got = context.run(inputs);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(list(got[i]), list(want[i])) << batch << i;
    const Plan& plan = Inside::impl(context).plans.front().plan();
    const auto joined = std::ranges::count_if(
        plan.buffers, [](const Buffer& buffer) { return buffer.same_as != kNoBuffer; });
    EXPECT_EQ(joined, 3);
  }
}

TEST(Context, KeepsOnlyTheMostRecentPlans) {
  Context context = Inside::context(model_of(kConv), {});
  for (s64 batch = 1; batch <= 20; ++batch) context.run(std::vector<Tensor>{codes(batch, 1)});
  EXPECT_EQ(Inside::impl(context).plans.size(), Context::Impl::kMaxPlans);
}

TEST(Context, CountsThePlansThatItMakes) {
  Context context = Inside::context(model_of(kConv), {});
  EXPECT_EQ(plans_made(context), 0);
  for (s64 batch = 1; batch <= kPlansOfContext; ++batch)
    context.prepare(std::vector<Shape>{codes(batch, 1).shape()});
  EXPECT_EQ(plans_made(context), kPlansOfContext);
  for (s64 batch = kPlansOfContext; batch >= 1; --batch)
    context.run(std::vector<Tensor>{codes(batch, 1)});
  EXPECT_EQ(plans_made(context), kPlansOfContext);
  context.run(std::vector<Tensor>{codes(kPlansOfContext + 1, 1)});
  EXPECT_EQ(plans_made(context), kPlansOfContext + 1);
}

TEST(Context, NamesTheInputThatDoesNotFit) {
  Context context = Inside::context(model_of(kConv), {});
  const auto message = [&](std::vector<Tensor> inputs) -> std::string {
    try {
      context.run(inputs);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Error::Code::invalid_argument);
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(
      message({Tensor(Dtype::f32, {1, 4, 5, 5})}).find("'x' expects u8[?,4,5,5], got f32[1,4,5,5]"),
      std::string::npos);
  EXPECT_NE(message({Tensor(Dtype::u8, {1, 3, 5, 5})}).find("'x' expects ?x4x5x5, got 1x3x5x5"),
            std::string::npos);
  EXPECT_NE(message({}).find("has 1 inputs, got 0"), std::string::npos);
  EXPECT_NE(message({Tensor()}).find("nothing"), std::string::npos);
}

TEST(Context, RunIntoRefusesBuffersOfAnotherType) {
  Context context = Inside::context(model_of(kConv), {});
  const std::vector<Tensor> inputs = {codes(1, 1)};
  std::vector<Tensor> outputs = {Tensor(Dtype::u8, {1, 2, 5, 4})};
  EXPECT_THROW(context.run_into(inputs, outputs), Error);
}

TEST(Context, ManyContextsShareOneModel) {
  const auto model = model_of(kConv);
  const std::vector<Tensor> inputs = {codes(2, 9)};
  const std::vector<u8> expected = list(interpret(model->graph, inputs)[0]);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      Context context = Inside::context(model, {.threads = 1 + t % 2});
      for (int i = 0; i < 20; ++i) wrong += list(context.run(inputs)[0]) == expected ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Context, ConstantAndPassThroughOutputs) {
  const auto model = model_of(test::kUncomputedOutputs);
  Context context = Inside::context(model, {});
  const std::vector<Tensor> outputs =
      context.run(std::vector<Tensor>{Tensor::of<f32>({2}, std::vector<f32>{5, 6})});
  const f32 expected[4][2] = {{1, 2}, {5, 6}, {6, 8}, {6, 8}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(outputs[i].as<f32>()[0], expected[i][0]) << i;
    EXPECT_EQ(outputs[i].as<f32>()[1], expected[i][1]) << i;
  }
}

}  // namespace
}  // namespace octet
