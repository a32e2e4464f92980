// SPDX-License-Identifier: Apache-2.0
// Codes that are multiplied by one positive number stay what they are: their scale is multiplied.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "precision/precision.h"
#include "precision/quantized_testing.h"

namespace octet {
namespace {

// As calibration does it; every value is within two, but for what `most` names.
Graph quantized(const std::string& nodes, const std::string& other = "", f32 most = 2.0f) {
  Graph graph = parse_graph("graph \"g\"(%x: f32[1,4]) {\n" + nodes + "\n}", find_op);
  Ranges ranges;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    if (graph.is_constant(id)) continue;
    const f32 end = graph.value(id).name == other ? most : 2.0f;
    ranges[id] = {.min = -end, .max = end, .threshold = end};
  }
  quantize_as_calibrated(graph, ranges);
  return graph;
}

s64 tables(const Graph& graph) {
  return std::ranges::count_if(graph.nodes,
                               [](const Node& node) { return node.op->name == "QTable"; });
}

// A product whose codes two others read, one of them times a number.
std::string two_readers(const std::string& multiple, const std::string& behind = "Identity(%r)") {
  return R"(
  const %w: f32[4,4] = {0.5, -1.0, 0.25, 1.0, 0.75, 0.5, -0.5, 0.25, 1.0, 0.5, -1.0, 0.5, 0.25, 0.5, 1.0, -0.75}
  const %c: f32[] = {0.3125}
  const %n: f32[] = {-0.3125}
  %a: f32[1,4] = MatMul(%x, %w) name "a"
  %r: f32[1,4] = )" +
         multiple + R"( name "r"
  %m: f32[1,4] = )" +
         behind + R"( name "m"
  %z: f32[1,4] = MatMul(%m, %w) name "z"
  %o: f32[1,4] = MatMul(%a, %w) name "o"
  return %z, %o)";
}

// The range of the multiple is of no account: codes of its own would be cut off here.
TEST(MultiplesOfCodes, NeedNoTable) {
  for (const char* multiple : {"Mul(%a, %c)", "Mul(%c, %a)", "Div(%a, %c)"}) {
    const Graph graph =
        quantized(two_readers(multiple, "Transpose(%r) {perm=ints[0, 1]}"), "r", 1e-3f);
    EXPECT_EQ(tables(graph), 0) << multiple;
    const Graph real =
        parse_graph("graph \"g\"(%x: f32[1,4]) {\n" +
                        two_readers(multiple, "Transpose(%r) {perm=ints[0, 1]}") + "\n}",
                    find_op);
    const Tensor x = Tensor::of<f32>({1, 4}, {{0.25f, -0.5f, 0.125f, 0.375f}});
    const Tensor want = interpret(real, std::vector{x})[0],
                 got = interpret(graph, std::vector{x})[0];
    const f32 factor = multiple[0] == 'D' ? 1 / 0.3125f : 0.3125f;
    // Of the first product: half a code (1 / 127) of each of four inputs, half a code of weights up to one for inputs up to 1/2, half a code of
    // its result; four of these, half a code of four weights for values up to 2, and half a code of the last result, in f32 as it is.
    const f32 first = (4.0f + 4 * 0.25f + 1.0f) / 127;
    const f32 most = factor * (4 * first + 4 * 2 * 0.5f / 127) + 1.0f / 127;
    for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(got.as<f32>()[i], want.as<f32>()[i], most) << i;
  }
}

TEST(MultiplesOfCodes, KeepTheirOwnScale) {
  // Codes would change their order.
  EXPECT_EQ(tables(quantized(two_readers("Mul(%a, %n)"))), 1);
  // What it is joined with has the same scale.
  const Graph joined = quantized(R"(
    const %w: f32[4,4] = {0.5, -1.0, 0.25, 1.0, 0.75, 0.5, -0.5, 0.25, 1.0, 0.5, -1.0, 0.5, 0.25, 0.5, 1.0, -0.75}
    const %c: f32[] = {0.3125}
    %a: f32[1,4] = MatMul(%x, %w) name "a"
    %r: f32[1,4] = Mul(%a, %c) name "r"
    %k: f32[2,4] = Concat(%r, %a) {axis=0} name "k"
    %z: f32[2,4] = MatMul(%k, %w) name "z"
    return %z)");
  EXPECT_EQ(tables(joined), 1);
}

}  // namespace
}  // namespace octet
