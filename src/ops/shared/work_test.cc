// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/work.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/check.h"
#include "ops/registry.h"

namespace octet {
namespace {

Node node_of(std::string_view op) {
  Node node;
  node.op = find_op(op);
  OCTET_CHECK(node.op != nullptr);
  return node;
}

std::vector<TensorType> types(std::initializer_list<Shape> shapes) {
  std::vector<TensorType> result;
  for (const Shape& shape : shapes) result.push_back({Dtype::f32, shape});
  return result;
}

TEST(Macs, CountsByOperator) {
  // 3x3 filters over 8 channels in 2 groups: every output element costs 4 * 9.
  const auto image = types({{1, 8, 10, 10}, {16, 4, 3, 3}});
  const auto filtered = types({{1, 16, 8, 8}});
  for (const char* op : {"Conv", "QConv", "ConvInteger", "DeformConv"})
    EXPECT_EQ(count_macs(node_of(op), image, filtered), 16 * 8 * 8 * 4 * 9) << op;

  const auto matrices = types({{2, 3, 5}, {5, 7}});
  for (const char* op : {"MatMul", "QMatMul", "MatMulInteger"})
    EXPECT_EQ(count_macs(node_of(op), matrices, types({{2, 3, 7}})), 2 * 3 * 7 * 5) << op;

  Node gemm = node_of("Gemm");
  gemm.attrs.set("transA", s64{1});
  EXPECT_EQ(count_macs(gemm, types({{5, 3}, {5, 7}}), types({{3, 7}})), 3 * 7 * 5);
  EXPECT_EQ(count_macs(node_of("Relu"), types({{4}}), types({{4}})), 0);
}

TEST(Work, ElementsThatAreReadOrWrittenUnlessAFormulaSaysMore) {
  EXPECT_EQ(work_of(node_of("Relu"), types({{4}}), types({{4}})), 8);
  EXPECT_EQ(work_of(node_of("MatMul"), types({{3, 5}, {5, 7}}), types({{3, 7}})),
            3 * 7 * 5 + 3 * 5 + 5 * 7 + 3 * 7);
}

// Few elements, much to do: what a fold is refused for.
TEST(Work, FormulasOfOperatorsThatReadMuch) {
  Node einsum = node_of("Einsum");
  einsum.attrs.set("equation", std::string("ij,jk->"));
  EXPECT_EQ(work_of(einsum, types({{50, 60}, {60, 70}}), types({{}})), 2 * 50 * 60 * 70);

  EXPECT_EQ(work_of(node_of("Det"), types({{2, 100, 100}}), types({{2}})), 2e6);
  EXPECT_EQ(work_of(node_of("NonMaxSuppression"), types({{1, 500, 4}, {1, 3, 500}}),
                    types({{Shape::kDynamic, 3}})),
            3.0 * 500 * 500);

  Node pool = node_of("MaxPool");
  pool.attrs.set("kernel_shape", std::vector<s64>{2000, 2000});
  pool.attrs.set("pads", std::vector<s64>{999, 999, 1000, 1000});
  EXPECT_EQ(work_of(pool, types({{1, 1, 100, 100}}), types({{1, 1, 100, 100}})), 1e8);
}

// Types of untrusted models: a formula in 63 bits would wrap to little.
TEST(Work, NumbersBeyond63Bits) {
  const s64 large = s64{1} << 40;
  EXPECT_GT(
      work_of(node_of("MatMul"), types({{large, large}, {large, large}}), types({{large, large}})),
      1e36);
  EXPECT_GT(count_macs(node_of("MatMul"), types({{large, large}, {large, large}}),
                       types({{large, large}})),
            s64{1} << 60);
}

}  // namespace
}  // namespace octet
