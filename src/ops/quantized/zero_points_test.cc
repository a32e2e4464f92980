// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/zero_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

// Two values whose parameters and whose nodes say the same; the arguments change one of them.
std::string text(const char* between = "@(0.5, 3)", const char* result = "@(0.25, 7)",
                 const char* read = "input_zero_points=ints[3]") {
  return fmt::format(R"(graph "g"(%x: u8[1,1,2,2]) {{
  const %t: u8[256] = #0
  %a: u8[1,1,2,2] {} = QTable(%x, %t) name "a"
  %y: u8[1,1,2,2] {} = QAveragePool(%a) {{kernel_shape=ints[1, 1], {}, output_zero_point=7, scales=floats[0.5, 0.25]}} name "pool"
  return %y
}})",
                     between, result, read);
}

Graph parsed(const std::string& text) {
  return parse_graph(text, find_op,
                     [](s64, const TensorType& type) { return Tensor(type.dtype, type.shape); });
}

std::string refusal(const std::string& text) {
  try {
    parsed(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_model);
    return error.message();
  }
  return {};
}

TEST(ZeroPoints, ValuesSayWhatTheirNodesSay) {
  EXPECT_EQ(refusal(text()), "");
  EXPECT_EQ(refusal(text("", "")), "");  // a value may say nothing
}

TEST(ZeroPoints, OneErrorForAValueThatItsReaderOrItsProducerContradicts) {
  const std::string read = refusal(text("@(0.5, 4)"));
  EXPECT_THAT(read, HasSubstr("value 'a' has zero point 4"));
  EXPECT_THAT(read, HasSubstr("node 'pool' (QAveragePool) takes it for 3"));
  EXPECT_THAT(
      refusal(text("@(0.5, 3)", "@(0.25, 8)")),
      HasSubstr("value 'y' has zero point 8, and node 'pool' (QAveragePool) takes it for 7"));
  // A node without the attribute says 0.
  EXPECT_THAT(refusal(text("@(0.5, 3)", "@(0.25, 7)", "count_include_pad=0")),
              HasSubstr("takes it for 0"));
}

TEST(ZeroPoints, SlotsGrowAsTheyAreSet) {
  Node node;
  node.op = find_op("QConv");
  EXPECT_EQ(input_zero_point(node, kProductX), 0);
  set_input_zero_point(node, kProductAddend, 9);
  set_input_zero_point(node, kProductX, -3);
  EXPECT_THAT(input_zero_points(node), ::testing::ElementsAre(-3, 0, 0, 0, 0, 0, 9));
  node.attrs.set("input_zero_points", std::vector<s64>{300});
  EXPECT_THROW(input_zero_points(node), Error);
}

// What an absent attribute means differs between s8 and u8, so all are written.
TEST(ZeroPoints, CodesBecomeU8WithTheSameRealValues) {
  Graph graph;
  Node node;
  node.op = find_op("QAdd");
  node.attrs.set("output_dtype", std::string("s8"));
  node.attrs.set("hi", s64{100});
  write_as_u8(graph, node);
  const Epilogue epilogue = epilogue_of(node);
  EXPECT_EQ(epilogue.output_dtype, Dtype::u8);
  EXPECT_EQ(epilogue.range.zero_point, 128);
  EXPECT_EQ(epilogue.range.lo, 0);
  EXPECT_EQ(epilogue.range.hi, 228);
  EXPECT_EQ(output_zero_point(node), 128);

  const Tensor codes = Tensor::of<s8>({3}, std::vector<s8>{-128, 0, 127});
  EXPECT_THAT(codes_as_u8(codes).as<u8>(), ::testing::ElementsAre(0, 128, 255));
}

TEST(ZeroPoints, ATableSaysNothingOfTheCodesThatItMakes) {
  Graph graph;
  Node node;
  node.op = find_op("QConv");
  node.attrs.set("output_zero_point", s64{5});
  EXPECT_EQ(output_zero_point(node), 5);
  node.inputs.resize(kProductTable + 1, kNoValue);
  node.inputs[kProductTable] = graph.add_constant("table", Tensor(Dtype::u8, {256}));
  EXPECT_EQ(output_zero_point(node), std::nullopt);
}

TEST(ZeroPoints, ATableOfSegmentsMovesWithItsCodes) {
  Graph graph;
  Node node;
  node.op = find_op("QConv");
  node.inputs.resize(kProductTable + 1, kNoValue);
  Tensor table(Dtype::s32, {kFineSegments});
  for (s32 i = 0; i < kFineSegments; ++i)
    table.mutable_as<s32>()[static_cast<size_t>(i)] = fine_segment(766 * (i - 32), 1111 - 40 * i);
  node.inputs[kProductTable] = graph.add_constant("table", table);
  node.attrs.set("fine_zero_point", s64{30000});
  set_output_codes(node, Dtype::s8, {5, -120, 90});
  EXPECT_EQ(output_zero_point(node), 5);
  const Epilogue before = epilogue_of(node);
  write_as_u8(graph, node);
  EXPECT_EQ(output_zero_point(node), 133);
  const Epilogue after = epilogue_of(node);
  EXPECT_EQ(after.output_dtype, Dtype::u8);
  const s32* moved = graph.constant_input(node, kProductTable)->as<s32>().data();
  for (s32 u = 0; u < kFineCodes; ++u) {
    const s32 code = code_of_fine(fine_result(table.as<s32>().data(), u));
    const s32 again = code_of_fine(fine_result(moved, u));
    ASSERT_EQ(clamp_s32(code, before.range.lo, before.range.hi) + 128,
              clamp_s32(again, after.range.lo, after.range.hi));
  }
}

}  // namespace
}  // namespace octet
