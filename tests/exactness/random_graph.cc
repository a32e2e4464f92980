// SPDX-License-Identifier: Apache-2.0
#include "random_graph.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "graph/interpret.h"
#include "ops/quantized/weight_codes.h"
#include "ops/registry.h"
#include "precision/precision.h"

namespace octet {
namespace {

class Builder {
 public:
  explicit Builder(u32 seed) : random_(seed) {}

  Graph run() {
    graph_.name = "random";
    const s64 channels = pick({1, 3, 4, 8, 17}), side = pick({7, 8, 12, 15});
    ValueId x = graph_.add_value("input", {Dtype::f32, {Shape::kDynamic, channels, side, side}});
    graph_.inputs = {x};
    x = conv(x, channels, pick({8, 16, 19, 64, 70}), 1);
    const s64 layers = pick({4, 6, 9});
    for (s64 i = 0; i < layers; ++i) x = layer(x);
    x = add("ReduceMean", {x, ints({2, 3})}, {{"keepdims", s64{0}}});
    const s64 classes = pick({3, 10, 33});
    x = add("MatMul", {x, weights({channels_, classes})}, {});
    x = add("Add", {x, weights({classes})}, {});
    graph_.outputs = {x};
    return std::move(graph_);
  }

 private:
  using AttrList = std::vector<std::pair<std::string, AttrValue>>;

  s64 pick(std::vector<s64> choices) { return choices[random_() % choices.size()]; }

  ValueId add(std::string_view op, std::vector<ValueId> inputs, const AttrList& attrs) {
    Node node;
    node.op = find_op(op);
    node.name = std::string(op) + "_" + std::to_string(graph_.nodes.size());
    node.origins = {node.name};
    node.inputs = std::move(inputs);
    for (const auto& [name, value] : attrs) node.attrs.set(name, value);
    node.outputs = {graph_.add_value(node.name, {Dtype::f32, {}})};
    graph_.nodes.push_back(node);
    return node.outputs[0];
  }

  ValueId weights(const Shape& shape) {
    std::normal_distribution<f32> normal(0.0f, 0.4f);
    Tensor tensor(Dtype::f32, shape);
    for (f32& w : tensor.mutable_as<f32>()) w = normal(random_);
    return graph_.add_constant("w", tensor);
  }

  ValueId ints(std::vector<s64> values) {
    return graph_.add_constant("ints",
                               Tensor::of<s64>(Shape{static_cast<s64>(values.size())}, values));
  }

  ValueId conv(ValueId x, s64 in, s64 out, s64 groups) {
    const s64 kernel = pick({1, 3, 3, 5}), stride = pick({1, 1, 1, 2}),
              dilation = kernel == 3 ? pick({1, 1, 2}) : 1;
    const s64 pad = dilation * (kernel / 2), extra = stride == 2 ? pick({0, 1}) : 0;
    channels_ = out;
    return add("Conv", {x, weights({out, in / groups, kernel, kernel}), weights({out})},
               {{"pads", std::vector<s64>{pad, pad, pad + extra, pad + extra}},
                {"strides", std::vector<s64>{stride, stride}},
                {"dilations", std::vector<s64>{dilation, dilation}},
                {"group", groups}});
  }

  ValueId same_size_conv(ValueId x, s64 out) {
    return add("Conv", {x, weights({out, channels_, 3, 3}), weights({out})},
               {{"pads", std::vector<s64>{1, 1, 1, 1}}});
  }

  ValueId activation(ValueId x) {
    switch (pick({0, 1, 2, 3, 4})) {
      case 0:
        return add("Relu", {x}, {});
      case 1:
        return add("LeakyRelu", {x}, {{"alpha", 0.1f}});
      case 2:
        return add("Swish", {x}, {});
      case 3:
        return add("Clip", {x, scalar(0.0f), scalar(6.0f)}, {});
      default:
        return x;
    }
  }

  ValueId scalar(f32 value) { return graph_.add_constant("c", Tensor::scalar<f32>(value)); }

  ValueId layer(ValueId x) {
    switch (pick({0, 1, 2, 3, 4, 5, 6, 7})) {
      case 0:
        return activation(conv(x, channels_, pick({4, 16, 31, 64}), 1));
      case 1:
        return activation(conv(x, channels_, channels_, channels_));
      case 2:
        return grouped(x);
      case 3:
        return activation(residual(x));
      case 4:
        return concat(x);
      case 5:
        return add(
            "MaxPool", {x},
            {{"kernel_shape", std::vector<s64>{3, 3}}, {"pads", std::vector<s64>{1, 1, 1, 1}}});
      case 6:
        if (!resized_) return interpolated(x);
        [[fallthrough]];
      default:
        return add(
            "AveragePool", {x},
            {{"kernel_shape", std::vector<s64>{3, 3}}, {"pads", std::vector<s64>{1, 1, 1, 1}}});
    }
  }

  // Once, for images grow.
  ValueId interpolated(ValueId x) {
    resized_ = true;
    const Tensor scales = Tensor::of<f32>(Shape{4}, std::vector<f32>{1.0f, 1.0f, 2.0f, 1.5f});
    const char* coordinates[] = {"half_pixel", "asymmetric", "align_corners"};
    return add("Interpolate", {x, kNoValue, graph_.add_constant("scales", scales)},
               {{"mode", std::string(pick({0, 1}) == 0 ? "linear" : "cubic")},
                {"coordinate_transformation_mode", std::string(coordinates[pick({0, 1, 2})])}});
  }

  // Behind two convolutions the addition is the last reader of x and may write over it.
  ValueId residual(ValueId x) {
    const ValueId first = pick({0, 1}) == 0 ? x : same_size_conv(x, channels_);
    return add("Add", {same_size_conv(first, channels_), x}, {});
  }

  ValueId grouped(ValueId x) {
    if (channels_ % 2 != 0) return activation(conv(x, channels_, 16, 1));
    return activation(conv(x, channels_, channels_ * pick({1, 2}), 2));
  }

  ValueId concat(ValueId x) {
    const s64 before = channels_;
    const ValueId side = same_size_conv(x, 8);
    channels_ = before + 8;
    return add("Concat", {activation(side), x}, {{"axis", s64{1}}});
  }

  std::mt19937 random_;
  Graph graph_;
  s64 channels_ = 0;
  bool resized_ = false;
};

}  // namespace

Graph random_float_graph(u32 seed) { return Builder(seed).run(); }

std::vector<Tensor> random_inputs(const Graph& graph, u32 seed, s64 batch) {
  std::mt19937 random(seed);
  std::normal_distribution<f32> normal;
  std::vector<Tensor> inputs;
  for (ValueId id : graph.inputs) {
    Shape shape = graph.value(id).type.shape;
    if (shape[0] < 0) shape[0] = batch;
    Tensor tensor(Dtype::f32, shape);
    for (f32& x : tensor.mutable_as<f32>()) x = normal(random);
    inputs.push_back(tensor);
  }
  return inputs;
}

Graph quantized(Graph graph, u32 seed, const PassOptions& options) {
  run_passes(graph, float_passes(), options, nullptr);
  Ranges ranges;
  Range nothing;
  nothing.min = INFINITY;
  nothing.max = -INFINITY;
  for (ValueId id : values_to_observe(graph)) ranges[id] = nothing;
  for (u32 i = 0; i < 3; ++i) {
    interpret(graph, random_inputs(graph, seed + i, 1), [&](ValueId id, const Tensor& tensor) {
      const auto at = ranges.find(id);
      if (at == ranges.end()) return;
      for (f32 x : tensor.as<f32>()) {
        at->second.min = std::min(at->second.min, x);
        at->second.max = std::max(at->second.max, x);
        at->second.threshold = std::max(at->second.threshold, f64{std::fabs(x)});
      }
    });
  }
  assign_precision(graph, ranges, {});
  WeightCodes weight_codes;
  place_qdq(graph, ranges, weight_codes);
  run_passes(graph, quantize_passes(), options, nullptr);
  finish_decisions(graph);
  return graph;
}

}  // namespace octet
