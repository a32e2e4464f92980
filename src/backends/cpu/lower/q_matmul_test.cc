// SPDX-License-Identifier: Apache-2.0
// QMatMul kernels against the scalar reference.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/q_probe.h"

namespace octet {
namespace {

// The planner's order.
Offer as_planned(const LowerRequest& request) {
  Offer tiles = lower_q_linear_tiles(request);
  return std::holds_alternative<Candidate>(tiles) ? tiles : lower_q_linear(request);
}

void set_epilogue(Probe& probe, s64 zero_a, s64 zero_b) {
  probe.attrs.set("input_zero_points", std::vector<s64>{zero_a, zero_b});
  probe.attrs.set("output_zero_point", s64{120});
  probe.attrs.set("residual_multiplier", 0.25f);
}

f32 scale_for(s64 k) { return 1.0f / (80.0f * std::sqrt(static_cast<f32>(k))); }

Probe linear_probe(const Shape& a, s64 n, s64 zero_point) {
  const s64 k = a[a.rank() - 1];
  Probe probe{.op = "QMatMul"};
  probe.inputs = {activation(random_u8(a, 1)), constant(random_s8({k, n}, 2)),
                  constant(random_s32({n}, 3, 3000)),
                  constant(random_multipliers(n, 4, scale_for(k)))};
  set_epilogue(probe, zero_point, 0);
  return probe;
}

TEST(QMatMul, ConstantWeights) {
  for (s64 rows : {0, 1, 2, 6, 7, 13}) {
    for (s64 k : {1, 2, 3, 4, 5, 31, 64, 197}) {
      for (s64 n : {1, 10, 16, 65, 130}) {
        const Probe probe = linear_probe({rows, k}, n, 128);
        expect_exact(probe, as_planned, fmt::format("{}x{}x{}", rows, k, n));
      }
    }
  }
}

TEST(QMatMul, RanksResidualTableAndRealOutputs) {
  for (const Shape& a : {Shape{24}, Shape{3, 5, 24}, Shape{2, 3, 2, 24}}) {
    Probe probe = linear_probe(a, 33, 7);
    const Shape output = probe.reference()[0].shape();
    probe.inputs.push_back(activation(random_u8(output, 5)));
    probe.attrs.set("input_zero_points", std::vector<s64>{7, 0, 0, 0, 99});
    expect_exact(probe, as_planned, "residual");
    Probe table = probe;
    table.inputs.push_back(constant(random_u8({256}, 6)));
    expect_exact(table, as_planned, "table");
    probe.attrs.set("output_dtype", std::string("f32"));
    probe.attrs.set("activation", std::string("relu"));
    expect_exact(probe, as_planned, "f32");
  }
}

TEST(QMatMul, ZeroPoints) {
  for (s64 zero_point : {0, 1, 127, 128, 255}) {
    expect_exact(linear_probe({9, 70}, 20, zero_point), as_planned, "zero point");
  }
}

Probe product_probe(const Shape& a, const Shape& b, s64 zero_a, s64 zero_b) {
  const s64 k = a[a.rank() - 1];
  Probe probe{.op = "QMatMul"};
  probe.inputs = {activation(random_u8(a, 1)), activation(random_u8(b, 2)), omitted(),
                  constant(random_multipliers(1, 4, scale_for(k)))};
  set_epilogue(probe, zero_a, zero_b);
  return probe;
}

// The planner's order for two activations.
Offer product_as_planned(const LowerRequest& request) {
  Offer tiles = lower_q_matmul_tiles(request);
  return std::holds_alternative<Candidate>(tiles) ? tiles : lower_q_matmul(request);
}

// Both lowerings, since tiles leave the other out on machines that have them.
void expect_product_exact(const Probe& probe, const std::string& what) {
  expect_exact(probe, lower_q_matmul, what);
  expect_exact(probe, product_as_planned, what);
}

// Every number of tiles and of columns within one, steps of the inner dimension, rows that overlap.
TEST(QMatMul, TilesOfTwoActivations) {
  for (s64 n = 1; n < 140; n += n < 70 ? 1 : 9) {
    expect_exact(product_probe({2, 9, 68}, {2, 68, n}, 120, 131), product_as_planned,
                 fmt::format("n {}", n));
  }
  for (s64 m : {15, 16, 17, 31, 33, 65, 100}) {
    expect_exact(product_probe({2, m, 64}, {2, 64, 65}, 3, 0), product_as_planned,
                 fmt::format("m {}", m));
  }
  for (s64 k : {5, 60, 63, 65, 127, 128, 130, 260}) {
    expect_exact(product_probe({3, 18, k}, {3, k, 66}, 0, 77), product_as_planned,
                 fmt::format("k {}", k));
  }
}

TEST(QMatMul, EpiloguesOfTwoActivations) {
  for (s64 n : {7, 33, 60, 64, 130}) {
    Probe probe = product_probe({2, 19, 40}, {2, 40, n}, 120, 131);
    probe.inputs[2] = constant(random_s32({n}, 3, 3000));
    probe.inputs[3] = constant(random_multipliers(n, 4, scale_for(40)));
    expect_product_exact(probe, "bias");
    Probe table = probe;
    table.inputs.push_back(omitted());
    table.inputs.push_back(constant(random_u8({256}, 6)));
    expect_product_exact(table, "table");
    Probe large = probe;
    large.inputs[3] = constant(random_multipliers(1, 4, 1e6f));
    expect_product_exact(large, "products beyond s32");
    Probe residual = probe;
    residual.inputs.push_back(activation(random_u8({2, 19, n}, 5)));
    expect_product_exact(residual, "residual");
    probe.attrs.set("output_dtype", std::string("f32"));
    expect_product_exact(probe, "f32");
    probe.attrs.set("activation", std::string("relu"));
    expect_product_exact(probe, "f32 relu");
  }
}

TEST(QMatMul, TwoActivations) {
  for (s64 m : {1, 5, 6, 17}) {
    for (s64 k : {4, 6, 7, 64}) {
      for (s64 n : {1, 15, 64, 70}) {
        expect_product_exact(product_probe({2, m, k}, {2, k, n}, 120, 131),
                             fmt::format("{}x{}x{}", m, k, n));
      }
    }
  }
}

// As deep as sums fit s32, and past the depth at which those of other zero points would.
TEST(QMatMul, DeepProductsOfTwoActivations) {
  for (s64 k : {20001, 65792, 65793}) {
    Probe probe = product_probe({2, k}, {k, 3}, 0, 128);
    expect_product_exact(probe, fmt::format("k {}", k));
    probe.inputs[0].tensor = random_u8({2, k}, 1, Codes::highest);
    probe.inputs[1].tensor = random_u8({k, 3}, 2, Codes::extremes);
    expect_product_exact(probe, fmt::format("k {}, extreme codes", k));
  }
  expect_product_exact(product_probe({1, 130000}, {130000, 2}, 128, 128), "k 130000");
}

TEST(QMatMul, BatchesBroadcast) {
  const Shape shapes[][2] = {
      {{2, 3, 5, 8}, {2, 3, 8, 9}}, {{2, 3, 5, 8}, {8, 9}}, {{2, 1, 5, 8}, {1, 3, 8, 9}},
      {{5, 8}, {4, 8, 9}},          {{8}, {2, 8, 9}},       {{2, 5, 8}, {8}}};
  for (const auto& [a, b] : shapes) {
    expect_product_exact(product_probe(a, b, 3, 250), to_string(a) + " by " + to_string(b));
  }
}

TEST(QMatMul, ZeroPointsOfTwoActivations) {
  for (s64 zero_a : {0, 1, 127, 128, 255}) {
    for (s64 zero_b : {0, 1, 127, 128, 255}) {
      Probe probe = product_probe({7, 40}, {40, 20}, zero_a, zero_b);
      expect_product_exact(probe, "any codes");
      probe.inputs[0].tensor = random_u8({7, 40}, 1, Codes::highest);
      probe.inputs[1].tensor = random_u8({40, 20}, 2, Codes::extremes);
      expect_product_exact(probe, "extreme codes");
    }
  }
}

// Heads that are read and written where they lie.
TEST(QMatMul, ReadsAndWritesThroughPermutations) {
  for (s64 head : {5, 16, 64, 70}) {
    for (s64 tokens : {3, 17, 66}) {
      const Shape x{2, tokens, 3, head};
      Probe scores = product_probe(x, x, 7, 250);
      scores.attrs.set("perm_a", std::vector<s64>{0, 2, 1, 3});
      scores.attrs.set("perm_b", std::vector<s64>{0, 2, 3, 1});
      expect_product_exact(scores, fmt::format("scores {} {}", head, tokens));
      Probe values = product_probe({2, 3, tokens, tokens + 1}, {2, tokens + 1, 3, head}, 7, 250);
      values.attrs.set("perm_b", std::vector<s64>{0, 2, 1, 3});
      values.attrs.set("perm_y", std::vector<s64>{0, 2, 1, 3});
      if (tokens > 3) expect_product_exact(values, fmt::format("values {} {}", head, tokens));
      values.attrs.set("output_dtype", std::string("f32"));
      if (tokens > 3) expect_product_exact(values, fmt::format("real values {} {}", head, tokens));
    }
  }
}

// What is an activation in the model may be a constant of the plan: positions of a length that the plan knows.
TEST(QMatMul, ConstantsInThePlaceOfAnActivation) {
  for (s64 zero_b : {-128, -3, 0, 127}) {
    Probe batch = product_probe({2, 3, 9, 40}, {1, 3, 40, 33}, 7, zero_b);
    batch.inputs[1] = constant(random_s8({1, 3, 40, 33}, 2));
    expect_product_exact(batch, fmt::format("a batch of matrices, zero point {}", zero_b));
  }
  for (s64 zero_b : {0, 9, 255}) {
    Probe matrix = product_probe({9, 40}, {40, 33}, 7, zero_b);
    matrix.inputs[1] = constant(random_u8({40, 33}, 2));
    expect_product_exact(matrix, fmt::format("u8, zero point {}", zero_b));
  }
  Probe turned = product_probe({9, 40}, {33, 40}, 7, 0);
  turned.inputs[1] = constant(random_s8({33, 40}, 2));
  turned.attrs.set("perm_b", std::vector<s64>{1, 0});
  expect_product_exact(turned, "turned");
}

// The product of turned operands, turned, is what Transpose and QMatMul give one after the other.
TEST(QMatMul, PermutationsMeanTranspose) {
  const Tensor a = random_u8({2, 5, 3, 8}, 1), b = random_u8({2, 6, 3, 8}, 2);
  const auto turned = [](const Tensor& tensor, const std::vector<s64>& perm) {
    Probe probe{.op = "Transpose", .inputs = {activation(tensor)}};
    probe.attrs.set("perm", perm);
    return probe.reference()[0];
  };
  const std::vector<s64> heads{0, 2, 1, 3}, columns{0, 2, 3, 1};
  Probe fused = product_probe(a.shape(), b.shape(), 7, 250);
  fused.attrs.set("perm_a", heads);
  fused.attrs.set("perm_b", columns);
  fused.attrs.set("perm_y", heads);
  const Tensor got = fused.reference()[0];
  const Tensor left = turned(a, heads), right = turned(b, columns);
  Probe plain = product_probe(left.shape(), right.shape(), 7, 250);
  plain.inputs[0].tensor = left;
  plain.inputs[1].tensor = right;
  const Tensor result = turned(plain.reference()[0], heads);
  ASSERT_EQ(got.type(), result.type());
  EXPECT_EQ(std::memcmp(got.data(), result.data(), got.bytes()), 0);
}

TEST(QMatMul, RejectsWithReasons) {
  EXPECT_EQ(run_guarded(product_probe({7, 3}, {3, 20}, 0, 0), lower_q_matmul, {}).reject,
            "the inner dimension is below 4");
  Probe batch = linear_probe({2, 3, 8}, 5, 0);
  batch.inputs[1] = constant(random_s8({2, 8, 5}, 2));
  EXPECT_EQ(run_guarded(batch, as_planned, {}).reject, "b is a batch of matrices");
  const Probe weights = linear_probe({2, 3, 8}, 5, 0);
  EXPECT_EQ(run_guarded(weights, lower_q_matmul, {}).reject, "b is constant weights");
  EXPECT_EQ(run_guarded(weights, lower_q_matmul_tiles, {}).reject, "b is constant weights");
  Probe product = product_probe({7, 8}, {8, 20}, 0, 0);
  product.isa = Isa::vnni;
  EXPECT_EQ(run_guarded(product, lower_q_matmul_tiles, {}).reject,
            "the instruction set has no matrix tiles");
  Probe columns = product_probe({7, 8}, {8, 20}, 0, 0);
  columns.attrs.set("perm_a", std::vector<s64>{1, 0});
  columns.inputs[0] = activation(random_u8({8, 7}, 1));
  columns.isa = Isa::vnni;
  EXPECT_EQ(run_guarded(columns, lower_q_matmul, {}).reject, "the rows of a are not dense");
  product.inputs.push_back(activation(random_u8({7, 20}, 1)));
  EXPECT_EQ(run_guarded(product, lower_q_matmul_tiles, {}).reject,
            "a sum with another value follows");
}

}  // namespace
}  // namespace octet
