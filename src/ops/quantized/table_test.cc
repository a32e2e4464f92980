// SPDX-License-Identifier: Apache-2.0
// Unary functions: their f32 form against <cmath> doubles, and their 256-entry tables entry by entry.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ops/quantized/quantize_table.h"
#include "ops/shared/op_testing.h"

namespace octet {
namespace {

using testing::code;
using testing::OpCall;
using testing::tensor;

struct Unary {
  const char* op;
  std::vector<std::pair<const char*, AttrValue>> attrs;
  std::function<f64(f64)> f;
};

f64 sigmoid(f64 x) { return 1.0 / (1.0 + std::exp(-x)); }
f64 softplus(f64 x) { return x > 30.0 ? x : std::log1p(std::exp(x)); }

const std::vector<Unary>& unaries() {
  static const std::vector<Unary> all = {
      {"Relu", {}, [](f64 x) { return std::max(x, 0.0); }},
      {"LeakyRelu", {}, [](f64 x) { return x < 0 ? f64{0.01f} * x : x; }},
      {"LeakyRelu", {{"alpha", 0.25f}}, [](f64 x) { return x < 0 ? 0.25 * x : x; }},
      {"Elu", {{"alpha", 2.0f}}, [](f64 x) { return x < 0 ? 2.0 * std::expm1(x) : x; }},
      {"Selu",
       {{"alpha", 2.0f}, {"gamma", 3.0f}},
       [](f64 x) { return x > 0 ? 3 * x : 6 * std::expm1(x); }},
      {"Celu", {{"alpha", 2.0f}}, [](f64 x) { return x > 0 ? x : 2 * std::expm1(x / 2); }},
      {"Sigmoid", {}, sigmoid},
      {"HardSigmoid", {}, [](f64 x) { return std::clamp(f64{0.2f} * x + 0.5, 0.0, 1.0); }},
      {"HardSwish", {}, [](f64 x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
      {"Tanh", {}, [](f64 x) { return std::tanh(x); }},
      {"Swish", {}, [](f64 x) { return x * sigmoid(x); }},
      {"Swish", {{"alpha", 1.5f}}, [](f64 x) { return x * sigmoid(1.5 * x); }},
      {"Gelu", {}, [](f64 x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }},
      {"Gelu",
       {{"approximate", std::string("tanh")}},
       [](f64 x) { return x * sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)); }},
      {"Mish", {}, [](f64 x) { return x * std::tanh(softplus(x)); }},
      {"Softplus", {}, softplus},
      {"Softsign", {}, [](f64 x) { return x / (1 + std::fabs(x)); }},
      {"ThresholdedRelu", {{"alpha", 0.5f}}, [](f64 x) { return x > 0.5 ? x : 0.0; }},
      {"Erf", {}, [](f64 x) { return std::erf(x); }},
  };
  return all;
}

// The tolerance of the ONNX node tests: rtol 1e-3, atol 1e-7.
void expect_close(f32 got, f64 expected) {
  EXPECT_LE(std::fabs(f64{got} - expected), 1e-7 + 1e-3 * std::fabs(expected)) << expected;
}

TEST(Unary, FloatsAgreeWithDoubles) {
  std::vector<f32> x;
  for (int i = -800; i <= 800; ++i) x.push_back(static_cast<f32>(i) / 64.0f);
  for (const Unary& unary : unaries()) {
    SCOPED_TRACE(unary.op);
    OpCall call(unary.op);
    for (const auto& [name, value] : unary.attrs) call.attr(name, value);
    const Tensor y = call.in(tensor(Shape{std::ssize(x)}, x)).run();
    for (size_t i = 0; i < x.size(); ++i) {
      SCOPED_TRACE(x[i]);
      expect_close(y.as<f32>()[i], unary.f(f64{x[i]}));
    }
  }
}

TEST(Unary, InfinitiesStayInTheFunctionsRange) {
  const f32 inf = std::numeric_limits<f32>::infinity();
  for (const char* op : {"Sigmoid", "Tanh", "Erf", "Softplus", "Elu", "Relu", "HardSigmoid"}) {
    SCOPED_TRACE(op);
    const Tensor y = OpCall(op).in(tensor<f32>(Shape{2}, {-inf, inf})).run();
    EXPECT_FALSE(std::isnan(y.as<f32>()[0]));
    EXPECT_FALSE(std::isnan(y.as<f32>()[1]));
    EXPECT_GT(y.as<f32>()[1], y.as<f32>()[0]);
  }
}

TEST(Unary, HalfPrecisionRoundsOnce) {
  const Tensor x = tensor<f16>(Shape{2}, {f16(0.5f), f16(-3.25f)});
  const Tensor y = OpCall("Sigmoid").in(x).run();
  const Tensor wide = OpCall("Sigmoid").in(tensor<f32>(Shape{2}, {0.5f, -3.25f})).run();
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(y.as<f16>()[i].bits, f16(wide.as<f32>()[i]).bits);
}

TEST(Unary, AttributesOfAWrongKindFailInInference) {
  const Tensor x(Dtype::f32, Shape{1});
  for (const char* op :
       {"LeakyRelu", "Elu", "Selu", "Celu", "HardSigmoid", "Swish", "ThresholdedRelu"}) {
    EXPECT_NE(OpCall(op).in(x).attr("alpha", std::string("x")).error(), "") << op;
  }
  EXPECT_NE(OpCall("Gelu").in(x).attr("approximate", std::string("exact")).error(), "");
  EXPECT_NE(OpCall("Sigmoid").in(Tensor(Dtype::s32, Shape{1})).error(), "");
}

// A float node between quantized tensors, and the tables that its rule builds.
class TableRequest {
 public:
  TableRequest(const Unary& unary, Dtype in, QuantParams x, Dtype out, QuantParams y) : in_(in) {
    node_.op = find_op(unary.op);
    node_.name = "f";
    node_.inputs = {graph_.add_value("real", {Dtype::f32, Shape{4}})};
    for (const auto& [name, value] : unary.attrs) node_.attrs.set(name, value);
    const ValueId codes = graph_.add_value("codes", {in, Shape{4}});
    result_ = node_.op->quant.quantize(
        {graph_,
         node_,
         {{.codes = codes, .scale = Tensor::scalar(x.scale), .zero_point = x.zero_point}},
         y,
         out});
  }
  const std::string& reject() const { return result_.reject; }
  // Runs the built node on all 256 codes.
  Tensor run() {
    Tensor all(in_, Shape{256});
    for (size_t i = 0; i < 256; ++i)
      reinterpret_cast<u8*>(all.mutable_data())[i] = static_cast<u8>(i);
    inputs_ = all;
    const Tensor table = *graph_.constant_input(result_.node, 1);
    Node node = result_.node;
    node.outputs = {99};
    return eval_node(node, std::vector<Tensor>{all, table}).at(0);
  }
  const Tensor& inputs() const { return inputs_; }

 private:
  Graph graph_;
  Node node_;
  Dtype in_;
  QuantizeResult result_;
  Tensor inputs_;
};

struct Types {
  Dtype in;
  QuantParams x;
  Dtype out;
  QuantParams y;
};
const Types kTypes[] = {{Dtype::u8, {0.05f, 128}, Dtype::u8, {0.03f, 10}},
                        {Dtype::s8, {0.0625f, 0}, Dtype::s8, {0.0625f, 0}},
                        {Dtype::u8, {0.11f, 0}, Dtype::s8, {0.02f, -128}},
                        {Dtype::s8, {1.5f, -7}, Dtype::u8, {0.5f, 0}}};

TEST(Table, EveryEntryIsTheFunctionRoundedOnce) {
  for (const Unary& unary : unaries()) {
    for (const Types& t : kTypes) {
      SCOPED_TRACE(unary.op);
      TableRequest request(unary, t.in, t.x, t.out, t.y);
      ASSERT_EQ(request.reject(), "");
      const Tensor y = request.run();
      const s64 lo = t.out == Dtype::u8 ? 0 : -128;
      for (s64 i = 0; i < 256; ++i) {
        const f64 real =
            f64{t.x.scale} * static_cast<f64>(code(request.inputs(), i) - t.x.zero_point);
        const f64 scaled = unary.f(real) / f64{t.y.scale};
        const f64 exact = std::nearbyint(scaled) + t.y.zero_point;
        const s64 expected =
            static_cast<s64>(std::clamp(exact, static_cast<f64>(lo), static_cast<f64>(lo + 255)));
        // Two formulas of one function may differ in the last bit, which shows only exactly between two codes.
        const f64 to_tie = std::fabs(scaled - std::floor(scaled) - 0.5);
        const bool tie = to_tie < 1e-9 && to_tie != 0.0;
        if (tie) continue;
        ASSERT_EQ(code(y, i), expected) << i;
      }
    }
  }
}

TEST(Table, SaturatesAndTurnsNanIntoTheCodeOfZero) {
  const TableSpec spec{
      .input_dtype = Dtype::s8, .input = {1.0f, 0}, .output_dtype = Dtype::s8, .output = {1.0f, 5}};
  const Tensor table = make_table(spec, [](f64 x) {
    return x == 0.0 ? std::nan("") : x * std::numeric_limits<f64>::infinity();
  });
  EXPECT_EQ(code(table, 128), 5);  // NaN at code 0
  EXPECT_EQ(code(table, 127), -128);
  EXPECT_EQ(code(table, 129), 127);
}

TEST(Table, Rejections) {
  const Unary relu{"Relu", {}, {}};
  EXPECT_THAT(TableRequest(relu, Dtype::u8, {1, 0}, Dtype::f32, {}).reject(),
              ::testing::HasSubstr("stays real"));
  EXPECT_NE(TableRequest(relu, Dtype::f32, {1, 0}, Dtype::u8, {1, 0}).reject(), "");
  EXPECT_NE(TableRequest(relu, Dtype::u8, {0, 0}, Dtype::u8, {1, 0}).reject(), "");
  EXPECT_NE(TableRequest(relu, Dtype::u8, {1, -1}, Dtype::u8, {1, 0}).reject(), "");
  EXPECT_NE(TableRequest(relu, Dtype::u8, {1, 0}, Dtype::u8, {std::nanf(""), 0}).reject(), "");
}

TEST(Clip, BoundsOfEveryTypeAndOrder) {
  using testing::values_of;
  const Tensor x = tensor<f32>(Shape{3}, {-2, 0.5f, 3});
  const auto clip = [&](const Tensor& min, const Tensor& max) {
    OpCall call("Clip");
    call.in(x);
    min ? call.in(min) : call.omit();
    max ? call.in(max) : call.omit();
    return values_of<f32>(call.run());
  };
  const Tensor zero = Tensor::scalar(0.0f), one = Tensor::scalar(1.0f);
  EXPECT_EQ(clip({}, {}), (std::vector<f32>{-2, 0.5f, 3}));
  EXPECT_EQ(clip(zero, {}), (std::vector<f32>{0, 0.5f, 3}));
  EXPECT_EQ(clip({}, one), (std::vector<f32>{-2, 0.5f, 1}));
  EXPECT_EQ(clip(one, zero), (std::vector<f32>{0, 0, 0}));  // min > max: max
  const Tensor small = tensor<s8>(Shape{3}, {-128, 5, 127});
  EXPECT_EQ(
      values_of<s8>(
          OpCall("Clip").in(small).in(Tensor::scalar<s8>(-3)).in(Tensor::scalar<s8>(9)).run()),
      (std::vector<s8>{-3, 5, 9}));
  EXPECT_NE(OpCall("Clip").in(x).in(Tensor(Dtype::f32, Shape{2})).error(), "");
  EXPECT_NE(OpCall("Clip").in(x).in(Tensor(Dtype::s32, Shape{})).error(), "");
  const auto parsed = testing::parse("Clip", 6, {Tensor()}, {{"max", 6.0f}});
  EXPECT_EQ(parsed.node.inputs.size(), 3u);
  EXPECT_EQ(parsed.node.inputs[1], kNoValue);
  EXPECT_EQ(parsed.graph.constant_input(parsed.node, 2)->as<f32>()[0], 6.0f);
}

TEST(PRelu, SlopeBroadcasts) {
  const Tensor x = tensor<f32>(Shape{1, 2, 2}, {-1, 1, -1, 2});
  const Tensor slope = tensor<f32>(Shape{2, 1}, {0.5f, 4});
  EXPECT_EQ(testing::values_of<f32>(OpCall("PRelu").in(x).in(slope).run()),
            (std::vector<f32>{-0.5f, 1, -4, 2}));
  EXPECT_NE(OpCall("PRelu").in(x).in(Tensor(Dtype::f32, Shape{3})).error(), "");
  const auto parsed = testing::parse("PRelu", 6, {Tensor(), tensor<f32>(Shape{3}, {1, 2, 3})});
  EXPECT_EQ(parsed.graph.constant_input(parsed.node, 1)->shape(), (Shape{3, 1, 1}));
}

}  // namespace
}  // namespace octet
