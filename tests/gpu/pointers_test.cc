// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs in the GPU's memory, and streams of the caller.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "backends/backends.h"
#include "backends/cuda/device.h"
#include "backends/cuda/driver.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "octet/engine.h"
#include "on_gpu.h"
#include "ops/registry.h"
#include "runtime/context.h"
#include "runtime/device_memory_testing.h"
#include "runtime/inside.h"

namespace octet {
namespace {

using test::DeviceTensor;
using testing::HasSubstr;

constexpr std::string_view kAdd = R"(graph "g"(%x: f32[?,5]) {
  const %c: f32[5] = {1, 2, 3, 4, 5}
  %y: f32[?,5] = Add(%x, %c) name "add"
  %z: f32[?,5] = Mul(%y, %c) name "mul"
  return %z
})";

std::shared_ptr<const Model> add_model() {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(kAdd, find_op);
  return model;
}

Tensor ramp(f32 first) {
  Tensor tensor(Dtype::f32, {3, 5});
  for (f32& v : tensor.mutable_as<f32>()) v = first += 0.25f;
  return tensor;
}

class GpuPointers : public test::OnGpu {
 protected:
  Context context() const {
    return Inside::context(add_model(), {.device = std::string(device_->name())});
  }
  std::string error_of(const TensorView& view, const RunOptions& options = {}) const {
    try {
      context().run(std::vector<TensorView>{view}, options);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Error::Code::invalid_argument);
      return error.what();
    }
    return "no error";
  }
};

TEST_F(GpuPointers, AreReadAndWrittenOnTheDevice) {
  Context ran = context();
  const Tensor x = ramp(-1), want = interpret(add_model()->graph, std::vector<Tensor>{x})[0];
  const DeviceTensor in(*device_, x), out(*device_, want.type());
  const std::vector<TensorView> inputs = {in.view()};
  const std::vector<MutableTensorView> outputs = {out.view()};
  for (int run = 0; run < 3; ++run) {
    ran.run_into(inputs, outputs);
    const Tensor got = out.read();
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0);
  }
  EXPECT_TRUE(Inside::impl(ran).plans.front().is_of_device());
}

TEST_F(GpuPointers, StreamsOrderRuns) {
  cuda::cuda_device(device_).make_current();
  CUstream stream = nullptr;
  ASSERT_EQ(cuda::driver().cuStreamCreate(&stream, cuda::kStreamNonBlocking), 0);
  Context ran = context();
  const std::vector<Tensor> x = {ramp(-1), ramp(7), ramp(0.5f)};
  const DeviceTensor in(*device_, x[0].type());
  const std::vector<TensorView> inputs = {in.view()};
  std::vector<DeviceTensor> outs;
  std::vector<Tensor> staged;
  for (const Tensor& one : x) {
    staged.push_back(ran.make_tensor(one.type()));
    std::memcpy(staged.back().mutable_data(), one.data(), one.bytes());
    outs.emplace_back(*device_, one.type());
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const auto to = reinterpret_cast<CUdeviceptr>(in.view().data);
    const auto from = reinterpret_cast<CUdeviceptr>(staged[i].data());
    ASSERT_EQ(cuda::driver().cuMemcpyAsync(to, from, x[i].bytes(), stream), 0);
    ran.run_into(inputs, std::vector<MutableTensorView>{outs[i].view()}, {.stream = stream});
  }
  EXPECT_EQ(cuda::driver().cuStreamSynchronize(stream), 0);
  for (size_t i = 0; i < x.size(); ++i) {
    const Tensor want = interpret(add_model()->graph, std::vector<Tensor>{x[i]})[0];
    const Tensor got = outs[i].read();
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << i;
  }
  EXPECT_EQ(cuda::driver().cuStreamDestroy(stream), 0);
}

class OwnStream {
 public:
  OwnStream() { EXPECT_EQ(cuda::driver().cuStreamCreate(&stream_, cuda::kStreamNonBlocking), 0); }
  ~OwnStream() { EXPECT_EQ(cuda::driver().cuStreamDestroy(stream_), 0); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  CUstream get() const { return stream_; }
  void synchronize() const { EXPECT_EQ(cuda::driver().cuStreamSynchronize(stream_), 0); }
  void copy(const DeviceTensor& to, const Tensor& from) const {
    const auto address = [](const std::byte* at) { return reinterpret_cast<CUdeviceptr>(at); };
    EXPECT_EQ(cuda::driver().cuMemcpyAsync(address(to.view().data), address(from.data()),
                                           from.bytes(), stream_),
              0);
  }

 private:
  CUstream stream_ = nullptr;
};

class OwnEvent {
 public:
  OwnEvent() { EXPECT_EQ(cuda::driver().cuEventCreate(&event_, cuda::kEventWithoutTime), 0); }
  ~OwnEvent() { EXPECT_EQ(cuda::driver().cuEventDestroy(event_), 0); }
  OwnEvent(const OwnEvent&) = delete;
  OwnEvent& operator=(const OwnEvent&) = delete;

  void record(const OwnStream& stream) const {
    EXPECT_EQ(cuda::driver().cuEventRecord(event_, stream.get()), 0);
  }
  void hold(const OwnStream& stream) const {
    EXPECT_EQ(cuda::driver().cuStreamWaitEvent(stream.get(), event_, 0), 0);
  }

 private:
  CUevent event_ = nullptr;
};

// One context, two buffers of the caller's: the next input is copied while the present one is read (docs/gpu.md). Where the GPU is emulated
// work comes late: when runs are waited for, or copies as soon as they may and runs after them.
class GpuCopies : public GpuPointers, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(Early, GpuCopies, testing::Bool());

TEST_P(GpuCopies, GoOnBesideRuns) {
  cuda::cuda_device(device_).make_current();
  const OwnStream copies, runs;
  const OwnEvent full[2], free[2];
  Context ran = context();
  std::vector<Tensor> staged;
  for (int i = 0; i < 7; ++i) {
    const Tensor x = ramp(static_cast<f32>(10 * i));
    staged.push_back(ran.make_tensor(x.type()));
    std::memcpy(staged.back().mutable_data(), x.data(), x.bytes());
  }
  const DeviceTensor in[2] = {{*device_, staged[0].type()}, {*device_, staged[0].type()}};
  std::vector<DeviceTensor> outs;
  for (const Tensor& x : staged) outs.emplace_back(*device_, x.type());
  setenv("OCTET_EMULATED_LATE", "1", 1);
  for (size_t i = 0; i < staged.size(); ++i) {
    const size_t k = i % 2;
    free[k].hold(copies);
    copies.copy(in[k], staged[i]);
    full[k].record(copies), full[k].hold(runs);
    if (GetParam()) copies.synchronize();
    ran.run_into(std::vector<TensorView>{in[k].view()},
                 std::vector<MutableTensorView>{outs[i].view()}, {.stream = runs.get()});
    free[k].record(runs);
  }
  runs.synchronize();
  unsetenv("OCTET_EMULATED_LATE");
  for (size_t i = 0; i < staged.size(); ++i) {
    const Tensor want = interpret(add_model()->graph, std::vector<Tensor>{staged[i]})[0];
    const Tensor got = outs[i].read();
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << i;
  }
  EXPECT_EQ(Inside::impl(ran).plans.size(), 1u);
}

// Runs of one context follow each other whatever streams they are in, step by step at first and then as a graph: each reads what the one before it
// gave, and the last one alone is waited for.
TEST_F(GpuPointers, OneContextRunsInManyStreams) {
  constexpr std::string_view kChain = R"(graph "g"(%x: f32[3,5]) {
  %y: f32[3,5] = Softmax(%x) {axis=0} name "first"
  %z: f32[3,5] = Softmax(%y) {axis=1} name "second"
  %w: f32[3,5] = Add(%x, %z) name "third"
  return %w
})";
  cuda::cuda_device(device_).make_current();
  const OwnStream streams[2];
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(kChain, find_op);
  Context ran = Inside::context(model, {.device = std::string(device_->name())});
  Context alone = Inside::context(model, {.device = std::string(device_->name())});
  for (const std::vector<int>& turns :
       {std::vector<int>{0, 0, 0, 1}, std::vector<int>{1, 1, 0, 1, 0}, std::vector<int>{0, 2, 1}}) {
    Tensor want = ramp(-2);
    std::vector<DeviceTensor> values;
    values.emplace_back(*device_, want);
    setenv("OCTET_EMULATED_LATE", "1", 1);
    for (const int turn : turns) {
      values.emplace_back(*device_, want.type());
      const std::vector<TensorView> inputs = {values[values.size() - 2].view()};
      RunOptions options;
      if (turn < 2) options.stream = streams[turn].get();
      ran.run_into(inputs, std::vector<MutableTensorView>{values.back().view()}, options);
    }
    streams[turns.back()].synchronize();
    unsetenv("OCTET_EMULATED_LATE");
    for (size_t i = 0; i < turns.size(); ++i) want = alone.run(std::vector<Tensor>{want})[0];
    const Tensor got = values.back().read();
    EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << turns.size();
    for (const OwnStream& stream : streams) stream.synchronize();
  }
  EXPECT_TRUE(Inside::impl(ran).plans.front().is_of_device());
}

// A graph of the caller's, launched twice.
TEST_F(GpuPointers, StreamsThatAreCapturedKeepTheRun) {
  const cuda::Driver& api = cuda::driver();
  Context ran = context();
  const Tensor x = ramp(-1), want = interpret(add_model()->graph, std::vector<Tensor>{x})[0];
  const DeviceTensor in(*device_, ramp(50)), out(*device_, want.type());
  const std::vector<TensorView> inputs = {in.view()};
  const std::vector<MutableTensorView> outputs = {out.view()};
  ran.run_into(inputs, outputs);
  cuda::cuda_device(device_).make_current();
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(api.cuStreamCreate(&stream, cuda::kStreamNonBlocking), 0);
  ASSERT_EQ(api.cuStreamBeginCapture(stream, cuda::kCaptureThreadLocal), 0);
  ran.run_into(inputs, outputs, {.stream = stream});
  ASSERT_EQ(api.cuStreamEndCapture(stream, &graph), 0);
  ASSERT_EQ(api.cuGraphInstantiate(&exec, graph, 0), 0);
  const auto queue = device_->make_queue(nullptr);
  in.write(x, *queue);
  queue->synchronize();
  ASSERT_EQ(api.cuGraphLaunch(exec, stream), 0);
  ASSERT_EQ(api.cuStreamSynchronize(stream), 0);
  const Tensor got = out.read();
  EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0);
  EXPECT_EQ(api.cuGraphExecDestroy(exec), 0);
  EXPECT_EQ(api.cuGraphDestroy(graph), 0);
  EXPECT_EQ(api.cuStreamDestroy(stream), 0);
}

TEST_F(GpuPointers, ThoseOfTheHostAreSaid) {
  const Tensor x = ramp(0);
  TensorView view = view_of(x);
  view.device = device_->name();
  EXPECT_THAT(error_of(view), HasSubstr("but its address is memory of 'cpu'"));
  const DeviceTensor there(*device_, x);
  view = there.view();
  view.device = "cpu";
  EXPECT_THAT(error_of(view), HasSubstr("given as memory of 'cpu', but its address is memory of"));
  Tensor locked = context().make_tensor(x.type());
  EXPECT_EQ(error_of(view_of(locked)), "no error");
  view = view_of(std::as_const(locked));
  view.device = device_->name();
  EXPECT_THAT(error_of(view), HasSubstr("but its address is memory of 'cpu'"));
}

TEST_F(GpuPointers, ThoseOfAnotherGpuAreSaid) {
  const Device* other = nullptr;
  try {
    other = &find_device("cuda:1");
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  const Tensor x = ramp(0);
  const DeviceTensor there(*other, x);
  EXPECT_THAT(error_of(there.view()), HasSubstr("lies in memory of 'cuda:1'"));
  TensorView view = there.view();
  view.device = device_->name();
  EXPECT_THAT(error_of(view), HasSubstr("but its address is memory of 'cuda:1'"));
  cuda::cuda_device(other).make_current();
  CUstream stream = nullptr;
  ASSERT_EQ(cuda::driver().cuStreamCreate(&stream, cuda::kStreamNonBlocking), 0);
  EXPECT_THAT(error_of(view_of(x), {.stream = stream}), HasSubstr("is none of cuda:0"));
  EXPECT_EQ(cuda::driver().cuStreamDestroy(stream), 0);
}

// The calling thread's own choice of a device, that of cudaSetDevice.
TEST_F(GpuPointers, RunsLeaveTheCurrentDevice) {
  const Tensor x = ramp(0);
  const DeviceTensor in(*device_, x);
  ASSERT_EQ(cuda::driver().cuCtxSetCurrent(nullptr), 0);
  {
    Context ran = context();
    EXPECT_EQ(device_->current(), nullptr);
    ran.prepare(std::vector<Shape>{{3, 5}}, device_->name());
    EXPECT_EQ(device_->current(), nullptr);
    ran.run(std::vector<TensorView>{in.view()});
    EXPECT_EQ(device_->current(), nullptr);
  }
  EXPECT_EQ(device_->current(), nullptr);
}

}  // namespace
}  // namespace octet
