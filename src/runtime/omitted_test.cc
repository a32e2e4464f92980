// SPDX-License-Identifier: Apache-2.0
// Results that a node leaves out: others are what they are by the definition.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "backends/backends.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "runtime/bound_plan.h"

namespace octet {
namespace {

std::vector<Tensor> random_inputs(const Graph& graph) {
  std::mt19937 random(3);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    Tensor& x = inputs.emplace_back(Dtype::f32, graph.value(id).type.shape);
    for (f32& value : x.mutable_as<f32>()) value = static_cast<f32>(random() % 1000) / 100.0f;
  }
  return inputs;
}

std::vector<Tensor> planned(const Graph& graph, std::span<const Tensor> inputs,
                            const std::string& device) {
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  const Target target = make_target(device, 1, nullptr);
  Queues queues(target);
  PreparedStore store;
  BoundPlan bound(make_plan(graph, shapes, target), queues, store);
  std::vector<Tensor> outputs;
  for (const TensorType& type : bound.plan().output_types)
    outputs.emplace_back(type.dtype, type.shape);
  bound.run(inputs, outputs);
  return outputs;
}

constexpr const char* kGraphs[] = {
    R"(graph "top_k"(%x: f32[4,30]) {
  const %k: s64[1] = {5}
  _, %y: s64[4,5] = TopK(%x, %k) {axis=-1, largest=1} name "node"
  return %y
})",
    R"(graph "split"(%x: f32[2,9]) {
  _, %y: f32[2,3], _ = Split(%x) {axis=1, num_outputs=3} name "node"
  return %y
})",
    R"(graph "max_pool"(%x: f32[1,2,4,4]) {
  _, %y: s64[1,2,2,2] = MaxPool(%x) {kernel_shape=ints[2,2], strides=ints[2,2]} name "node"
  return %y
})",
    R"(graph "layer_normalization"(%x: f32[2,8], %s: f32[8]) {
  _, %y: f32[2,1], _ = LayerNormalization(%x, %s) {axis=-1} name "node"
  return %y
})",
    R"(graph "dynamic_quantize_linear"(%x: f32[2,4]) {
  _, %y: f32[], _ = DynamicQuantizeLinear(%x) name "node"
  return %y
})",
    R"(graph "attention"(%q: f32[1,2,4,8], %k: f32[1,2,4,8], %v: f32[1,2,4,8]) {
  _, _, _, %y: f32[1,2,4,4] = Attention(%q, %k, %v) name "node"
  return %y
})"};

TEST(OmittedResults, LeaveTheOthersAsTheyAre) {
  for (const char* text : kGraphs) {
    const Graph graph = parse_graph(text, find_op);
    const std::vector<Tensor> inputs = random_inputs(graph);
    const Tensor want = interpret(graph, inputs)[0];
    for (const char* device : {"cpu", "test:1"}) {
      const Tensor got = planned(graph, inputs, device)[0];
      ASSERT_EQ(got.type(), want.type()) << text;
      EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0) << device << "\n" << text;
    }
  }
}

}  // namespace
}  // namespace octet
