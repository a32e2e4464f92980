// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear and ONNX's integer operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/shared/op_testing.h"

namespace octet {
namespace {

using testing::code;
using testing::OpCall;
using testing::Random;
using testing::tensor;
using testing::values_of;

TEST(QuantizeLinear, TiesNanAndSaturation) {
  const f32 inf = std::numeric_limits<f32>::infinity(), nan = std::nanf("");
  const Tensor x = tensor<f32>(Shape{9}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 1e30f, -inf, inf, nan});
  const Tensor one = Tensor::scalar(1.0f);
  EXPECT_EQ(values_of<s8>(OpCall("QuantizeLinear").in(x).in(one).in(Tensor::scalar<s8>(3)).run()),
            (std::vector<s8>{3, 5, 5, 3, 1, 127, -128, 127, 3}));
  EXPECT_EQ(values_of<u8>(OpCall("QuantizeLinear").in(x).in(one).run()),
            (std::vector<u8>{0, 2, 2, 0, 0, 255, 0, 255, 0}));
}

// True division: x / scale, not x * (1 / scale).
TEST(QuantizeLinear, DividesRandomScales) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    const f32 scale = random.real(0.001f, 2.0f);
    const s64 zp = random.integer(0, 255);
    // Multiples of half a step are where a reciprocal goes wrong.
    Tensor x(Dtype::f32, Shape{600});
    for (size_t j = 0; j < 600; ++j)
      x.mutable_as<f32>()[j] = (static_cast<f32>(j) - 300.0f) * 0.5f * scale;
    const Tensor y = OpCall("QuantizeLinear")
                         .in(x)
                         .in(Tensor::scalar(scale))
                         .in(Tensor::scalar(static_cast<u8>(zp)))
                         .run();
    for (size_t j = 0; j < 600; ++j) {
      const f32 quotient = x.as<f32>()[j] / scale;
      const f64 expected =
          std::clamp(std::nearbyint(f64{quotient}) + static_cast<f64>(zp), 0.0, 255.0);
      ASSERT_EQ(y.as<u8>()[j], static_cast<u8>(expected)) << scale << " " << j;
    }
  }
}

TEST(QuantizeLinear, PerAxis) {
  const Tensor x = tensor<f32>(Shape{2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor scale = tensor<f32>(Shape{3}, {1, 0.5f, 2}), zp = tensor<s8>(Shape{3}, {0, 1, -1});
  const Tensor q = OpCall("QuantizeLinear").in(x).in(scale).in(zp).run();
  EXPECT_EQ(values_of<s8>(q), (std::vector<s8>{1, 5, 1, 4, 11, 2}));
  const Tensor back = OpCall("DequantizeLinear").in(q).in(scale).in(zp).attr("axis", s64{-1}).run();
  EXPECT_EQ(values_of<f32>(back), (std::vector<f32>{1, 2, 4, 4, 5, 6}));
}

TEST(DequantizeLinear, EveryCodeOfEveryType) {
  const f32 scale = 0.3f;
  Tensor codes(Dtype::s8, Shape{256});
  for (s32 i = 0; i < 256; ++i)
    codes.mutable_as<s8>()[static_cast<size_t>(i)] = static_cast<s8>(i - 128);
  const Tensor y = OpCall("DequantizeLinear")
                       .in(codes)
                       .in(Tensor::scalar(scale))
                       .in(Tensor::scalar<s8>(-7))
                       .run();
  for (s32 i = 0; i < 256; ++i)
    EXPECT_EQ(y.as<f32>()[static_cast<size_t>(i)], static_cast<f32>(i - 128 + 7) * scale);
  const Tensor bias = tensor<s32>(Shape{3}, {INT32_MIN, 0, INT32_MAX});
  EXPECT_EQ(values_of<f32>(OpCall("DequantizeLinear").in(bias).in(Tensor::scalar(2.0f)).run()),
            (std::vector<f32>{-4294967296.0f, 0, 4294967296.0f}));
}

Tensor small_tensor(Dtype dtype, const Shape& shape, const std::vector<u8>& bytes) {
  Tensor result(dtype, shape);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<u8*>(result.mutable_data()));
  return result;
}

std::vector<int> signed_bytes(const Tensor& tensor) {
  const s8* bytes = reinterpret_cast<const s8*>(tensor.data());
  return {bytes, bytes + tensor.bytes()};
}

TEST(QuantizeLinear, FourBitsInBlocks) {
  const Tensor x = tensor<f32>(Shape{1, 6}, {1, 2.5f, -100, 100, 3, -3});
  const Tensor scale = tensor<f32>(Shape{1, 3}, {1, 2, 4});
  const Tensor zp = small_tensor(Dtype::s4, Shape{1, 3}, {0, 1, 255});
  const auto call = [&](std::string_view op, const Tensor& data) {
    return OpCall(op).in(data).in(scale).in(zp).attr("block_size", s64{2}).run();
  };
  const Tensor codes = call("QuantizeLinear", x);
  EXPECT_EQ(codes.dtype(), Dtype::s4);
  EXPECT_EQ(signed_bytes(codes), (std::vector<int>{1, 2, -8, 7, 0, -2}));
  EXPECT_EQ(values_of<f32>(call("DequantizeLinear", codes)),
            (std::vector<f32>{1, 2, -18, 12, 4, -4}));
}

TEST(Cast, SmallTypes) {
  const auto cast = [](const Tensor& x, const char* to) {
    return OpCall("Cast").in(x).attr("to", std::string(to)).run();
  };
  const Tensor wide = tensor<s64>(Shape{3}, {-1, 7, (s64{1} << 40) + 9});
  EXPECT_EQ(signed_bytes(cast(wide, "s4")), (std::vector<int>{-1, 7, -7}));
  EXPECT_EQ(signed_bytes(cast(cast(wide, "s4"), "u2")), (std::vector<int>{3, 3, 1}));
  EXPECT_EQ(values_of<s32>(cast(cast(wide, "s4"), "s32")), (std::vector<s32>{-1, 7, -7}));
  // 17 + 2^-40 is nearer to 18 than to 16, which rounding to f32 first would make a tie.
  const Tensor close = tensor<f64>(Shape{2}, {17.0 + 0x1p-40, 17.0});
  EXPECT_EQ(values_of<f32>(cast(cast(close, "e4m3fn"), "f32")), (std::vector<f32>{18, 16}));
}

TEST(QuantizeLinear, ParseMakesTheZeroPointExplicit) {
  const auto plain = testing::parse("QuantizeLinear", 13, {Tensor(), Tensor::scalar(1.0f)});
  EXPECT_EQ(plain.graph.constant_input(plain.node, 2)->dtype(), Dtype::u8);
  const auto typed = testing::parse("QuantizeLinear", 21, {Tensor(), Tensor::scalar(1.0f)},
                                    {{"output_dtype", s64{3}}});
  EXPECT_EQ(typed.graph.constant_input(typed.node, 2)->dtype(), Dtype::s8);
}

TEST(QuantizeLinear, Errors) {
  using ::testing::HasSubstr;
  const Tensor x(Dtype::f32, Shape{2, 3}), q(Dtype::u8, Shape{2, 3}), one = Tensor::scalar(1.0f);
  const Tensor two = tensor<f32>(Shape{2}, {1, 1}), three = tensor<f32>(Shape{3}, {1, 1, 1});
  EXPECT_THAT(OpCall("QuantizeLinear").in(x).in(two).error(), HasSubstr("2 scales"));
  EXPECT_THAT(OpCall("QuantizeLinear").in(x).in(three).attr("axis", s64{2}).error(),
              HasSubstr("axis"));
  EXPECT_THAT(OpCall("QuantizeLinear").in(x).in(Tensor(Dtype::f32, Shape{2, 3})).error(),
              HasSubstr("vectors"));
  EXPECT_THAT(OpCall("QuantizeLinear").in(x).in(one).attr("block_size", s64{2}).error(),
              HasSubstr("blocks of 2"));
  EXPECT_THAT(OpCall("QuantizeLinear").in(x).in(one).in(Tensor(Dtype::s32, Shape{})).error(),
              HasSubstr("s32"));
  EXPECT_THAT(OpCall("QuantizeLinear").in(x).in(three).in(Tensor(Dtype::u8, Shape{2})).error(),
              HasSubstr("zero points"));
  EXPECT_THAT(OpCall("QuantizeLinear").in(x).in(Tensor::scalar(0.0f)).error(),
              HasSubstr("scale is 0"));
  EXPECT_THAT(OpCall("DequantizeLinear").in(q).in(one).in(Tensor(Dtype::s8, Shape{})).error(),
              HasSubstr("zero point"));
  EXPECT_THAT(OpCall("DequantizeLinear").in(x).in(one).error(), HasSubstr("f32"));
  EXPECT_THAT(OpCall("DequantizeLinear").in(q).in(Tensor(Dtype::s32, Shape{})).error(),
              HasSubstr("float"));
}

TEST(DynamicQuantizeLinear, RangeIncludesZero) {
  const auto run = [](const Tensor& x) {
    return OpCall("DynamicQuantizeLinear").in(x).outputs(3).run_all();
  };
  auto y = run(tensor<f32>(Shape{3}, {1, 2, 5.1f}));
  EXPECT_EQ(y[2].as<u8>()[0], 0);
  EXPECT_EQ(y[1].as<f32>()[0], 5.1f / 255.0f);
  EXPECT_EQ(y[0].as<u8>()[2], 255);
  y = run(tensor<f32>(Shape{2}, {0, 0}));
  EXPECT_EQ(y[1].as<f32>()[0], 1.0f);
  EXPECT_EQ(values_of<u8>(y[0]), (std::vector<u8>{0, 0}));
}

TEST(ConvInteger, ZeroPointsPerChannel) {
  const Tensor x = tensor<u8>(Shape{1, 1, 3}, {10, 20, 30});
  const Tensor w = tensor<s8>(Shape{2, 1, 2}, {1, 2, 3, 4});
  const Tensor y = OpCall("ConvInteger")
                       .in(x)
                       .in(w)
                       .in(Tensor::scalar<u8>(5))
                       .in(tensor<s8>(Shape{2}, {0, 1}))
                       .run();
  EXPECT_EQ(values_of<s32>(y), (std::vector<s32>{5 + 30, 15 + 50, 10 + 45, 30 + 75}));
  EXPECT_NE(OpCall("ConvInteger").in(x).in(w).in(Tensor::scalar<s8>(5)).error(), "");
}

TEST(MatMulInteger, ZeroPointsPerRowAndColumn) {
  const Tensor a = tensor<u8>(Shape{2, 2}, {1, 2, 3, 4}), b = tensor<s8>(Shape{2, 2}, {5, 6, 7, 8});
  const Tensor y = OpCall("MatMulInteger")
                       .in(a)
                       .in(b)
                       .in(tensor<u8>(Shape{2}, {1, 2}))
                       .in(tensor<s8>(Shape{2}, {0, 1}))
                       .run();
  EXPECT_EQ(values_of<s32>(y), (std::vector<s32>{7, 7, 5 + 14, 5 + 14}));
}

// The same node with run-time scales (kept) and constant ones (read as QConv) gives the same codes.
TEST(QLinearConv, BecomesQConvWithTheSameBits) {
  for (const bool unsigned_weights : {false, true}) {
    Random random(7);
    const Tensor x = random.codes<u8>(Shape{1, 3, 6, 6}, 0, 255);
    const Tensor w = unsigned_weights ? random.codes(Dtype::u8, Shape{4, 3, 3, 3})
                                      : random.codes(Dtype::s8, Shape{4, 3, 3, 3});
    const Tensor w_scale = random.reals(Shape{4}, 0.001f, 0.02f);
    const Tensor w_zero = unsigned_weights ? Tensor::scalar<u8>(128) : Tensor::scalar<s8>(0);
    Tensor bias(Dtype::s32, Shape{4});
    for (s32& b : bias.mutable_as<s32>()) b = static_cast<s32>(random.integer(-9999, 9999));
    const std::vector<Tensor> inputs = {
        x,      Tensor::scalar(0.02f), Tensor::scalar<u8>(7),  w,   w_scale,
        w_zero, Tensor::scalar(0.05f), Tensor::scalar<s8>(-3), bias};
    OpCall general("QLinearConv");
    for (const Tensor& input : inputs) general.in(input);
    const Tensor expected = general.ints("pads", {1, 1, 1, 1}).run();

    std::vector<Tensor> constants = inputs;
    constants[0] = Tensor();
    const auto parsed =
        testing::parse("QLinearConv", 10, constants, {{"pads", std::vector<s64>{1, 1, 1, 1}}});
    ASSERT_EQ(parsed.node.op->name, "QConv");
    std::vector<Tensor> values = {x};
    for (size_t i = 1; i < parsed.node.inputs.size(); ++i)
      values.push_back(*parsed.graph.constant_input(parsed.node, i));
    EXPECT_EQ(values_of<s8>(eval_node(parsed.node, values)[0]), values_of<s8>(expected));
  }
}

TEST(QLinearMatMul, BecomesQMatMulWhereScalesAreConstant) {
  const Tensor f = Tensor::scalar(0.5f), z = Tensor::scalar<u8>(100);
  const std::vector<Tensor> inputs = {Tensor(), f, z, Tensor(Dtype::u8, Shape{2, 2}), f, z, f, z};
  EXPECT_EQ(testing::parse("QLinearMatMul", 10, inputs).node.op->name, "QMatMul");
  std::vector<Tensor> activations = inputs;
  activations[3] = Tensor();  // computed at run time
  const Node product = testing::parse("QLinearMatMul", 10, activations).node;
  EXPECT_EQ(product.op->name, "QMatMul");
  EXPECT_EQ(product.attrs.ints("input_zero_points")[1], 100);
  activations[4] = Tensor();
  EXPECT_EQ(testing::parse("QLinearMatMul", 10, activations).node.op->name, "QLinearMatMul");
}

}  // namespace
}  // namespace octet
