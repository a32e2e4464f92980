// SPDX-License-Identifier: Apache-2.0
// Random graphs of operators on codes, for tests that hold plans against the scalar reference.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "ops/registry.h"

namespace octet::test {

constexpr s64 kZero = 117;

// What such graphs read.
inline Tensor noise(const Shape& shape, u32 seed) {
  Tensor tensor(Dtype::f32, shape);
  std::mt19937 random(seed);
  for (f32& v : tensor.mutable_as<f32>()) v = static_cast<f32>(random() % 255) * 0.05f - 6.0f;
  return tensor;
}

class GraphMaker {
 public:
  GraphMaker(s64 batch, u32 seed) : batch_(batch), random_(seed) {
    const ValueId x = graph.add_value("x", {Dtype::f32, {batch, 3, 12, 10}});
    graph.inputs = {x};
    maps_.push_back(
        {add("QuantizeLinear", {x, scale(), zero()}, {}, {batch, 3, 12, 10}), {batch, 3, 12, 10}});
  }

  Graph finish() {
    for (int i = 0; i < 14; ++i) add_random();
    for (const Map& map : {maps_.back(), maps_[maps_.size() / 2]}) {
      graph.outputs.push_back(
          add("DequantizeLinear", {map.id, scale(), zero()}, {}, map.shape, Dtype::f32));
    }
    return std::move(graph);
  }

 private:
  struct Map {
    ValueId id;
    Shape shape;
  };

  s64 below(s64 end) { return static_cast<s64>(random_() % static_cast<u64>(end)); }
  Map any() { return maps_[static_cast<size_t>(below(std::ssize(maps_)))]; }
  Map late() { return below(3) == 0 ? any() : maps_.back(); }

  ValueId scale() { return graph.add_constant("s", Tensor::scalar(0.05f)); }
  ValueId zero() { return graph.add_constant("z", Tensor::scalar(static_cast<u8>(kZero))); }
  ValueId ints(const std::vector<s64>& values) {
    Tensor tensor(Dtype::s64, {std::ssize(values)});
    std::ranges::copy(values, tensor.mutable_as<s64>().begin());
    return graph.add_constant("i", tensor);
  }

  ValueId add(const char* op, std::vector<ValueId> inputs, Attrs attrs, const Shape& shape,
              Dtype dtype = Dtype::u8) {
    Node node;
    node.op = find_op(op);
    node.name = fmt::format("{}_{}", op, graph.nodes.size());
    node.inputs = std::move(inputs);
    node.attrs = std::move(attrs);
    const ValueId id = graph.add_value(node.name, {dtype, shape});
    if (dtype == Dtype::u8) graph.value(id).quant = {0.05f, static_cast<s32>(kZero)};
    node.outputs = {id};
    graph.nodes.push_back(std::move(node));
    return id;
  }

  Attrs codes(size_t inputs) {
    Attrs attrs;
    attrs.set("input_zero_points", std::vector<s64>(inputs, kZero));
    attrs.set("output_dtype", std::string("u8"));
    attrs.set("output_zero_point", kZero);
    attrs.set("lo", s64{2});
    attrs.set("hi", s64{251});
    return attrs;
  }

  // Of two pieces the first may be left unread.
  void split(const Map& map) {
    if (map.shape[1] < 2) return;
    Shape first = map.shape, second = map.shape;
    first[1] /= 2;
    second[1] -= first[1];
    Attrs attrs;
    attrs.set("axis", s64{1});
    const ValueId a = add("Split", {map.id, ints({first[1], second[1]})}, std::move(attrs), first);
    const ValueId b = graph.add_value("piece", {Dtype::u8, second});
    graph.value(b).quant = graph.value(a).quant;
    graph.nodes.back().outputs.push_back(b);
    if (below(2) == 0) keep(a, first);
    keep(b, second);
  }

  void keep(ValueId id, const Shape& shape) { maps_.push_back({id, shape}); }

  void add_random() {
    switch (below(batch_ > 0 ? 14 : 10)) {  // the rest needs images
      case 0:
      case 1:
      case 2:
        return conv(late(), 3, 1 + below(2));
      case 3:
        return conv(late(), 1, 1);
      case 4:
        return sum();
      case 5:
        return pool(late());
      case 6:
        return join();
      case 7:
        return shuffle(late());
      case 8:
        return add_constant(late());
      case 9:
        return split(late());
      case 10:
        return turn_batch(late());
      case 11:
        return add_mean(late(), {2, 3});
      case 12:
        return turn(late());
      default:
        return add_mean(late(), {0});
    }
  }

  void conv(const Map& x, s64 kernel, s64 stride) {
    constexpr s64 kOutputs[] = {3, 8, 16, 64};
    const s64 channels = x.shape[1], pad = kernel / 2;
    const bool depthwise = kernel == 3 && below(3) == 0;
    const s64 outputs = depthwise ? channels : kOutputs[below(4)];
    const Shape shape{x.shape[0], outputs, (x.shape[2] + 2 * pad - kernel) / stride + 1,
                      (x.shape[3] + 2 * pad - kernel) / stride + 1};
    Tensor weights(Dtype::s8, {outputs, depthwise ? 1 : channels, kernel, kernel});
    for (s8& w : weights.mutable_as<s8>()) w = static_cast<s8>(below(255) - 127);
    Tensor multiplier(Dtype::f32, {outputs});
    for (f32& m : multiplier.mutable_as<f32>()) m = 0.001f * static_cast<f32>(1 + below(4));
    Attrs attrs = codes(1);
    attrs.set("input_zero_points", std::vector<s64>{kZero, 0, 0, 0});
    attrs.set("pads", std::vector<s64>(4, pad));
    attrs.set("strides", std::vector<s64>{stride, stride});
    attrs.set("group", depthwise ? channels : s64{1});
    std::vector<ValueId> inputs = {x.id, graph.add_constant("w", weights), kNoValue,
                                   graph.add_constant("m", multiplier)};
    for (const Map& map : maps_) {
      if (inputs.size() > 4 || map.shape != shape || below(2) == 0) continue;
      inputs.push_back(map.id);
      attrs.set("residual_multiplier", 0.37f);
      attrs.set("input_zero_points", std::vector<s64>{kZero, 0, 0, 0, kZero});
    }
    keep(add("QConv", inputs, attrs, shape), shape);
  }

  void add_codes(const Map& a, const Map& b) {
    Attrs attrs = codes(2);
    attrs.set("multipliers", std::vector<f32>{0.6f, 0.7f});
    keep(add("QAdd", {a.id, b.id}, attrs, a.shape), a.shape);
  }

  void sum() {
    const Map a = late(), b = any();
    add_codes(a, a.shape == b.shape ? b : a);
  }

  void pool(const Map& x) {
    Attrs attrs;
    attrs.set("kernel_shape", std::vector<s64>{3, 3});
    attrs.set("pads", std::vector<s64>(4, 1));
    keep(add("MaxPool", {x.id}, attrs, x.shape), x.shape);
  }

  void join() {
    const Map a = late();
    Shape shape = a.shape;
    std::vector<ValueId> inputs = {a.id};
    for (const Map& map : maps_) {
      const Shape& s = map.shape;
      if (s[2] != shape[2] || s[3] != shape[3] || inputs.size() > 3 || below(2) == 0) continue;
      inputs.push_back(map.id);
      shape[1] += s[1];
    }
    Attrs attrs;
    attrs.set("axis", s64{1});
    keep(add("Concat", inputs, attrs, shape), shape);
  }

  void shuffle(const Map& x) {
    std::vector<s64> channels;
    for (s64 i = 0; i < 5; ++i) channels.push_back(below(x.shape[1]));
    Shape shape = x.shape;
    shape[1] = 5;
    Attrs attrs;
    attrs.set("channels", channels);
    keep(add("GatherChannels", {x.id}, attrs, shape), shape);
  }

  // The last image becomes the first: shapes do not tell.
  void turn_batch(const Map& x) {
    keep(add("Slice", {x.id, ints({-1}), ints({-batch_ - 1}), ints({0}), ints({-1})}, {}, x.shape),
         x.shape);
  }

  // Rows become columns, and what lies behind each other rows again. As many channels as images may take their places.
  void turn(const Map& x) {
    const bool images = x.shape[1] == batch_ && below(2) == 0;
    Attrs attrs;
    attrs.set("perm", images ? std::vector<s64>{1, 0, 3, 2} : std::vector<s64>{0, 1, 3, 2});
    const Shape turned{x.shape[0], x.shape[1], x.shape[3], x.shape[2]};
    const ValueId id = add("Transpose", {x.id}, std::move(attrs), turned);
    keep(add("Reshape", {id, ints({x.shape.begin(), x.shape.end()})}, {}, x.shape), x.shape);
  }

  // The same for all images, or of each its own: then dimension 0 is the batch.
  void add_constant(const Map& x) {
    const Shape shape{below(2) == 0 ? batch_ : 1, x.shape[1], 1, 1};
    Tensor codes(Dtype::u8, shape);
    for (u8& code : codes.mutable_as<u8>()) code = static_cast<u8>(below(256));
    add_codes(x, {graph.add_constant("c", codes), shape});
  }

  void add_mean(const Map& x, const std::vector<s64>& axes) {
    Attrs attrs = codes(1);
    attrs.set("axes", axes);
    attrs.set("keepdims", s64{1});
    attrs.set("scales", std::vector<f32>{0.05f, 0.05f});
    Shape shape = x.shape;
    for (s64 axis : axes) shape[static_cast<int>(axis)] = 1;
    add_codes(x, {add("QReduceMean", {x.id}, attrs, shape), shape});
  }

  const s64 batch_;
  std::mt19937 random_;
  std::vector<Map> maps_;

 public:
  Graph graph;
};

}  // namespace octet::test
