// SPDX-License-Identifier: Apache-2.0
// Models whose sizes depend on data give what the interpreter gives, whatever the data are.
#include "runtime/staged.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "graph/interpret.h"
#include "octet/engine.h"
#include "runtime/context.h"
#include "runtime/inside.h"
#include "runtime/model_testing.h"

namespace octet {
namespace {

using test::model_of;
using ::testing::HasSubstr;

Tensor floats(const Shape& shape, const std::vector<f32>& values) {
  return Tensor::of<f32>(shape, values);
}

void expect_same(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(to_string(got[i].type()), to_string(expected[i].type())) << i;
    EXPECT_EQ(std::memcmp(got[i].data(), expected[i].data(), got[i].bytes()), 0) << i;
  }
}

// Sizes known, then NonZero, then a convolution over what it chose, and an output from before.
constexpr std::string_view kDetector = R"(graph "g"(%x: f32[?,1,4,4], %s: f32[?]) {
  const %w: f32[2,1,3,3] = {1.0, 0.5, 0.0, -1.0, 2.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0}
  const %zero: s64[1] = {0}
  const %minus: s64[1] = {-1}
  %y: f32[*] = Conv(%x, %w) {pads=ints[1, 1, 1, 1]} name "conv"
  %r: f32[*] = Relu(%s) name "relu"
  %n: s64[*] = NonZero(%r) name "nonzero"
  %i: s64[*] = Squeeze(%n, %zero) name "squeeze"
  %p: f32[*] = Gather(%y, %i) name "gather"
  %q: f32[*] = MaxPool(%p) {kernel_shape=ints[2, 2], strides=ints[2, 2]} name "pool"
  %f: f32[*] = Reshape(%q, %minus) name "flat"
  return %f, %i, %y, %s
})";

TEST(Staged, EqualsTheInterpreterForAnyData) {
  const auto model = model_of(kDetector);
  Context context = Inside::context(model, {});
  std::vector<f32> image(3 * 16);
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<f32>(i % 7) - 3;
  for (const std::vector<f32>& scores :
       {std::vector<f32>{1, -1, 2}, {-1, -1, -1}, {1, 1, 1}, {1, -1, 3}}) {
    const std::vector<Tensor> inputs = {floats({3, 1, 4, 4}, image), floats({3}, scores)};
    expect_same(context.run(inputs), interpret(model->graph, inputs));
  }
  ASSERT_TRUE(Inside::impl(context).staged);
  EXPECT_TRUE(Inside::impl(context).plans.empty());
  // A first stage, and one after it for 2, 0 and 3 chosen images.
  EXPECT_EQ(Inside::impl(context).staged->stage_count(), 4u);
}

TEST(Staged, AShapeGivenAsInputIsPlannedWith) {
  const auto model = model_of(R"(graph "g"(%x: f32[6], %shape: s64[2]) {
    %r: f32[*] = Reshape(%x, %shape) name "reshape"
    %y: f32[*] = Relu(%r) name "relu"
    return %y
  })");
  Context context = Inside::context(model, {});
  for (const std::vector<s64>& shape : {std::vector<s64>{2, 3}, {3, -1}, {2, 3}, {6, 1}}) {
    const std::vector<Tensor> inputs = {floats({6}, {1, -2, 3, -4, 5, -6}),
                                        Tensor::of<s64>(Shape{2}, shape)};
    expect_same(context.run(inputs), interpret(model->graph, inputs));
  }
  // One that finds out what is missing, and one for each shape: nothing runs through the reference.
  EXPECT_EQ(Inside::impl(context).staged->stage_count(), 4u);
  EXPECT_EQ(plans_made(context), 3);
  EXPECT_THROW(context.run(std::vector<Tensor>{floats({6}, {1, 2, 3, 4, 5, 6}),
                                               Tensor::of<s64>(Shape{2}, std::vector<s64>{4, 2})}),
               Error);
}

TEST(Staged, OutputsAreFresh) {
  const auto model = model_of(kDetector);
  Context context = Inside::context(model, {});
  const std::vector<Tensor> inputs = {floats({1, 1, 4, 4}, std::vector<f32>(16, 1.0f)),
                                      floats({1}, {1})};
  std::vector<Tensor> outputs = context.run(inputs);
  EXPECT_NE(outputs[3].data(), inputs[1].data());
}

TEST(Staged, RunIntoTakesBuffersOfTheRightSizeOnly) {
  const auto model = model_of(kDetector);
  Context context = Inside::context(model, {});
  const std::vector<Tensor> inputs = {floats({2, 1, 4, 4}, std::vector<f32>(32, 1.0f)),
                                      floats({2}, {1, 0})};
  std::vector<Tensor> outputs = context.run(inputs);
  EXPECT_EQ(context.output_types()[1], (TensorType{Dtype::s64, {1}}));
  for (Tensor& output : outputs) output = output.clone();
  context.run_into(inputs, outputs);
  expect_same(outputs, interpret(model->graph, inputs));
  outputs[1] = Tensor(Dtype::s64, {2});
  try {
    context.run_into(inputs, outputs);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("use run()"));
  }
}

TEST(Staged, PrepareKnowsWhatSizesTell) {
  Context context = Inside::context(model_of(kDetector), {});
  context.prepare(std::vector<Shape>{{5, 1, 4, 4}, {5}});
  const std::vector<TensorType> types = context.output_types();
  EXPECT_TRUE(types[0].shape.is_unknown());
  EXPECT_EQ(types[2], (TensorType{Dtype::f32, {5, 2, 4, 4}}));
  EXPECT_THROW(context.prepare(std::vector<Shape>{{5, 2, 4, 4}, {5}}), Error);
}

// An engine file may say anything: graphs where none belong, bodies and operands that do not fit.
TEST(Staged, ControlFlowThatDoesNotFitIsAnError) {
  const std::vector<Tensor> x = {floats({2}, {-1, 2})};
  const auto plain = model_of(R"(graph "g"(%x: f32[2]) {
    %y: f32[*] = Relu(%x) {body=graph "b"(%a: f32[*]) {
      return %a
    }} name "relu"
    return %y
  })");
  EXPECT_EQ(Inside::context(plain, {}).run(x)[0].as<f32>()[0], 0.0f);
  for (const char* node : {
           "If(%x)",
           "If(%t) {then_branch=graph() { const %k: f32[1] = {1.0} return %k }}",
           "If(%t, %x) {then_branch=graph(%a: f32[*]) { return %a }, else_branch=graph() { const "
           "%k: f32[1] = {1.0} return %k }}",
           "If(_) {then_branch=graph() { const %k: f32[1] = {1.0} return %k }, else_branch=graph() "
           "{ const %k: f32[1] = {1.0} return %k }}",
           "Loop(%x, %t) {carried=0, body=graph(%i: f32[*], %c: f32[*]) { return %c, %i }}",
           "Loop(%n, %x) {carried=0, body=graph(%i: f32[*], %c: f32[*]) { return %c, %i }}",
           "Loop(%n, %t, %x) {carried=2, body=graph(%i: f32[*], %c: f32[*], %v: f32[*]) { return "
           "%c, %v }}",
           "Loop(%n, %t, %x) {carried=1, body=graph(%i: f32[*], %c: f32[*], %v: f32[*]) { return "
           "%v, %v }}",
           "Loop(%n, %t, %x) {carried=1, body=graph(%i: f32[*], %c: f32[*], %v: f32[*]) { return "
           "%c }}",
           "Scan(%n) {num_scan_inputs=1, body=graph(%s: f32[*]) { return %s }}",
           "Scan(%x) {num_scan_inputs=2, body=graph(%s: f32[*]) { return %s }}",
           "Scan(%x, %x) {num_scan_inputs=1, captures=-1, body=graph(%s: f32[*], %y: f32[*]) { "
           "return %s }}",
           "Scan(%x) {num_scan_inputs=1, scan_input_axes=ints[1], body=graph(%s: f32[*]) { return "
           "%s }}",
           "Scan(%x) {num_scan_inputs=1, scan_output_axes=ints[2], body=graph(%s: f32[*]) { return "
           "%s }}",
           "Scan(%x) {num_scan_inputs=1, batched=1, body=graph(%s: f32[*]) { return %s }}",
       }) {
    SCOPED_TRACE(node);
    try {
      const auto model = model_of(
          std::string(
              "graph(%x: f32[2]) { const %t: bool[] = {1} const %n: s64[] = {2} %y: f32[*] = ") +
          node + " name \"n\" return %y }");
      Inside::context(model, {}).run(x);
      ADD_FAILURE() << "it ran";
    } catch (const Error& error) {
      EXPECT_NE(error.code(), Error::Code::internal) << error.what();
    }
  }
}

TEST(Staged, TheNumberOfPlansIsBounded) {
  const auto model = model_of(kDetector);
  Context context = Inside::context(model, {});
  for (s64 n = 1; n <= 80; ++n) {
    const std::vector<Tensor> inputs = {
        Tensor(Dtype::f32, {n, 1, 4, 4}),
        floats({n}, std::vector<f32>(static_cast<size_t>(n), 1.0f))};
    context.run(inputs);
  }
  // Those that begin a run, and those that go on after NonZero; all are small.
  EXPECT_EQ(Inside::impl(context).staged->stage_count(), 2 * 64u);
}

}  // namespace
}  // namespace octet
