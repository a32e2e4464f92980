// SPDX-License-Identifier: Apache-2.0
// From float Add, Sub, Mul and ReduceMean to their integer forms: attributes, reasons, and the meaning of the result.
#include <cmath>

#include "ops/shared/testing.h"

namespace octet::testing {
namespace {

using ::testing::HasSubstr;

// A float node over quantized inputs.
struct Request {
  Graph graph;
  Node node;
  std::vector<QuantizedInput> inputs;
  QuantParams output{0.5f, 3};
  Dtype output_dtype = Dtype::u8;

  void add_codes(Dtype dtype, const Shape& shape, f32 scale, s32 zero_point) {
    node.inputs.push_back(graph.add_value("x", {Dtype::f32, shape}));
    QuantizedInput input;
    input.codes = graph.add_value("codes", {dtype, shape});
    input.scale = Tensor::scalar(scale);
    input.zero_point = zero_point;
    inputs.push_back(std::move(input));
  }
  void add_real() {
    node.inputs.push_back(graph.add_value("real", {Dtype::f32, {2}}));
    inputs.emplace_back();
  }
  QuantizeResult quantize() {
    return node.op->quant.quantize({graph, node, inputs, output, output_dtype});
  }
};

Request binary(std::string_view op) {
  Request request;
  request.node.op = find_op(op);
  request.add_codes(Dtype::u8, {2}, 0.25f, 7);
  request.add_codes(Dtype::s8, {2}, 0.125f, -1);
  return request;
}

TEST(QuantizeArithmetic, AddAndSub) {
  for (const char* op : {"Add", "Sub"}) {
    Request request = binary(op);
    const QuantizeResult result = request.quantize();
    ASSERT_EQ(result.reject, "");
    const Attrs& attrs = result.node.attrs;
    EXPECT_EQ(result.node.op->name, "QAdd");
    EXPECT_EQ(result.node.inputs,
              (std::vector<ValueId>{request.inputs[0].codes, request.inputs[1].codes}));
    EXPECT_EQ(attrs.ints("input_zero_points"), (Ints{7, -1}));
    EXPECT_EQ(attrs.s("output_dtype", ""), "u8");
    EXPECT_EQ(attrs.i("output_zero_point"), 3);
    EXPECT_EQ(attrs.i("lo"), 0);
    EXPECT_EQ(attrs.i("hi"), 255);
    const f32 sign = op == std::string("Add") ? 1.0f : -1.0f;
    EXPECT_EQ(attrs.floats("multipliers", {}), (std::vector<f32>{0.5f, sign * 0.25f}));
  }
}

TEST(QuantizeArithmetic, ActivationsBecomeBounds) {
  Request request = binary("Add");
  request.node.attrs.set("activation", "relu");
  EXPECT_EQ(request.quantize().node.attrs.i("lo"), 3);
  EXPECT_EQ(request.quantize().node.attrs.i("hi"), 255);
  request.node.attrs.set("activation", "clip");
  request.node.attrs.set("activation_min", -1.0f);
  request.node.attrs.set("activation_max", 6.0f);
  EXPECT_EQ(request.quantize().node.attrs.i("lo"), 1);
  EXPECT_EQ(request.quantize().node.attrs.i("hi"), 15);
  request.output_dtype = Dtype::s8;
  request.node.attrs.set("activation_min", -1e30f);
  EXPECT_EQ(request.quantize().node.attrs.i("lo"), -128);
  request.node.attrs.set("activation", "leaky_relu");
  EXPECT_THAT(request.quantize().reject, HasSubstr("LeakyRelu"));
}

TEST(QuantizeArithmetic, Mul) {
  Request request = binary("Mul");
  const QuantizeResult result = request.quantize();
  ASSERT_EQ(result.reject, "");
  EXPECT_EQ(result.node.op->name, "QMul");
  EXPECT_EQ(result.node.attrs.f("multiplier", 0), 0.25f * 0.125f / 0.5f);
}

TEST(QuantizeArithmetic, ReasonsToStayFloat) {
  Request real = binary("Add");
  real.inputs[1].codes = kNoValue;
  EXPECT_EQ(real.quantize().reject, "input 1 stays real");
  Request wide = binary("Mul");
  wide.graph.value(wide.inputs[0].codes).type.dtype = Dtype::s32;
  EXPECT_EQ(wide.quantize().reject, "input 0 is s32, not u8 or s8");
  Request per_channel = binary("Add");
  per_channel.inputs[0].scale = floats({2}, {1, 2});
  EXPECT_THAT(per_channel.quantize().reject, ::testing::HasSubstr("takes one for all of them"));
  Request stays_real = binary("Add");
  stays_real.output_dtype = Dtype::f32;
  EXPECT_EQ(stays_real.quantize().reject, "its output stays real");
  Request huge = binary("Add");
  huge.inputs[0].scale = Tensor::scalar(1e38f);
  huge.output.scale = 1e-10f;
  EXPECT_THAT(huge.quantize().reject, HasSubstr("overflows"));
  Request huge_mul = binary("Mul");
  huge_mul.inputs[0].scale = huge_mul.inputs[1].scale = Tensor::scalar(1e30f);
  EXPECT_THAT(huge_mul.quantize().reject, HasSubstr("overflows"));
}

TEST(QuantizeArithmetic, ReduceMeanResolvesItsAxes) {
  Request request;
  request.node.op = find_op("ReduceMean");
  request.add_codes(Dtype::u8, {Shape::kDynamic, 4, 7, 7}, 0.25f, 7);
  EXPECT_EQ(request.quantize().node.attrs.ints("axes"), (Ints{0, 1, 2, 3}));
  request.node.inputs.push_back(request.graph.add_constant("axes", ints({-1, 2})));
  request.inputs.emplace_back();
  request.node.attrs.set("keepdims", s64{0});
  request.node.attrs.set("noop_with_empty_axes", s64{1});
  const QuantizeResult result = request.quantize();
  ASSERT_EQ(result.reject, "");
  EXPECT_EQ(result.node.op->name, "QReduceMean");
  EXPECT_EQ(result.node.inputs.size(), 1u);
  EXPECT_EQ(result.node.attrs.ints("axes"), (Ints{2, 3}));
  EXPECT_EQ(result.node.attrs.i("keepdims"), 0);
  EXPECT_EQ(result.node.attrs.floats("scales", {}), (std::vector<f32>{0.25f, 0.5f}));
  request.node.inputs[1] = request.graph.add_value("axes", {Dtype::s64, {1}});
  EXPECT_EQ(request.quantize().reject, "the axes are not constant");
  request.node.inputs[1] = request.graph.add_constant("axes", tensor<s64>({0}, {}));
  EXPECT_EQ(request.quantize().reject, "no axis is reduced");
}

// The integer node agrees with the float node within half a step of the output, for all code pairs.
TEST(QuantizeArithmetic, IntegerFormsMeanTheSame) {
  for (const char* op : {"Add", "Sub", "Mul"}) {
    Request request = binary(op);
    request.output.scale = 0.3f;
    const QuantizeResult result = request.quantize();
    ASSERT_EQ(result.reject, "");
    Tensor a(Dtype::u8, {256, 1});
    Tensor b(Dtype::s8, {1, 256});
    for (size_t i = 0; i < 256; ++i) {
      a.mutable_as<u8>()[i] = static_cast<u8>(i);
      b.mutable_as<s8>()[i] = static_cast<s8>(static_cast<int>(i) - 128);
    }
    const AttrList attrs(result.node.attrs.entries().begin(), result.node.attrs.entries().end());
    const Tensor y = run(result.node.op->name, {a, b}, attrs);
    for (int i = 0; i < 256; ++i) {
      for (int j = -128; j < 128; ++j) {
        const f64 x0 = 0.25 * (i - 7);
        const f64 x1 = 0.125 * (j + 1);
        const f64 real = op[0] == 'A' ? x0 + x1 : op[0] == 'S' ? x0 - x1 : x0 * x1;
        const f64 steps = real / static_cast<f64>(0.3f) + 3;
        const f64 nearest = std::clamp(std::nearbyint(steps), 0.0, 255.0);
        const f64 got = y.as<u8>()[static_cast<size_t>(i * 256 + j + 128)];
        // Ties may fall to either side, as the multiplier is rounded; anything else is exact.
        const bool tie = std::fabs(steps - std::floor(steps) - 0.5) < 1e-4;
        ASSERT_LE(std::fabs(got - nearest), tie ? 1.0 : 0.0) << op << ' ' << i << ' ' << j;
      }
    }
  }
}

}  // namespace
}  // namespace octet::testing
