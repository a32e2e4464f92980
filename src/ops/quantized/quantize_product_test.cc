// SPDX-License-Identifier: Apache-2.0
// Float node -> integer node: weights, biases, multipliers and the proof against overflow.
#include "ops/quantized/quantize_product.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/quantized/quantize_weights.h"
#include "ops/shared/op_testing.h"

namespace octet {
namespace {

using ::testing::HasSubstr;
using testing::Random;
using testing::tensor;
using testing::values_of;

// A float node in a graph, with codes for its activations.
struct Fixture {
  Graph graph;
  Node node;
  std::vector<QuantizedInput> inputs;
  QuantParams output{0.05f, 3};
  Dtype output_dtype = Dtype::u8;

  explicit Fixture(const char* op) {
    node.op = find_op(op);
    node.name = "n";
  }
  Fixture& activation(Dtype dtype, const Shape& shape, f32 scale, s32 zero_point) {
    node.inputs.push_back(graph.add_value("real", {Dtype::f32, shape}));
    inputs.push_back({.codes = graph.add_value("codes", {dtype, shape}),
                      .scale = Tensor::scalar(scale),
                      .zero_point = zero_point});
    return *this;
  }
  Fixture& constant(const Tensor& t) {
    node.inputs.push_back(graph.add_constant("w", t));
    inputs.emplace_back();
    return *this;
  }
  // Codes behind a DequantizeLinear of a constant.
  Fixture& coded(const Tensor& codes, const Tensor& scale, s64 axis = 0, s32 zero_point = 0) {
    node.inputs.push_back(graph.add_value("dequantized", {Dtype::f32, codes.shape()}));
    inputs.push_back({.codes = graph.add_constant("codes", codes),
                      .scale = scale,
                      .zero_point = zero_point,
                      .axis = axis});
    return *this;
  }
  Fixture& omit() {
    node.inputs.push_back(kNoValue);
    inputs.emplace_back();
    return *this;
  }
  Fixture& attr(const char* name, AttrValue value) {
    node.attrs.set(name, std::move(value));
    return *this;
  }
  QuantizeResult build() {
    return node.op->quant.quantize({graph, node, inputs, output, output_dtype});
  }
  std::string reject() { return build().reject; }
  const Tensor& input(const QuantizeResult& result, size_t i) const {
    return *graph.constant_input(result.node, i);
  }
};

TEST(QuantizeWeights, TiesToEvenWithinPlusMinus127) {
  const Tensor w = tensor<f32>(Shape{3, 2}, {127, -127, 0.5f, 127, 0, 0});
  const QuantizedWeights q = quantize_weights(w, {}, {3, 2}, {0.1f, 255});
  EXPECT_EQ(q.scales, (std::vector<f32>{1, 1, 1}));
  EXPECT_EQ(values_of<s8>(q.codes), (std::vector<s8>{127, -127, 0, 127, 0, 0}));
}

TEST(QuantizeWeights, RandomChannelsAlongEitherAxis) {
  for (u32 seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const s64 channels = random.integer(1, 5), inner = random.coin() ? 1 : random.integer(1, 9);
    const Shape shape = inner == 1 ? Shape{random.integer(1, 9), channels} : Shape{channels, inner};
    const Tensor w = random.reals(shape, -0.3f, 0.2f);
    const Tensor bias = random.reals(Shape{channels}, -5.0f, 5.0f);
    const f32 sx = random.real(0.001f, 0.1f);
    const QuantizedWeights q = quantize_weights(w, bias.as<f32>(), {channels, inner}, {sx, 255});
    for (s64 c = 0; c < channels; ++c) {
      const size_t sc = static_cast<size_t>(c);
      f32 largest = 0;
      for (s64 i = 0; i < w.elements(); ++i) {
        if (i / inner % channels == c)
          largest = std::max(largest, std::fabs(w.as<f32>()[static_cast<size_t>(i)]));
      }
      ASSERT_EQ(q.scales[sc], largest / 127.0f);
      const f64 exact = f64{bias.as<f32>()[sc]} / (f64{sx} * f64{q.scales[sc]});
      ASSERT_EQ(q.bias[sc], static_cast<s32>(std::nearbyint(exact)));
    }
    for (s64 i = 0; i < w.elements(); ++i) {
      const f32 scale = q.scales[static_cast<size_t>(i / inner % channels)];
      const f32 exact = w.as<f32>()[static_cast<size_t>(i)] / scale;
      ASSERT_EQ(q.codes.as<s8>()[static_cast<size_t>(i)], static_cast<s8>(std::nearbyint(exact)));
    }
  }
}

TEST(QuantizeWeights, LargeBiasRaisesItsChannelsScale) {
  const Tensor w = tensor<f32>(Shape{2, 1}, {1e-6f, 1.0f});
  const std::vector<f32> bias = {1000.0f, 1.0f};
  const QuantizedWeights q = quantize_weights(w, bias, {2, 1}, {0.01f, 255});
  EXPECT_GT(q.scales[0], 1e-6f / 127.0f);
  EXPECT_LE(q.bias[0], 1 << 30);
  EXPECT_GE(q.bias[0], (1 << 30) - 256);  // no further than needed: one float step
  EXPECT_EQ(q.scales[1], 1.0f / 127.0f);
}

TEST(QuantizeWeights, ZeroChannelKeepsItsBias) {
  const Tensor w(Dtype::f32, Shape{1, 4});
  const std::vector<f32> bias = {0.37f};
  const QuantizedWeights q = quantize_weights(w, bias, {1, 4}, {0.02f, 255});
  const f64 stored = static_cast<f64>(q.bias[0]) * 0.02f * f64{q.scales[0]};
  EXPECT_NEAR(stored, 0.37, 1e-7);
  EXPECT_EQ(quantize_weights(w, {}, {1, 4}, {0.02f, 255}).scales[0], 1.0f);
}

TEST(QuantizeWeights, InfinitiesAndNansAreRefused) {
  const f32 inf = std::numeric_limits<f32>::infinity();
  EXPECT_NE(quantize_weights(tensor<f32>(Shape{1, 1}, {inf}), {}, {1, 1}, {}).reject, "");
  EXPECT_NE(quantize_weights(tensor<f32>(Shape{1, 1}, {std::nanf("")}), {}, {1, 1}, {}).reject, "");
  EXPECT_NE(
      quantize_weights(tensor<f32>(Shape{1, 1}, {1}), std::vector<f32>{inf}, {1, 1}, {}).reject,
      "");
}

TEST(AccumulatorOverflow, IsExactAtTheLimit) {
  // 66,051 weights of 127 times 255, and a bias that fills up to 2^31 - 1.
  const s64 count = 66051;
  QuantizedWeights w;
  w.codes = Tensor(Dtype::s8, Shape{1, count});
  std::ranges::fill(w.codes.mutable_as<s8>(), s8{127});
  const s64 room = INT32_MAX - count * 127 * 255;
  ASSERT_GE(room, 0);
  w.bias = {static_cast<s32>(room)};
  EXPECT_EQ(accumulator_overflow(w, {1, count}, {1, 255}), "");
  w.bias = {static_cast<s32>(-room - 1)};
  EXPECT_THAT(accumulator_overflow(w, {1, count}, {1, 255}), HasSubstr("2147483648"));
}

Fixture conv_fixture(Random& random, const char* activation = "") {
  Fixture f("Conv");
  f.activation(Dtype::u8, Shape{1, 3, 5, 5}, 0.02f, 10);
  f.constant(random.reals(Shape{4, 3, 3, 3}, -0.5f, 0.5f))
      .constant(random.reals(Shape{4}, -1.0f, 1.0f));
  f.activation(Dtype::s8, Shape{1, 4, 3, 3}, 0.04f, -2);
  f.attr("activation", std::string(activation));
  return f;
}

TEST(QuantizeConv, BuildsTheDocumentedNode) {
  Random random(1);
  Fixture f = conv_fixture(random, "relu");
  f.attr("strides", std::vector<s64>{1, 1}).attr("group", s64{1});
  const QuantizeResult r = f.build();
  ASSERT_EQ(r.reject, "");
  EXPECT_EQ(r.node.op->name, "QConv");
  EXPECT_EQ(r.node.inputs.size(), 5u);
  const auto w = f.graph.constant_input(f.node, 1)->as<f32>();
  for (size_t c = 0; c < 4; ++c) {
    f32 largest = 0;
    for (size_t i = 0; i < 27; ++i) largest = std::max(largest, std::fabs(w[c * 27 + i]));
    const f32 scale = largest / 127.0f;
    EXPECT_EQ(f.input(r, 3).as<f32>()[c], 0.02f * scale / 0.05f);
  }
  EXPECT_EQ(r.node.attrs.ints("input_zero_points"), (std::vector<s64>{10, 0, 0, 0, -2}));
  EXPECT_EQ(r.node.attrs.f("residual_multiplier", 0), 0.04f / 0.05f);
  EXPECT_EQ(r.node.attrs.i("lo"), 3);
  EXPECT_EQ(r.node.attrs.i("hi"), 255);
  EXPECT_EQ(r.node.attrs.s("activation", ""), "");
  EXPECT_TRUE(r.node.attrs.has("strides"));
}

TEST(QuantizeConv, ClampsBecomeCodes) {
  Random random(2);
  Fixture f = conv_fixture(random, "clip");
  f.attr("activation_min", -0.1f).attr("activation_max", 6.0f);
  QuantizeResult r = f.build();
  EXPECT_EQ(r.node.attrs.i("lo"), 1);
  EXPECT_EQ(r.node.attrs.i("hi"), 3 + 120);
  f.output_dtype = Dtype::f32;
  r = f.build();
  EXPECT_EQ(r.node.attrs.s("output_dtype", ""), "f32");
  EXPECT_EQ(r.node.attrs.s("activation", ""), "clip");
  EXPECT_EQ(r.node.attrs.f("residual_multiplier", 0), 0.04f);
  EXPECT_FALSE(r.node.attrs.has("lo"));
}

// A bias at the end of s32 over weights of 1e-14, as dead channels have it.
Fixture dead_channel(s32 bias, f32 weight_scale) {
  Fixture f("Conv");
  f.activation(Dtype::u8, Shape{1, 3, 1, 1}, 0.5f, 10);
  f.coded(tensor<s8>(Shape{1, 3, 1, 1}, {127, -127, 3}), Tensor::scalar(weight_scale));
  f.coded(tensor<s32>(Shape{1}, {bias}), Tensor::scalar(0.5f * weight_scale));
  return f;
}

TEST(QuantizeConv, BiasThatDecidesNothingIsBroughtNearer) {
  const s64 sum = s64{127 + 127 + 3} * 245;
  for (s32 bias : {INT32_MIN, INT32_MAX}) {
    Fixture f = dead_channel(bias, 1e-14f);
    const QuantizeResult r = f.build();
    ASSERT_EQ(r.reject, "");
    const s64 nearer = f.input(r, 2).as<s32>()[0];
    EXPECT_EQ(nearer, bias < 0 ? sum - INT32_MAX : INT32_MAX - sum);
  }
  // Every accumulator is beyond the last code.
  EXPECT_EQ(dead_channel(INT32_MAX, 1e-3f).reject(), "");
  // About 2^31 times this multiplier codes turn over.
  EXPECT_THAT(dead_channel(INT32_MIN, 0.05f * 2.5f / 0x1p30f).reject(), HasSubstr("32 bits"));
}

TEST(QuantizeConv, BiasThatDecidesAnythingStays) {
  Fixture real = dead_channel(INT32_MIN, 1e-14f);
  real.output_dtype = Dtype::f32;
  EXPECT_THAT(real.reject(), HasSubstr("32 bits"));
  Fixture leaky = dead_channel(INT32_MIN, 1e-14f);
  leaky.attr("activation", std::string("leaky_relu")).attr("activation_alpha", 0.1f);
  EXPECT_THAT(leaky.reject(), HasSubstr("32 bits"));
  Fixture residual = dead_channel(INT32_MIN, 1e-14f);
  residual.activation(Dtype::u8, Shape{1, 1, 1, 1}, 0.04f, 2);
  EXPECT_THAT(residual.reject(), HasSubstr("32 bits"));
}

// Weights in codes whose scale the bias had no part in.
TEST(QuantizeConv, RealBiasBeyond32BitsIsNotSaturated) {
  const auto build = [](f32 bias, s8 weight, f32 weight_scale, f32 code) {
    Fixture f("Conv");
    f.activation(Dtype::u8, Shape{1, 1, 1, 1}, 0.5f, 10);
    f.coded(tensor<s8>(Shape{1, 1, 1, 1}, {weight}), Tensor::scalar(weight_scale));
    f.constant(tensor<f32>(Shape{1}, {bias}));
    f.output.scale = code;
    return f.reject();
  };
  for (s8 weight : {s8{127}, s8{0}}) {
    SCOPED_TRACE(int{weight});
    EXPECT_EQ(build(2.5f, weight, 1e-12f, 0.05f), "");
    EXPECT_EQ(build(-0.1f, weight, 1e-12f, 0.05f), "");
    EXPECT_EQ(build(2.5f, weight, 1e-4f, 0.05f), "");
  }
  // Far beyond the last code either way, or far below half a code.
  EXPECT_EQ(build(1e9f, 127, 1e-3f, 0.05f), "");
  EXPECT_EQ(build(-1e9f, 127, 1e-3f, 0.05f), "");
  EXPECT_EQ(build(0.01f, 127, 1e-12f, 0.05f), "");
}

// Their scale is raised until 32 bits hold the bias; codes of other channels stay.
TEST(QuantizeConv, ScaleBesideALargeBiasIsRaised) {
  Fixture f("Conv");
  f.activation(Dtype::u8, Shape{1, 1, 1, 1}, 0.5f, 10);
  f.coded(tensor<s8>(Shape{2, 1, 1, 1}, {127, 127}), tensor<f32>(Shape{2}, {1e-12f, 0.25f}), 0);
  f.constant(tensor<f32>(Shape{2}, {2.5f, 1.0f}));
  f.output.scale = 0.05f;
  const QuantizeResult r = f.build();
  ASSERT_EQ(r.reject, "");
  EXPECT_EQ(f.input(r, 1).as<s8>()[0], 0);
  EXPECT_EQ(f.input(r, 1).as<s8>()[1], 127);
  const auto bias = f.input(r, 2).as<s32>();
  EXPECT_NEAR(std::log2(static_cast<f64>(bias[0])), 30.0, 1e-6);
  EXPECT_EQ(bias[1], 8);
  EXPECT_NEAR(static_cast<f64>(bias[0]) * f64{f.input(r, 3).as<f32>()[0]}, 2.5 / 0.05, 1e-4);
}

// The integer node's result lies within the quantization error that its scales imply.
TEST(QuantizeConv, ApproximatesTheFloatNode) {
  for (u32 seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Fixture f = conv_fixture(random, "leaky_relu");
    f.attr("activation_alpha", 0.25f);
    f.output = {0.02f, 128};
    const QuantizeResult r = f.build();
    const Tensor x = random.codes<u8>(Shape{1, 3, 5, 5}, 0, 255),
                 residual = random.codes<s8>(Shape{1, 4, 3, 3}, -128, 127);
    Tensor real_x(Dtype::f32, x.shape()), real_r(Dtype::f32, residual.shape());
    for (size_t i = 0; i < 75; ++i)
      real_x.mutable_as<f32>()[i] = 0.02f * static_cast<f32>(x.as<u8>()[i] - 10);
    for (size_t i = 0; i < 36; ++i)
      real_r.mutable_as<f32>()[i] = 0.04f * static_cast<f32>(residual.as<s8>()[i] + 2);
    const Tensor w = *f.graph.constant_input(f.node, 1), bias = *f.graph.constant_input(f.node, 2);
    const Tensor expected = eval_node(f.node, std::vector<Tensor>{real_x, w, bias, real_r})[0];
    const Tensor y = eval_node(
        r.node, std::vector<Tensor>{x, f.input(r, 1), f.input(r, 2), f.input(r, 3), residual})[0];
    for (size_t i = 0; i < 36; ++i) {
      const f32 real = 0.02f * static_cast<f32>(y.as<u8>()[i] - 128);
      const f32 wanted = std::clamp(expected.as<f32>()[i], 0.02f * -128, 0.02f * 127);
      // Half a step of the output, and half a step of each of 27 weights times the largest |x| of 4.9.
      ASSERT_NEAR(real, wanted, 0.01f + 27 * 0.5f * (0.5f / 127.0f) * 4.9f);
    }
  }
}

TEST(QuantizeConv, ExplicitCodesAreTakenAsTheyAre) {
  const Tensor s8_codes = tensor<s8>(Shape{2, 1, 1}, {-128, 5}),
               u8_codes = tensor<u8>(Shape{2, 1, 1}, {0, 133});
  const Tensor scales = tensor<f32>(Shape{2}, {0.1f, 0.2f}), one = Tensor::scalar(0.1f);
  const auto build = [&](const Tensor& codes, const Tensor& scale, s64 axis, s32 zero_point) {
    Fixture f("Conv");
    f.activation(Dtype::u8, Shape{1, 1, 4}, 0.5f, 0).coded(codes, scale, axis, zero_point);
    const QuantizeResult r = f.build();
    return std::pair(r.reject, r.reject.empty() ? values_of<s8>(f.input(r, 1)) : std::vector<s8>{});
  };
  EXPECT_EQ(build(s8_codes, scales, 0, 0).second, (std::vector<s8>{-128, 5}));
  EXPECT_EQ(build(u8_codes, one, 0, 128).second, (std::vector<s8>{-128, 5}));
  EXPECT_THAT(build(u8_codes, one, 0, 0).first, HasSubstr("zero point other than 128"));
  EXPECT_THAT(build(s8_codes, one, 0, 1).first, HasSubstr("zero point other than 0"));
  EXPECT_THAT(build(s8_codes, scales, 1, 0).first, HasSubstr("along axis 1"));
  EXPECT_THAT(build(s8_codes, Tensor::scalar(-0.1f), 0, 0).first, HasSubstr("-0.1"));
}

TEST(QuantizeConv, ExplicitBiasIsKeptOrRequantized) {
  const Tensor codes = tensor<s8>(Shape{1, 1, 1}, {5}), bias = tensor<s32>(Shape{1}, {77});
  const auto build = [&](f32 scale) {
    Fixture f("Conv");
    f.activation(Dtype::u8, Shape{1, 1, 4}, 0.5f, 0).coded(codes, Tensor::scalar(0.1f));
    f.coded(bias, Tensor::scalar(scale));
    const QuantizeResult r = f.build();
    return values_of<s32>(f.input(r, 2))[0];
  };
  EXPECT_EQ(build(0.5f * 0.1f), 77);
  EXPECT_EQ(build(0.5f), 770);
}

TEST(QuantizeConv, Rejections) {
  Random random(3);
  const Tensor w = random.reals(Shape{2, 1, 1}, -1, 1);
  const auto conv = [&](auto&& fill) {
    Fixture f("Conv");
    fill(f);
    return f.reject();
  };
  EXPECT_THAT(conv([&](Fixture& f) { f.constant(w).constant(w); }), HasSubstr("stays real"));
  EXPECT_THAT(
      conv([&](Fixture& f) {
        f.activation(Dtype::u8, Shape{1, 1, 1}, 1, 0).activation(Dtype::u8, Shape{2, 1, 1}, 1, 0);
      }),
      HasSubstr("weights are computed at run time"));
  EXPECT_THAT(conv([&](Fixture& f) {
                f.activation(Dtype::u8, Shape{1, 1, 1}, -1, 0).constant(w);
              }),
              HasSubstr("scale"));
  EXPECT_THAT(conv([&](Fixture& f) {
                f.activation(Dtype::u8, Shape{1, 1, 1}, 1e30f, 0).constant(w);
                f.output.scale = 1e-30f;
              }),
              HasSubstr("too far apart"));
  const Tensor wide = random.reals(Shape{1, 200000, 1}, 1, 1);
  EXPECT_THAT(conv([&](Fixture& f) {
                f.activation(Dtype::u8, Shape{1, 200000, 1}, 1, 0).constant(wide);
              }),
              HasSubstr("32 bits"));
}

TEST(QuantizeMatMul, WeightsPerColumn) {
  Fixture f("MatMul");
  f.activation(Dtype::s8, Shape{3, 2}, 0.5f, 0)
      .constant(tensor<f32>(Shape{2, 2}, {127, 1, -63.5f, 2}));
  const QuantizeResult r = f.build();
  ASSERT_EQ(r.reject, "");
  EXPECT_EQ(r.node.op->name, "QMatMul");
  EXPECT_EQ(values_of<s8>(f.input(r, 1)),
            (std::vector<s8>{127, 64, -64, 127}));  // -63.5 and 63.5: ties to even
  EXPECT_EQ(values_of<f32>(f.input(r, 3)),
            (std::vector<f32>{0.5f * 1.0f / 0.05f, 0.5f * (2.0f / 127.0f) / 0.05f}));
}

TEST(QuantizeMatMul, TwoActivations) {
  const auto build = [](s64 depth) {
    Fixture f("MatMul");
    f.activation(Dtype::u8, Shape{2, 3, depth}, 0.5f, 0)
        .activation(Dtype::u8, Shape{2, depth, 4}, 0.25f, 128);
    return f.build();
  };
  const QuantizeResult r = build(64);
  ASSERT_EQ(r.reject, "");
  EXPECT_EQ(r.node.inputs.size(), 4u);
  EXPECT_EQ(r.node.attrs.ints("input_zero_points"), (std::vector<s64>{0, 128, 0, 0}));
  EXPECT_THAT(build(100000).reject, HasSubstr("pass 32 bits"));
  EXPECT_EQ(build(Shape::kDynamic).reject, "");  // plans look at the depth of a run
  Fixture f("MatMul");
  f.activation(Dtype::u8, Shape{2, 3}, 0.5f, 0).activation(Dtype::u8, Shape{3, 4}, 0.5f, 0);
  f.constant(Tensor(Dtype::f32, Shape{4}));
  EXPECT_THAT(f.reject(), HasSubstr("bias"));
}

}  // namespace
}  // namespace octet
