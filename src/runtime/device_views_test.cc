// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs in a device's memory, which the host cannot touch, and streams of the caller.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "backends/backends.h"
#include "backends/test/device.h"
#include "graph/interpret.h"
#include "octet/engine.h"
#include "runtime/context.h"
#include "runtime/device_memory_testing.h"
#include "runtime/inside.h"
#include "runtime/model_testing.h"
#include "runtime/random_graph_testing.h"

namespace octet {
namespace {

using test::DeviceTensor;
using test::model_of;
using testing::HasSubstr;

Tensor ramp(const Shape& shape, u32 seed) {
  Tensor tensor(Dtype::f32, shape);
  for (f32& v : tensor.mutable_as<f32>()) v = static_cast<f32>(++seed * 37 % 251) * 0.05f - 6.0f;
  return tensor;
}

void expect_same(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.type(), want.type()) << what;
  EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << what;
}

std::shared_ptr<const Model> random_model(u32 seed) {
  auto model = std::make_shared<Model>();
  model->graph = test::GraphMaker(2, seed).finish();
  return model;
}

// Views of inputs and outputs; bit i of `on_device` says that the i-th of them lies there, inputs first.
class Placed {
 public:
  Placed(const Device& device, const std::vector<Tensor>& inputs, const std::vector<Tensor>& like,
         unsigned on_device)
      : on_device_(on_device), host_in_(inputs) {
    unsigned bit = 0;
    for (const Tensor& input : host_in_) {
      in_.emplace_back(device, input);
      inputs_.push_back(is_there(bit++) ? TensorView(in_.back().view()) : view_of(input));
    }
    first_output_ = bit;
    for (const Tensor& output : like) {
      out_.emplace_back(device, output.type());
      host_out_.emplace_back(output.dtype(), output.shape());
      outputs_.push_back(is_there(bit++) ? out_.back().view() : view_of(host_out_.back()));
    }
  }

  const std::vector<TensorView>& inputs() const { return inputs_; }
  const std::vector<MutableTensorView>& outputs() const { return outputs_; }
  Tensor output(size_t i) const {
    return is_there(first_output_ + static_cast<unsigned>(i)) ? out_[i].read() : host_out_[i];
  }

 private:
  bool is_there(unsigned bit) const { return (on_device_ >> bit & 1) != 0; }

  const unsigned on_device_;
  unsigned first_output_ = 0;
  std::vector<Tensor> host_in_, host_out_;
  std::vector<DeviceTensor> in_, out_;
  std::vector<TensorView> inputs_;
  std::vector<MutableTensorView> outputs_;
};

void expect_runs(const std::shared_ptr<const Model>& model, const std::vector<Tensor>& inputs,
                 const std::string& device) {
  const std::vector<Tensor> want = interpret(model->graph, inputs);
  Context context = Inside::context(model, {.device = device});
  const auto tensors = static_cast<unsigned>(inputs.size() + want.size());
  for (unsigned where = 0; where < 1u << tensors; ++where) {
    const Placed placed(find_device(device), inputs, want, where);
    for (int run = 0; run < 2; ++run) {
      context.run_into(placed.inputs(), placed.outputs());
      for (size_t i = 0; i < want.size(); ++i)
        expect_same(placed.output(i), want[i], fmt::format("{}, {:b}, {}", device, where, i));
    }
  }
}

TEST(DeviceViews, RandomGraphsWhereverTheirTensorsLie) {
  for (u32 seed = 0; seed < 8; ++seed)
    expect_runs(random_model(seed), {ramp({2, 3, 12, 10}, seed)}, fmt::format("test:{}", seed / 2));
}

TEST(DeviceViews, NothingGoesThroughTheHostWithoutNeed) {
  const auto model = random_model(3);
  Context context = Inside::context(model, {.device = "test:0"});
  context.prepare(std::vector<Shape>{{2, 3, 12, 10}}, "test:0");
  Context::Impl& impl = Inside::impl(context);
  EXPECT_TRUE(impl.plans.front().is_of_device());
  const std::vector<Tensor> inputs = {ramp({2, 3, 12, 10}, 1)};
  const std::vector<Tensor> want = interpret(model->graph, inputs);
  const Placed placed(find_device("test:0"), inputs, want, 7);
  context.run_into(placed.inputs(), placed.outputs());
  EXPECT_EQ(impl.plans.size(), 1u);
  context.prepare(std::vector<Shape>{{2, 3, 12, 10}});
  EXPECT_FALSE(impl.plans.front().is_of_device());
}

s64 copies_on_device(const Plan& plan) {
  return std::ranges::count(plan.steps, "copy_on_device", &PlanStep::kernel);
}

TEST(DeviceViews, AlignedInputsAreReadWhereTheyLie) {
  const auto model = model_of(R"(graph "g"(%x: f32[5], %z: f32[5]) {
    %a: f32[5] = Add(%x, %z) name "a"
    %b: f32[5] = Mul(%a, %z) name "b"
    return %b
  })");
  const std::vector<Tensor> inputs = {ramp({5}, 1), ramp({5}, 7)};
  const std::vector<Tensor> want = interpret(model->graph, inputs);
  const Device& device = find_device("test:0");
  const Placed placed(device, inputs, want, 7);
  Context context = Inside::context(model, {.device = "test:0"});
  Context::Impl& impl = Inside::impl(context);
  context.run_into(placed.inputs(), placed.outputs());
  expect_same(placed.output(0), want[0], "aligned");
  EXPECT_EQ(copies_on_device(impl.plans.front().plan()),
            2);  // of z, which two kernels read, and of the output
  const DeviceTensor longer(device, Tensor::of<f32>({6}, std::vector<f32>{0, 1, 2, 3, 4, 5}));
  std::vector<TensorView> elsewhere = placed.inputs();
  elsewhere[0].data = longer.view().data + sizeof(f32);
  context.run_into(elsewhere, placed.outputs());
  const std::vector<Tensor> other = {Tensor::of<f32>({5}, std::vector<f32>{1, 2, 3, 4, 5}),
                                     inputs[1]};
  expect_same(placed.output(0), interpret(model->graph, other)[0], "at any address");
  EXPECT_EQ(copies_on_device(impl.plans.front().plan()), 3);
  EXPECT_EQ(impl.plans.size(), 2u);
}

TEST(DeviceViews, OutputsThatNothingComputes) {
  const auto model = model_of(test::kUncomputedOutputs);
  expect_runs(model, {Tensor::of<f32>({2}, std::vector<f32>{5, 6})}, "test:0");
}

TEST(DeviceViews, SizesThatDependOnData) {
  const auto model = model_of(test::kSizedByData);
  expect_runs(model, {Tensor::of<f32>({6}, std::vector<f32>{0, 1, 0, 2, 3, 0})}, "test:1");
}

// Work of the stream before and after each run, and several runs before anybody waits.
TEST(DeviceViews, AStreamOrdersRuns) {
  for (const char* device : {"test:0", "test:2"}) {
    const auto model = random_model(5);
    const auto stream = find_device(device).make_queue(std::make_shared<ThreadPool>(1));
    Context context = Inside::context(model, {.device = device});
    std::vector<std::vector<Tensor>> inputs, want;
    for (u32 run = 0; run < 4; ++run) {
      inputs.push_back({ramp({2, 3, 12, 10}, run * 31)});
      want.push_back(interpret(model->graph, inputs.back()));
    }
    const DeviceTensor x(find_device(device), inputs[0][0].type());
    std::vector<DeviceTensor> y;
    std::vector<MutableTensorView> outputs;
    for (const Tensor& output : want[0]) {
      y.emplace_back(find_device(device), output.type());
      outputs.push_back(y.back().view());
    }
    std::vector<std::vector<Tensor>> got(4);
    const std::vector<TensorView> input = {x.view()};
    for (size_t run = 0; run < 4; ++run) {
      x.write(inputs[run][0], *stream);
      context.run_into(input, outputs, {.stream = stream.get()});
      for (size_t i = 0; i < y.size(); ++i)
        y[i].read(got[run].emplace_back(want[run][i].dtype(), want[run][i].shape()), *stream);
    }
    stream->synchronize();
    for (size_t run = 0; run < 4; ++run) {
      for (size_t i = 0; i < y.size(); ++i) expect_same(got[run][i], want[run][i], device);
    }
  }
}

TEST(DeviceViews, WhatIsNotThereIsSaid) {
  const auto model = random_model(0);
  const std::vector<Tensor> inputs = {ramp({2, 3, 12, 10}, 1)};
  const Device& device = find_device("test:1");
  const DeviceTensor there(device, inputs[0]);
  Context context = Inside::context(model, {.device = "test:1"});
  const auto error_of = [&](TensorView view, const RunOptions& options = {}) {
    try {
      context.run(std::vector<TensorView>{view}, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Error::Code::invalid_argument);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  TensorView view = there.view();
  EXPECT_EQ(error_of(view), "no error");
  view.device = "test:2";
  EXPECT_THAT(error_of(view), HasSubstr("lies in memory of 'test:2', which this context has not; "
                                        "give it in memory of the host ('cpu') or of 'test:1'"));
  view.device = "cpu";
  EXPECT_THAT(error_of(view), HasSubstr("given as memory of 'cpu', but its address is memory of "
                                        "'test:1'"));
  view = view_of(inputs[0]);
  view.device = "test:1";
  EXPECT_THAT(error_of(view), HasSubstr("but its address is memory of 'cpu'"));
  view = there.view();
  view.strides = Strides{0, 120, 10, 1};
  EXPECT_THAT(error_of(view), HasSubstr("is not dense there"));
  EXPECT_THROW(context.prepare(std::vector<Shape>{{2, 3, 12, 10}}, "test:2"), Error);
  context = Inside::context(model);
  EXPECT_THAT(error_of(there.view()), HasSubstr("give it in memory of the host ('cpu')"));
  EXPECT_THAT(error_of(view_of(inputs[0]), {.stream = nullptr}), HasSubstr("has no streams"));
}

TEST(DeviceViews, TensorsForCopies) {
  for (const char* device : {"cpu", "test:0"}) {
    Context context = Inside::context(random_model(0), {.device = device});
    Tensor tensor = context.make_tensor({Dtype::f32, {3, 5}});
    EXPECT_EQ(tensor.type(), (TensorType{Dtype::f32, {3, 5}}));
    EXPECT_TRUE(std::ranges::all_of(tensor.as<f32>(), [](f32 v) { return v == 0; }));
    tensor.mutable_as<f32>()[14] = 1;
  }
}

}  // namespace
}  // namespace octet
