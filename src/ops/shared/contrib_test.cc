// SPDX-License-Identifier: Apache-2.0
// How operators of com.microsoft are read. What they compute, tests/models/microsoft_test.py holds against ONNX Runtime.
#include "ops/shared/testing.h"

namespace octet::testing {
namespace {

std::vector<std::string> names(const std::vector<Node>& nodes) {
  std::vector<std::string> result;
  for (const Node& node : nodes) result.emplace_back(node.op->name);
  return result;
}

std::string refusal(std::string_view op, const std::vector<Tensor>& inputs, const AttrList& attrs,
                    u32 outputs = 1) {
  try {
    parse(op, 1, inputs, attrs, outputs);
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Error::Code::internal) << error.what();
    return error.message();
  }
  return "";
}

TEST(Contrib, NamesThatOnnxHasTooAreKeptApart) {
  const OpDef* own = op_registry().find_onnx("com.microsoft", "Gelu");
  ASSERT_NE(own, nullptr);
  EXPECT_NE(own, op_registry().find_onnx("", "Gelu"));
  EXPECT_EQ(op_registry().find_onnx("", "BiasGelu"), nullptr);
}

TEST(Contrib, FusedActivationsStandBehindTheSum) {
  const Parsed parsed = parse(
      "FusedConv", 1, {{}, floats({1}, {1}), {}, {}},
      {{"activation", std::string("LeakyRelu")}, {"activation_params", std::vector<f32>{0.5f}}});
  EXPECT_EQ(parsed.node.op->name, "Conv");
  EXPECT_EQ(names(parsed.after), (std::vector<std::string>{"Add", "LeakyRelu"}));
  EXPECT_EQ(parsed.after[1].attrs.f("alpha", 0), 0.5f);
}

TEST(Contrib, AnActivationThatIsUnknownIsRefused) {
  EXPECT_THAT(refusal("FusedConv", {{}, {}}, {{"activation", std::string("Swirl")}}),
              ::testing::HasSubstr("'Swirl'"));
}

TEST(Contrib, TheSumIsAnOutputOfItsOwn) {
  const Parsed parsed = parse("SkipSimplifiedLayerNormalization", 1, {{}, {}, {}}, {}, 1);
  EXPECT_EQ(names(parsed.before), (std::vector<std::string>{"Add"}));
  EXPECT_THAT(refusal("SkipLayerNormalization", {{}, {}, {}}, {}, 4),
              ::testing::HasSubstr("statistics"));
}

TEST(Contrib, ProductsOfCodesBecomeRealByBothScales) {
  const Tensor codes = tensor<s8>({2, 1}, {1, -2}), scale = floats({}, {0.5f});
  const Parsed dynamic = parse("DynamicQuantizeMatMul", 1, {{}, codes, scale, {}, {}});
  EXPECT_EQ(names(dynamic.before), (std::vector<std::string>{"DynamicQuantizeLinear", "Mul"}));
  ASSERT_EQ(dynamic.before[0].outputs.size(), 3u);
  // Types of what is computed are not known yet: with them the sums become a product of codes.
  EXPECT_EQ(dynamic.node.op->name, "MatMulInteger");
  EXPECT_EQ(dynamic.node.inputs[0], dynamic.before[0].outputs[0]);
  EXPECT_EQ(dynamic.node.inputs[2], dynamic.before[0].outputs[2]);
  EXPECT_EQ(dynamic.before[1].inputs[0], dynamic.before[0].outputs[1]);
  EXPECT_EQ(names(dynamic.after), (std::vector<std::string>{"Cast", "Mul", "Add"}));
  const Parsed given = parse("MatMulIntegerToFloat", 1, {{}, codes, scale, scale});
  EXPECT_EQ(given.node.op->name, "QMatMul");
  EXPECT_EQ(names(given.before), (std::vector<std::string>{"Mul"}));
  EXPECT_EQ(names(given.after), (std::vector<std::string>{"Cast", "Cast", "Mul"}));
}

// What is said of the node whose input `without` is left out by an empty name, or ends the list.
std::string said_without(std::string_view op, size_t inputs, size_t without, bool omitted,
                         const AttrList& attrs) {
  Graph graph;
  Node node = make_node(op, {}, attrs, 1);
  for (size_t i = 0; i < inputs; ++i) {
    if (i == without && !omitted) break;
    node.inputs.push_back(i == without ? kNoValue : graph.add_value("x", {}));
  }
  std::vector<Node> before, after;
  NodeParser parser(graph, node, 1, before, after);
  try {
    node.op->parse(parser);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_model) << error.what();
    return error.message();
  }
  return "";
}

TEST(Contrib, RequiredInputsAreNamed) {
  const std::vector<std::pair<std::string_view, size_t>> required = {
      {"BiasGelu", 2},
      {"DynamicQuantizeMatMul", 3},
      {"FusedMatMul", 1},
      {"MatMulIntegerToFloat", 4},
      {"SkipLayerNormalization", 3},
      {"SkipSimplifiedLayerNormalization", 3}};
  for (const auto& [op, count] : required) {
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(said_without(op, count, i, true, {{"alpha", 2.0f}}),
                fmt::format("input {} is omitted, but {} requires it", i, op));
      EXPECT_EQ(said_without(op, count, i, false, {{"alpha", 2.0f}}),
                fmt::format("{} needs at least {} inputs, has {}", op, i + 1, i));
    }
  }
}

AttrList packing(s64 rows, s64 depth, s64 bits, s64 block) {
  return {{"N", rows}, {"K", depth}, {"bits", bits}, {"block_size", block}};
}

TEST(MatMulNBits, CodesAreTheirNumbers) {
  std::vector<u8> bytes(8, 0x88);  // the codes 8, which stand for 0
  bytes[0] = 0x1f;
  const Parsed parsed = parse(
      "MatMulNBits", 1, {{}, tensor<u8>({1, 1, 8}, bytes), floats({1}, {2})}, packing(1, 3, 4, 16));
  EXPECT_EQ(parsed.node.op->name, "MatMul");
  expect_tensor<f32>(*parsed.graph.constant_input(parsed.node, 1), {3, 1}, {14, -14, 0});
}

TEST(MatMulNBits, SizesAreHeldToWhatTheFileHas) {
  const Tensor codes = tensor<u8>({8}, std::vector<u8>(8)), scale = floats({1}, {1});
  const std::vector<Tensor> inputs = {{}, codes, scale};
  EXPECT_EQ(refusal("MatMulNBits", inputs, packing(1, 16, 4, 16)), "");
  for (const AttrList& attrs :
       {packing(1, 17, 4, 16), packing(2, 16, 4, 16), packing(1, 16, 3, 16), packing(1, 16, 4, 0),
        packing(s64{1} << 40, 16, 4, 16), packing(0, 16, 4, 16), packing(1, 16, 4, 17),
        packing((s64{1} << 31) - 1, (s64{1} << 31) - 1, 8, 16)}) {
    EXPECT_NE(refusal("MatMulNBits", inputs, attrs), "");
  }
  EXPECT_THAT(refusal("MatMulNBits", {{}, {}, scale}, packing(1, 16, 4, 16)),
              ::testing::HasSubstr("computed"));
  const Tensor groups = tensor<s32>({16}, std::vector<s32>(16, 1));
  EXPECT_THAT(refusal("MatMulNBits", {{}, codes, scale, codes, groups}, packing(1, 16, 4, 16)),
              ::testing::HasSubstr("zero points"));
}

}  // namespace
}  // namespace octet::testing
