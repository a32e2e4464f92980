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
