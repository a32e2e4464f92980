// SPDX-License-Identifier: Apache-2.0
// Equalization of random graphs: the real model keeps its bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <initializer_list>
#include <random>
#include <unordered_map>
#include <vector>

#include "graph/interpret.h"
#include "graph/verify.h"
#include "ops/registry.h"
#include "precision/equalize.h"

namespace octet {
namespace {

// Graphs of all that channels may pass, and what they may not.
class RandomGraph {
 public:
  explicit RandomGraph(u32 seed) : random_(seed) {
    const ValueId x = graph.add_value("x", {Dtype::f32, {1, 4, 6, 6}});
    graph.inputs = {x};
    maps_ = {x};
    for (int i = 0; i < 14; ++i) maps_.push_back(next());
    graph.outputs = {maps_.back(), maps_[maps_.size() - 3]};
  }

  std::unordered_map<ValueId, ChannelFacts> facts_of_all() {
    std::unordered_map<ValueId, ChannelFacts> seen;
    for (ValueId id : maps_) {
      for (s64 c = 0; c < graph.value(id).type.shape[1]; ++c) {
        const f64 width = std::exp2(static_cast<f64>(below(12)) - 6);
        seen[id].power.push_back(width * width / 3);
        seen[id].min.push_back(-width);
        seen[id].max.push_back(width);
      }
    }
    return seen;
  }

  Graph graph;

 private:
  u32 below(u32 end) { return static_cast<u32>(random_() % end); }
  // As most follow on what came last, there are long paths.
  ValueId any() {
    return below(3) > 0 ? maps_.back() : maps_[below(static_cast<u32>(maps_.size()))];
  }

  ValueId constant(const Shape& shape) {
    Tensor tensor(Dtype::f32, shape);
    for (f32& w : tensor.mutable_as<f32>()) {
      w = std::ldexp(static_cast<f32>(below(2000)) - 1000.0f, -10 - static_cast<int>(below(6)));
    }
    return graph.add_constant("c", std::move(tensor));
  }

  ValueId add(const char* op, std::vector<ValueId> inputs, const Attrs& attrs = {},
              const Shape& shape = {1, 4, 6, 6}) {
    Node node;
    node.op = find_op(op);
    node.name = fmt::format("n{}", graph.nodes.size());
    node.inputs = std::move(inputs);
    node.outputs = {graph.add_value(node.name, {Dtype::f32, shape})};
    node.attrs = attrs;
    graph.nodes.push_back(node);
    return node.outputs[0];
  }

  ValueId product() {
    Attrs attrs;
    const bool depthwise = below(2) == 0;
    attrs.set("group", s64{depthwise ? 4 : 1});
    attrs.set("pads", std::vector<s64>{1, 1, 1, 1});
    if (below(4) == 0) {
      attrs.set("kernel_shape", std::vector<s64>{3, 3});
      return add("ConvTranspose", {any(), constant({4, depthwise ? 1 : 4, 3, 3})}, attrs);
    }
    std::vector<ValueId> inputs = {any(), constant({4, depthwise ? 1 : 4, 3, 3}), constant({4})};
    if (below(3) == 0) inputs.push_back(any());
    if (below(2) == 0) attrs.set("activation", std::string("relu"));
    return add("Conv", std::move(inputs), attrs);
  }

  ValueId numbers(const Shape& shape, std::initializer_list<f32> values) {
    Tensor tensor(Dtype::f32, shape);
    std::ranges::copy(values, tensor.mutable_as<f32>().begin());
    return graph.add_constant("f", std::move(tensor));
  }
  ValueId numbers(std::initializer_list<s64> values) {
    Tensor tensor(Dtype::s64, {static_cast<s64>(values.size())});
    std::ranges::copy(values, tensor.mutable_as<s64>().begin());
    return graph.add_constant("i", std::move(tensor));
  }

  // Some move channels to others: 4 * 1.2 are 4.
  ValueId resized() {
    Attrs attrs;
    attrs.set("coordinate_transformation_mode", std::string("asymmetric"));
    const bool linear = below(2) == 0;
    if (linear) attrs.set("mode", std::string("linear"));
    const ValueId scales = numbers({4}, {1, below(3) == 0 ? 1.2f : 1.0f, 1, 1.1f});
    return add(linear ? "Interpolate" : "Resize", {any(), kNoValue, scales}, attrs);
  }

  // Two channels of one, two of another.
  ValueId parts() {
    Attrs axis;
    axis.set("axis", s64{1});
    std::vector<ValueId> both;
    for (int i = 0; i < 2; ++i) {
      const s64 from = static_cast<s64>(below(3));
      both.push_back(add("Slice", {any(), numbers({from}), numbers({from + 2}), numbers({1})}, {},
                         {1, 2, 6, 6}));
    }
    return add("Concat", both, axis);
  }

  ValueId padded() {
    Attrs pool;
    pool.set("kernel_shape", std::vector<s64>{3, 3});
    const ValueId pads = numbers({0, 0, 1, 1, 0, 0, 1, 1});
    const ValueId wide = add("Pad", {any(), pads}, {}, {1, 4, 8, 8});
    return add("AveragePool", {wide}, pool);
  }

  ValueId gated() {
    const ValueId x = any();
    Attrs keep;
    keep.set("keepdims", s64{1});
    const ValueId mean = add("ReduceMean", {x, numbers({2, 3})}, keep, {1, 4, 1, 1});
    const ValueId gate = add("Conv", {mean, constant({4, 4, 1, 1})}, {}, {1, 4, 1, 1});
    return add("Mul", {x, gate});
  }

  ValueId moved() {
    switch (below(5)) {
      case 0:
        return resized();
      case 1:
        return parts();
      case 2:
        return padded();
      case 3:
        return gated();
      default:
        return add("Mul", {any(), constant({1, 4, 1, 1})});
    }
  }

  ValueId next() {
    switch (below(10)) {
      case 8:
      case 9:
        return moved();
      case 0:
        return add("Relu", {any()});
      case 1: {
        Attrs alpha;
        alpha.set("alpha", 0.125f);
        return add("LeakyRelu", {any()}, alpha);
      }
      case 2:
        return add("Add", {any(), any()});
      case 3: {
        Attrs pool;
        pool.set("kernel_shape", std::vector<s64>{3, 3});
        pool.set("pads", std::vector<s64>{1, 1, 1, 1});
        return add(below(2) == 0 ? "MaxPool" : "AveragePool", {any()}, pool);
      }
      case 4:
        return below(3) == 0 ? add("Sigmoid", {any()}) : add("PRelu", {any(), constant({4, 1, 1})});
      default:
        return product();
    }
  }

  std::mt19937 random_;
  std::vector<ValueId> maps_;
};

bool same_bits(const Tensor& a, const Tensor& b) {
  const auto x = a.as<f32>(), y = b.as<f32>();
  return std::ranges::equal(
      x, y, [](f32 p, f32 q) { return std::bit_cast<u32>(p) == std::bit_cast<u32>(q); });
}

TEST(EqualizeRandom, GraphsKeepTheirBits) {
  size_t changed = 0;
  for (u32 seed = 0; seed < 200; ++seed) {
    RandomGraph made(seed);
    verify(made.graph);
    const ChannelExponents exponents = choose_exponents(made.graph, made.facts_of_all(), {});
    Graph equalized = made.graph;
    apply_exponents(equalized, exponents);
    verify(equalized);
    changed += exponents.empty() ? 0u : 1u;
    Tensor x(Dtype::f32, {1, 4, 6, 6});
    std::mt19937 random(seed);
    for (f32& value : x.mutable_as<f32>())
      value = static_cast<f32>(static_cast<s32>(random() % 4096) - 2048) / 700.0f;
    const std::vector<Tensor> inputs = {x};
    const std::vector<Tensor> truth = interpret(made.graph, inputs);
    const std::vector<Tensor> got = interpret(equalized, inputs);
    for (size_t i = 0; i < truth.size(); ++i) EXPECT_TRUE(same_bits(truth[i], got[i])) << seed;
  }
  EXPECT_GT(changed, 60u);  // or the test shows nothing
}

}  // namespace
}  // namespace octet
