// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions of codes as phases: scales are powers of two, so that the float definition's sums are exact and the
// integer form has to give the same codes.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/interpret.h"
#include "graph/verify.h"
#include "ops/registry.h"
#include "ops/shared/conv.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

struct Case {
  Shape x, weights;
  std::vector<s64> strides{1, 1}, pads{0, 0, 0, 0}, output_padding{0, 0}, dilations{1, 1};
  bool per_channel = true;
  bool zero_points = false;  // u8 weights with a zero point off the center
  int bias = 0;              // none, s32 codes or f32
};

class Builder {
 public:
  explicit Builder(u32 seed) : random_(seed) {}

  Graph graph(const Case& c) {
    Graph& g = graph_;
    const ValueId x = g.add_value("x", {Dtype::u8, c.x});
    g.inputs = {x};
    const ValueId dx = node("DequantizeLinear", {x, scalar(0.5f), zero_point(117)}, c.x);
    std::vector<ValueId> inputs{dx, weights(c)};
    if (c.bias != 0) inputs.push_back(bias(c));
    Node up;
    up.op = find_op("ConvTranspose");
    up.name = "up";
    up.inputs = inputs;
    up.attrs.set("strides", c.strides);
    up.attrs.set("pads", c.pads);
    up.attrs.set("output_padding", c.output_padding);
    up.attrs.set("dilations", c.dilations);
    const Shape y = conv_transpose_geometry(up, c.x, c.weights).output_shape();
    up.outputs = {g.add_value("up", {Dtype::f32, y})};
    g.nodes.push_back(up);
    const ValueId q = node("QuantizeLinear", {up.outputs[0], scalar(32.0f), zero_point(99)}, y);
    g.value(q).type.dtype = Dtype::u8;
    g.outputs = {q};
    verify(g);
    return g;
  }

  Tensor codes(Dtype dtype, const Shape& shape) {
    Tensor tensor(dtype, shape);
    for (size_t i = 0; i < tensor.bytes(); ++i)
      tensor.mutable_data()[i] = static_cast<std::byte>(random_());
    return tensor;
  }

 private:
  ValueId scalar(f32 value) { return graph_.add_constant("scale", Tensor::scalar(value)); }
  ValueId zero_point(u8 code) { return graph_.add_constant("zero", Tensor::scalar(code)); }

  ValueId node(const char* op, std::vector<ValueId> inputs, const Shape& shape, s64 axis = 1) {
    Node made;
    made.op = find_op(op);
    made.name = fmt::format("{}{}", op, graph_.nodes.size());
    made.inputs = std::move(inputs);
    made.attrs.set("axis", axis);
    made.outputs = {graph_.add_value(made.name, {Dtype::f32, shape})};
    graph_.nodes.push_back(made);
    return made.outputs[0];
  }

  // 1/4 or 1/8 for each output channel.
  Tensor scales(const Case& c, f32 factor) {
    if (!c.per_channel) return Tensor::scalar(0.25f * factor);
    std::vector<f32> values;
    for (s64 i = 0; i < c.weights[1]; ++i) values.push_back((i % 3 == 1 ? 0.125f : 0.25f) * factor);
    return Tensor::of<f32>({c.weights[1]}, values);
  }

  ValueId weights(const Case& c) {
    const Dtype dtype = c.zero_points ? Dtype::u8 : Dtype::s8;
    std::vector<ValueId> inputs{graph_.add_constant("w", codes(dtype, c.weights)),
                                graph_.add_constant("sw", scales(c, 1.0f))};
    if (c.zero_points) {
      std::vector<u8> zeros;
      const s64 count = c.per_channel ? c.weights[1] : 1;
      for (s64 i = 0; i < count; ++i) zeros.push_back(static_cast<u8>(120 + i));
      const Shape shape = c.per_channel ? Shape{count} : Shape{};
      inputs.push_back(graph_.add_constant("zw", Tensor::of<u8>(shape, zeros)));
    }
    return node("DequantizeLinear", std::move(inputs), c.weights);
  }

  ValueId bias(const Case& c) {
    const Shape shape{c.weights[1]};
    std::vector<s32> values;
    for (s64 i = 0; i < c.weights[1]; ++i) values.push_back(static_cast<s32>(random_() % 9999));
    if (c.bias == 1) {
      const ValueId codes = graph_.add_constant("b", Tensor::of<s32>(shape, values));
      const ValueId scale = graph_.add_constant("sb", scales(c, 0.5f));
      return node("DequantizeLinear", {codes, scale}, shape, 0);
    }
    std::vector<f32> reals;
    for (const s32 value : values) reals.push_back(static_cast<f32>(value) / 8.0f);
    return graph_.add_constant("b", Tensor::of<f32>(shape, reals));
  }

  Graph graph_;
  std::mt19937 random_;
};

bool has(const Graph& graph, std::string_view op) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) { return is_op(node, op); });
}

// Both the split graph and what the passes after it make of it compute the definition's codes.
void expect_same(const Case& c, u32 seed) {
  Builder builder(seed);
  const Graph before = builder.graph(c);
  const std::vector<Tensor> x{builder.codes(Dtype::u8, c.x)};
  const Tensor expected = interpret(before, x)[0];
  for (const bool all : {false, true}) {
    Graph after = before;
    for (const Pass& pass : quantize_passes()) {
      if (all || pass.name == "split_conv_transpose") run_passes(after, {&pass, 1}, {}, nullptr);
    }
    for (const Node& node : after.nodes)
      EXPECT_FALSE(is_op(node, "ConvTranspose")) << node.decision.reason;
    EXPECT_TRUE(has(after, all ? "QConv" : "Conv"));
    const Tensor got = interpret(after, x)[0];
    ASSERT_EQ(expected.type(), got.type());
    EXPECT_TRUE(std::ranges::equal(expected.as<u8>(), got.as<u8>())) << "all passes: " << all;
  }
}

TEST(SplitConvTranspose, GeometriesGiveTheSameCodes) {
  u32 seed = 0;
  for (const s64 stride : {1, 2, 3}) {
    for (const s64 kernel : {stride, stride + 1, 2 * stride, 2 * stride + 1}) {
      for (const s64 pad : {s64{0}, s64{1}, kernel - 1}) {
        Case c{.x = {2, 3, 4, 5}, .weights = {3, 4, kernel, kernel + 1}};
        c.strides = {stride, stride};
        c.pads = {pad, 0, pad / 2, pad};
        c.output_padding = {stride - 1, pad % stride};
        c.per_channel = seed % 2 == 0;
        c.zero_points = seed % 3 == 0;
        c.bias = static_cast<int>(seed % 3);
        SCOPED_TRACE(fmt::format("stride {} kernel {} pad {}", stride, kernel, pad));
        expect_same(c, ++seed);
      }
    }
  }
}

TEST(SplitConvTranspose, Dilations) {
  for (const s64 stride : {2, 3}) {
    Case c{.x = {1, 2, 5, 4}, .weights = {2, 3, 3, 3}};
    c.strides = {stride, stride};
    c.dilations = {2, 2};
    SCOPED_TRACE(stride);
    expect_same(c, 77);
  }
}

TEST(SplitConvTranspose, OthersKeepTheirFormAndSayWhy) {
  Case uneven{.x = {1, 2, 3, 3}, .weights = {2, 2, 3, 3}};
  uneven.strides = {1, 2};
  Case sparse{.x = {1, 2, 3, 3}, .weights = {2, 2, 1, 1}};
  sparse.strides = {3, 3};
  Case line{.x = {1, 2, 3}, .weights = {2, 2, 3}};
  line.strides = line.output_padding = line.dilations = {1};
  line.output_padding = {0};
  line.pads = {0, 0};
  for (const auto& [c, why] : {std::pair{uneven, "strides 1 and 2 differ"},
                               {sparse, "would be with zeros"},
                               {line, "no 8-bit codes of an image's kernel"}}) {
    Graph graph = Builder(5).graph(c);
    run_passes(graph, quantize_passes(), {}, nullptr);
    const auto at = std::ranges::find_if(
        graph.nodes, [](const Node& node) { return is_op(node, "ConvTranspose"); });
    ASSERT_NE(at, graph.nodes.end());
    EXPECT_NE(at->decision.reason.find(why), std::string::npos) << at->decision.reason;
  }
}

}  // namespace
}  // namespace octet
