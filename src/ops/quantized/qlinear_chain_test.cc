// SPDX-License-Identifier: Apache-2.0
// How com.microsoft's QLinear operators are read.
#include "ops/shared/testing.h"

namespace octet::testing {
namespace {

TEST(QLinearChain, AddReadsBothOperandsAndQuantizesTheSum) {
  const Tensor codes(Dtype::u8, Shape{2}), scale = Tensor::scalar(0.5f);
  const Tensor zero = Tensor::scalar<u8>(3);
  const Parsed parsed =
      parse("QLinearAdd", 1, {codes, scale, zero, codes, scale, zero, scale, zero});
  EXPECT_EQ(parsed.node.op->name, "Add");
  EXPECT_EQ(parsed.node.inputs.size(), 2u);
  ASSERT_EQ(parsed.before.size(), 2u);
  EXPECT_EQ(parsed.before[0].op->name, "DequantizeLinear");
  ASSERT_EQ(parsed.after.size(), 1u);
  EXPECT_EQ(parsed.after[0].op->name, "QuantizeLinear");
  EXPECT_EQ(parsed.after[0].inputs.size(), 3u);
}

TEST(QLinearChain, ConcatNeedsThreeInputsForEachOperand) {
  const Tensor codes(Dtype::u8, Shape{2}), scale = Tensor::scalar(0.5f);
  const Tensor zero = Tensor::scalar<u8>(3);
  EXPECT_THROW(parse("QLinearConcat", 1, {scale, zero, codes, scale, zero, codes}), Error);
  const Parsed parsed = parse("QLinearConcat", 1, {scale, zero, codes, scale, zero});
  EXPECT_EQ(parsed.node.op->name, "Concat");
}

TEST(QLinearChain, IsNoOperatorOfOnnxItself) {
  EXPECT_EQ(op_registry().find_onnx("", "QLinearAdd"), nullptr);
  EXPECT_NE(op_registry().find_onnx("com.microsoft", "QLinearAdd"), nullptr);
}

}  // namespace
}  // namespace octet::testing
