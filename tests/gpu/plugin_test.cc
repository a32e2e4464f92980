// SPDX-License-Identifier: Apache-2.0
// A plugin on the GPU's pointers: it gets those, workspace there, and the run's stream.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "backends/backends.h"
#include "backends/cuda/driver.h"
#include "compile_only.h"
#include "octet/device_memory.h"
#include "octet/plugin_cpp.h"
#include "octet/plugins.h"
#include "one_node.h"
#include "ops/registry.h"
#include "plan/plan.h"

namespace octet {
namespace {

using testing::HasSubstr;

// Two results: the input, which goes by way of the workspace, and the constant.
struct Parted {
  explicit Parted(const plugin::Attributes&) {}

  void shapes(plugin::Shapes& s) const {
    s.same(0, 0);
    s.same(1, 1);
  }
  static size_t bytes(const plugin::Tensor& tensor) {
    return static_cast<size_t>(tensor.elements()) * sizeof(f32);
  }
  int64_t room(const plugin::Call& call) const {
    return static_cast<int64_t>(bytes(call.input(0)));
  }

  void on_host(plugin::Call& call) const {
    for (uint64_t i = 0; i < 2; ++i)
      std::memcpy(call.output(i).data<char>(), call.input(i).data<char>(), bytes(call.input(i)));
  }

  void on_gpu(plugin::Call& call) const {
    const auto address = [](const void* pointer) {
      if (memory_of(pointer, "cuda:0") != "cuda:0") throw std::runtime_error("not of the GPU");
      return reinterpret_cast<CUdeviceptr>(pointer);
    };
    if (call.stream() == nullptr) throw std::runtime_error("no stream");
    const auto copy = [&](const void* to, const void* from, size_t size) {
      if (cuda::driver().cuMemcpyAsync(address(to), address(from), size,
                                       static_cast<CUstream>(call.stream())) != 0)
        throw std::runtime_error("no copy");
    };
    const plugin::Tensor x = call.input(0), c = call.input(1);
    copy(call.workspace(), x.data<void>(), bytes(x));
    copy(call.output(0).data<void>(), call.workspace(), bytes(x));
    copy(call.output(1).data<void>(), c.data<void>(), bytes(c));
  }
};

void add_parted() {
  const std::vector<octet_plugin_format> two(2, plugin::f32());
  static plugin::Library library =
      std::move(plugin::Library("parted", "1.0")
                    .add(plugin::Operator<Parted>("octet.tests", "Parted", 1)
                             .input({"x"})
                             .input({"c", OCTET_PORT_CONSTANT})
                             .output({"y"})
                             .output({"z"})
                             .shapes<&Parted::shapes>()
                             .combination<&Parted::on_host>("host", two, two)
                             .combination<&Parted::on_gpu>("gpu", two, two, OCTET_DEVICE_CUDA)
                             .workspace<&Parted::room>()));
  static const PluginInfo info = add_plugin(*library.get());
}

Graph parted_graph() {
  add_parted();
  Graph graph;
  Node node;
  node.op = find_op("octet.tests/Parted");
  node.name = "parted";
  const TensorType type{Dtype::f32, {2, 3}};
  graph.inputs = {graph.add_value("x", type)};
  node.inputs = {graph.inputs[0],
                 graph.add_constant("c", Tensor::of<f32>({4}, std::vector<f32>{4, 3, 2, 1}))};
  node.outputs = {graph.add_value("y", type), graph.add_value("z", {Dtype::f32, {4}})};
  graph.outputs = node.outputs;
  graph.nodes = {node};
  return graph;
}

TEST(GpuPlugin, RunsOnPointersOfTheGpu) {
  std::string why;
  if (test::only_compiles()) GTEST_SKIP() << "nothing runs here";
  const Device* device = test::gpu_device(why);
  ASSERT_NE(device, nullptr) << why;
  const Graph graph = parted_graph();
  const Target target = make_target(device->name(), 1, nullptr);
  const Plan plan = make_plan(graph, std::vector<Shape>{{2, 3}}, target);
  const auto at = std::ranges::find(plan.steps, 0u, &PlanStep::node);
  ASSERT_NE(at, plan.steps.end());
  EXPECT_EQ(at->kernel, "parted:gpu");
  EXPECT_EQ(at->device, 1u);
  const Tensor x = Tensor::of<f32>({2, 3}, std::vector<f32>{1, -2, 3, -4, 5, -6});
  const std::vector<Tensor> got = test::run_on(graph, std::vector<Tensor>{x}, target);
  EXPECT_EQ(std::memcmp(got[0].data(), x.data(), x.bytes()), 0);
  EXPECT_EQ(got[1].as<f32>()[0], 4);
  EXPECT_EQ(got[1].as<f32>()[3], 1);
}

// tests/gpu/plugin_kernel.cu
TEST(GpuPlugin, AKernelOfItsOwn) {
  const char* library = std::getenv("OCTET_TEST_PLUGIN");
  if (library == nullptr) GTEST_SKIP() << "OCTET_TEST_PLUGIN names no library";
  std::string why;
  const Device* device = test::gpu_device(why);
  ASSERT_NE(device, nullptr) << why;
  load_plugin(library);
  Graph graph;
  Node node;
  node.op = find_op("octet.tests/Scaled");
  node.name = "scaled";
  const TensorType type{Dtype::f32, {100, 1000}};
  graph.inputs = {graph.add_value("x", type)};
  graph.outputs = {graph.add_value("y", type)};
  node.inputs = graph.inputs;
  node.outputs = graph.outputs;
  graph.nodes = {node};
  Tensor x(type.dtype, type.shape);
  f32 next = -3;
  for (f32& value : x.mutable_as<f32>()) value = next += 0.5f;
  const std::vector<Tensor> inputs = {x};
  const Target target = make_target(device->name(), 1, nullptr);
  const Plan plan = make_plan(graph, std::vector<Shape>{type.shape}, target);
  EXPECT_EQ(std::ranges::find(plan.steps, 0u, &PlanStep::node)->kernel, "scaled:gpu");
  const std::vector<Tensor> got = test::run_on(graph, inputs, target);
  const std::vector<Tensor> want = test::run_on(graph, inputs, make_target("cpu", 1, nullptr));
  EXPECT_EQ(std::memcmp(got[0].data(), want[0].data(), want[0].bytes()), 0);
}

TEST(GpuPlugin, TheCpuTakesPointersOfTheHost) {
  const Graph graph = parted_graph();
  const Plan plan = make_plan(graph, std::vector<Shape>{{2, 3}}, make_target("cpu", 1, nullptr));
  EXPECT_EQ(plan.steps[0].kernel, "parted:host");
  EXPECT_THAT(plan.steps[0].rejects, testing::ElementsAre("gpu: it is for CUDA pointers"));
}

}  // namespace
}  // namespace octet
