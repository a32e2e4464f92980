// SPDX-License-Identifier: Apache-2.0
// QLSTM against LSTM, where no state is rounded; and when it is made.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "ops/quantized/quantize_recurrent.h"
#include "ops/registry.h"
#include "ops/shared/op_testing.h"

namespace octet {
namespace {

using testing::OpCall;

constexpr s64 kInput = 5, kHidden = 3, kRows = 4 * kHidden;
constexpr f32 kScaleX = 0.03125f, kScaleW = 0.015625f, kStateScale = 0.0078125f;

template <class T>
Tensor codes(const Shape& shape, int step) {
  Tensor tensor(DtypeOf<T>::value, shape);
  const auto to = tensor.mutable_as<T>();
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<T>(static_cast<int>(i) * step % 200 - (std::is_signed_v<T> ? 100 : 0));
  return tensor;
}

template <class T>
Tensor reals(const Tensor& codes, f32 scale, s32 zero_point = 0) {
  Tensor tensor(Dtype::f32, codes.shape());
  for (size_t i = 0; i < tensor.as<f32>().size(); ++i)
    tensor.mutable_as<f32>()[i] = static_cast<f32>(codes.as<T>()[i] - zero_point) * scale;
  return tensor;
}

Tensor filled(const Shape& shape, f32 value) {
  Tensor tensor(Dtype::f32, shape);
  for (f32& x : tensor.mutable_as<f32>()) x = value;
  return tensor;
}

// Scales are powers of two and the state of the one step is codes: every sum is exact in f32 too.
TEST(QLSTM, OneStepIsThatOfItsReals) {
  const Tensor x = codes<u8>({1, 2, kInput}, 37), w = codes<s8>({1, kRows, kInput}, 29);
  const Tensor r = codes<s8>({1, kRows, kHidden}, 31), h = codes<s8>({1, 2, kHidden}, 17);
  const Tensor bias = filled({1, 2 * kRows}, 0.25f);
  Tensor multipliers = filled({2, 1, kRows}, kScaleX * kScaleW);
  for (size_t i = kRows; i < 2 * kRows; ++i)
    multipliers.mutable_as<f32>()[i] = kStateScale * kScaleW;
  const Tensor want = OpCall("LSTM")
                          .in(reals<u8>(x, kScaleX, 100))
                          .in(reals<s8>(w, kScaleW))
                          .in(reals<s8>(r, kScaleW))
                          .in(bias)
                          .omit()
                          .in(reals<s8>(h, kStateScale))
                          .attr("hidden_size", kHidden)
                          .run();
  const Tensor got = OpCall("QLSTM")
                         .in(x)
                         .in(w)
                         .in(r)
                         .in(bias)
                         .omit()
                         .in(reals<s8>(h, kStateScale))
                         .omit()
                         .omit()
                         .in(multipliers)
                         .attr("hidden_size", kHidden)
                         .attr("state_scale", kStateScale)
                         .ints("input_zero_points", {100, 0, 0, 0, 0, 0, 0, 0, 0})
                         .run();
  ASSERT_EQ(want.type(), got.type());
  for (size_t i = 0; i < want.as<f32>().size(); ++i)
    EXPECT_EQ(want.as<f32>()[i], got.as<f32>()[i]) << i;
}

// Bias and states as those of LSTM; weights of ones.
std::string reject_of(std::string_view op, std::string_view attrs, Precision precision,
                      std::string_view more = "") {
  const size_t rows = op == "LSTM" ? 8 : op == "GRU" ? 6 : 2;
  const std::string ones = fmt::format("{}", fmt::join(std::vector<int>(rows * 2, 1), ", "));
  const std::string text = fmt::format(R"(graph "g"(%x: f32[4,1,2], %q: u8[4,1,2]) {{
    const %w: f32[1,{0},2] = {{{1}}}
    const %r: f32[1,{0},2] = {{{1}}}
    const %p: f32[1,6] = {{1, 1, 1, 1, 1, 1}}
    const %h: f32[1,1,2] = {{1, -1.5}}
    %y: f32[4,1,1,2] = {2}(%x, %w, %r{4}) {{hidden_size=2{3}}} name "layer"
    return %y
  }})",
                                       rows, ones, op, attrs, more);
  Graph graph = parse_graph(text, find_op);
  Node node = graph.nodes[0];
  node.decision.precision = precision;
  QuantizeRequest request{graph, node, {}, {}, Dtype::f32};
  request.inputs.resize(3);
  request.inputs[0] = {
      .codes = graph.inputs[1], .scale = Tensor::scalar<f32>(0.02f), .zero_point = 128};
  const QuantizeResult result = quantize_recurrent(request);
  if (result.reject.empty()) {
    EXPECT_EQ(result.node.op->name, "Q" + std::string(op));
  }
  return result.reject;
}

TEST(QRecurrent, WhenItIsMade) {
  for (const char* op : {"LSTM", "GRU", "RNN"}) {
    EXPECT_EQ(reject_of(op, "", Precision::int8), "") << op;
    EXPECT_EQ(reject_of(op, "", Precision::none),
              "no Q/DQ of the model says how the state of a recurrent layer is rounded");
    EXPECT_EQ(reject_of(op, ", clip=3.0", Precision::int8), "its sums are clipped");
  }
  EXPECT_EQ(reject_of("GRU", ", linear_before_reset=1", Precision::int8), "");
  EXPECT_EQ(reject_of("LSTM", ", input_forget=1", Precision::int8),
            "its input gate is the forget gate too");
  EXPECT_EQ(
      reject_of("LSTM", ", activations=strings[\"Sigmoid\", \"Tanh\", \"Relu\"]", Precision::int8),
      "its functions may leave -1..1");
  EXPECT_EQ(reject_of("RNN", ", activations=strings[\"Relu\"]", Precision::int8),
            "its functions may leave -1..1");
  EXPECT_EQ(reject_of("GRU", ", activations=strings[\"sigmoid\", \"TANH\"]", Precision::int8), "");
  EXPECT_EQ(reject_of("LSTM", "", Precision::int8, ", _, _, _, _, %p"), "it has peepholes");
  EXPECT_EQ(reject_of("GRU", "", Precision::int8, ", _, _, %h"),
            "its initial state lies beyond -1..1");
}

}  // namespace
}  // namespace octet
