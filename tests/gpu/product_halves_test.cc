// SPDX-License-Identifier: Apache-2.0
// Products of two values of 16 bits that a run brings, beside sums in f64.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "backends/backends.h"
#include "graph/text.h"
#include "on_gpu.h"
#include "ops/registry.h"
#include "plan/chain_testing.h"

namespace octet::test {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

struct ProductCase {
  s64 batch = 2, heads = 3, m = 20, n = 24, k = 40;
  bool a_turned = false, b_turned = false;  // it lies [k, m], [n, k]
  bool shared = false;                      // b has one matrix for all heads
  bool stored = true;                       // the result is read by a function of 16 bits
  const char* type = "f16";
  bool activated = false;  // a Relu is part of the product, which no kernel of 16 bits has

  std::string text() const {
    return fmt::format("{} {}x{} of {}x{}x{}, turned {} {}, shared {}, stored {}", type, batch,
                       heads, m, n, k, a_turned, b_turned, shared, stored);
  }
};

Graph graph_of(const ProductCase& c) {
  const s64 b_heads = c.shared ? 1 : c.heads;
  const auto dims = [&](s64 heads, s64 rows, s64 columns, bool turned) {
    return fmt::format("{},{},{},{}", c.batch, heads, turned ? columns : rows,
                       turned ? rows : columns);
  };
  std::string text =
      fmt::format("graph \"g\"(%a: f32[{}], %b: f32[{}]) {{\n", dims(c.heads, c.m, c.k, c.a_turned),
                  dims(b_heads, c.k, c.n, c.b_turned));
  const auto operand = [&](char name, s64 heads, s64 rows, s64 columns, bool turned) {
    text += fmt::format("  %{0}r: f32[{1}] = RoundTo(%{0}) {{to=\"{2}\"}}\n", name,
                        dims(heads, rows, columns, turned), c.type);
    text += fmt::format("  %{0}t: f32[{1}] = {2}\n", name, dims(heads, rows, columns, false),
                        turned ? fmt::format("Transpose(%{}r) {{perm=ints[0, 1, 3, 2]}}", name)
                               : fmt::format("Identity(%{}r)", name));
  };
  operand('a', c.heads, c.m, c.k, c.a_turned);
  operand('b', b_heads, c.k, c.n, c.b_turned);
  const std::string y = dims(c.heads, c.m, c.n, false);
  text += fmt::format(
      "  %y: f32[{0}] = MatMul(%at, %bt){2}\n  %yr: f32[{0}] = RoundTo(%y) {{to=\"{1}\"}}\n", y,
      c.type, c.activated ? " {activation=\"relu\"}" : "");
  if (c.stored) text += fmt::format("  %z: f32[{}] = Neg(%yr)\n", y);
  return parse_graph(text + (c.stored ? "  return %z\n}" : "  return %yr\n}"), find_op);
}

class GpuProductOfHalves : public OnGpu {
 protected:
  void expect_near(const ProductCase& c) const {
    SCOPED_TRACE(c.text());
    const Graph graph = graph_of(c);
    const Target target = make_target(device_->name(), 1, nullptr);
    const std::vector<std::string> names = kernel_names(plan_of(graph, target));
    if (!c.activated) {
      ASSERT_THAT(names, Contains(HasSubstr(fmt::format("matmul_of_{}_", c.type))));
      EXPECT_THAT(names, Not(Contains("transpose")));
    }
    expect_sums(c, inputs_of(c, graph), graph, target);
  }

 private:
  // Numbers of either type; some far larger than others, so that sums cancel.
  static std::vector<Tensor> inputs_of(const ProductCase&, const Graph& graph) {
    std::mt19937 random(7);
    std::vector<Tensor> inputs;
    for (const ValueId id : graph.inputs) {
      inputs.emplace_back(Dtype::f32, graph.value(id).type.shape);
      for (f32& x : inputs.back().mutable_as<f32>()) {
        const f32 size = random() % 8 == 0 ? 8.0f : 0.03125f;
        x = static_cast<f32>(static_cast<s32>(random() % 255) - 127) * size / 16.0f;
      }
    }
    return inputs;
  }

  static void expect_sums(const ProductCase& c, const std::vector<Tensor>& inputs,
                          const Graph& graph, const Target& target) {
    const Tensor got = run_on(graph, inputs, target)[0];
    const bool f16 = std::string(c.type) == "f16";
    const f64 unit = f16 ? 0x1p-11 : 0x1p-8, tiny = f16 ? 0x1p-25 : 0.0;
    // Of each step of 8 products and the sum so far nine lose less than 2^-24 of the largest, the sum 2^-23.
    const f64 lost = 11 * static_cast<f64>((c.k + 7) / 8) * 0x1p-24;
    size_t at = 0;
    for (s64 image = 0; image < c.batch * c.heads; ++image)
      for (s64 m = 0; m < c.m; ++m)
        for (s64 n = 0; n < c.n; ++n) {
          f64 sum = 0, size = 0;
          for (s64 k = 0; k < c.k; ++k) {
            const f64 product = a_at(c, inputs, {image, m, k}) * b_at(c, inputs, {image, k, n});
            sum += product, size += std::abs(product);
          }
          if (c.activated) sum = std::max(sum, 0.0);
          const f64 want = c.stored ? -sum : sum;
          ASSERT_NEAR(f64{got.as<f32>()[at]}, want,
                      (1 + unit) * lost * size + unit * std::abs(sum) + tiny)
              << at;
          ++at;
        }
  }

  struct Place {
    s64 image, row, column;
  };
  static f64 a_at(const ProductCase& c, const std::vector<Tensor>& inputs, Place p) {
    const s64 at = c.a_turned ? p.column * c.m + p.row : p.row * c.k + p.column;
    return f64{inputs[0].as<f32>()[static_cast<size_t>(p.image * c.m * c.k + at)]};
  }
  static f64 b_at(const ProductCase& c, const std::vector<Tensor>& inputs, Place p) {
    const s64 image = c.shared ? p.image / c.heads : p.image;
    const s64 at = c.b_turned ? p.column * c.k + p.row : p.row * c.n + p.column;
    return f64{inputs[1].as<f32>()[static_cast<size_t>(image * c.k * c.n + at)]};
  }
};

TEST_F(GpuProductOfHalves, HoweverOperandsLie) {
  for (const bool a_turned : {false, true})
    for (const bool b_turned : {false, true})
      expect_near({.a_turned = a_turned, .b_turned = b_turned, .type = a_turned ? "bf16" : "f16"});
}

TEST_F(GpuProductOfHalves, AnySize) {
  const DearChains whatever_they_cost;
  expect_near({.batch = 1, .heads = 1, .m = 1, .n = 1, .k = 1});
  expect_near({.m = 7, .n = 5, .k = 3, .b_turned = true, .stored = false});
  expect_near({.batch = 1, .heads = 2, .m = 130, .n = 70, .k = 97, .a_turned = true});
  expect_near({.batch = 1, .heads = 1, .m = 3, .n = 200, .k = 520});
}

TEST_F(GpuProductOfHalves, OneMatrixForAllHeads) { expect_near({.shared = true}); }

TEST_F(GpuProductOfHalves, AnActivationIsKept) {
  for (const bool stored : {true, false}) expect_near({.stored = stored, .activated = true});
}

}  // namespace
}  // namespace octet::test
