// SPDX-License-Identifier: Apache-2.0
// QMatMul on the device against the scalar reference.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cuda/lowerings.h"
#include "gpu_probe.h"

namespace octet {
namespace {

using cuda::lower_linear_mma;
using cuda::lower_matmul_mma;

f32 scale_for(s64 k) { return 1.0f / (80.0f * std::sqrt(static_cast<f32>(k))); }

Tensor codes(const Shape& shape, u64 seed, bool is_signed) {
  return is_signed ? random_s8(shape, seed) : random_u8(shape, seed);
}

void set_zero_points(Probe& probe, s64 zero_a, s64 zero_b) {
  probe.attrs.set("input_zero_points", std::vector<s64>{zero_a, zero_b});
  probe.attrs.set("output_zero_point", s64{120});
  probe.attrs.set("residual_multiplier", 0.25f);
}

Probe linear_probe(const Tensor& a, s64 n, s64 zero_point) {
  const s64 k = a.shape()[a.shape().rank() - 1];
  Probe probe{.op = "QMatMul"};
  probe.inputs = {activation(a), constant(random_s8({k, n}, 2)), constant(random_s32({n}, 3, 3000)),
                  constant(random_multipliers(n, 4, scale_for(k)))};
  set_zero_points(probe, zero_point, 0);
  return probe;
}

TEST(GpuLinear, EqualsTheReference) {
  NEEDS_GPU();
  struct Case {
    s64 rows, k, n;
  };
  for (const Case& c : {Case{1, 1, 1}, {2, 5, 10}, {7, 64, 16}, {13, 197, 65}, {130, 96, 130}}) {
    for (bool is_signed : {false, true}) {
      const Tensor a = codes({c.rows, c.k}, 1, is_signed);
      expect_exact_on_gpu(linear_probe(a, c.n, is_signed ? -3 : 128), lower_linear_mma,
                          fmt::format("{}x{}x{}", c.rows, c.k, c.n));
    }
  }
}

TEST(GpuLinear, RanksResidualTableAndRealOutputs) {
  NEEDS_GPU();
  for (const Shape& a : {Shape{24}, Shape{3, 5, 24}, Shape{2, 3, 2, 24}}) {
    Probe probe = linear_probe(random_u8(a, 1), 33, 7);
    const Shape output = probe.reference()[0].shape();
    probe.inputs.push_back(activation(random_s8(output, 5)));
    probe.attrs.set("input_zero_points", std::vector<s64>{7, 0, 0, 0, -9});
    expect_exact_on_gpu(probe, lower_linear_mma, "residual");
    Probe table = probe;
    table.inputs.push_back(constant(random_u8({256}, 6)));
    expect_exact_on_gpu(table, lower_linear_mma, "table");
    for (const test::Lines lines : test::kEveryLines)
      expect_exact_on_gpu(with_lines(table, lines), lower_linear_mma, "lines");
    probe.attrs.set("output_dtype", std::string("f32"));
    probe.attrs.set("activation", std::string("relu"));
    expect_exact_on_gpu(probe, lower_linear_mma, "f32");
  }
}

Probe with_addend(Probe probe, const ProbeInput& addend) {
  probe.inputs.resize(6);
  probe.inputs.push_back(addend);
  probe.attrs.set("input_zero_points", std::vector<s64>{7, 0, 0, 0, 0, 0, 99});
  probe.attrs.set("sum_multipliers", std::vector<f32>{0.7f, 0.4f});
  probe.attrs.set("sum_own_zero_point", s64{120});
  probe.attrs.set("sum_zero_point", s64{11});
  return probe;
}

TEST(GpuLinear, Addends) {
  NEEDS_GPU();
  const Probe probe = linear_probe(random_u8({5, 40}, 1), 48, 7);
  expect_exact_on_gpu(with_addend(probe, activation(random_u8({5, 48}, 5))), lower_linear_mma,
                      "addend");
  expect_exact_on_gpu(with_addend(probe, constant(random_u8({48}, 5))), lower_linear_mma, "row");
}

TEST(GpuLinear, SaysWhyNot) {
  NEEDS_GPU();
  Probe probe = linear_probe(random_u8({2, 8}, 1), 8, 0);
  probe.inputs[1].constant = false;
  EXPECT_EQ(run_on_gpu(probe, lower_linear_mma).reject, "b is not constant s8");
}

struct Signs {
  bool a, b;
};
constexpr Signs kSigns[] = {{false, false}, {false, true}, {true, false}, {true, true}};

Probe product_probe(const Shape& a, const Shape& b, const Signs& s, s64 k) {
  Probe probe{.op = "QMatMul"};
  probe.inputs = {activation(codes(a, 1, s.a)), activation(codes(b, 2, s.b)), omitted(),
                  constant(random_multipliers(1, 4, scale_for(k)))};
  set_zero_points(probe, s.a ? -5 : 131, s.b ? 9 : 120);
  return probe;
}

TEST(GpuMatMul, SizesAndSigns) {
  NEEDS_GPU();
  struct Case {
    s64 m, k, n;
  };
  for (const Case& c : {Case{1, 1, 1},
                        {3, 5, 7},
                        {16, 64, 16},
                        {17, 65, 31},
                        {65, 128, 66},
                        {129, 36, 132},
                        {40, 300, 20}}) {
    for (const Signs& s : kSigns) {
      expect_exact_on_gpu(product_probe({2, c.m, c.k}, {2, c.k, c.n}, s, c.k), lower_matmul_mma,
                          fmt::format("{}x{}x{} signs {}{}", c.m, c.k, c.n, s.a, s.b));
    }
  }
}

TEST(GpuMatMul, NoZeroPoints) {
  NEEDS_GPU();
  for (const Signs& s : kSigns) {
    Probe probe = product_probe({33, 70}, {70, 40}, s, 70);
    set_zero_points(probe, 0, 0);
    expect_exact_on_gpu(probe, lower_matmul_mma, "no zero points");
  }
}

// Heads of attention as they lie in [batch, tokens, heads, size], every way that a pass may turn them.
TEST(GpuMatMul, Permutations) {
  NEEDS_GPU();
  using Axes = std::vector<s64>;
  for (const Signs& s : kSigns) {
    Probe scores = product_probe({2, 20, 3, 36}, {2, 17, 3, 36}, s, 36);
    scores.attrs.set("perm_a", Axes{0, 2, 1, 3});
    scores.attrs.set("perm_b", Axes{0, 2, 3, 1});
    expect_exact_on_gpu(scores, lower_matmul_mma, "queries by keys");
    scores.attrs.set("output_dtype", std::string("f32"));
    expect_exact_on_gpu(scores, lower_matmul_mma, "real scores");
    Probe context = product_probe({2, 3, 20, 17}, {2, 17, 3, 36}, s, 17);
    context.attrs.set("perm_b", Axes{0, 2, 1, 3});
    context.attrs.set("perm_y", Axes{0, 2, 1, 3});
    expect_exact_on_gpu(context, lower_matmul_mma, "scores by values");
    Probe columns = product_probe({24, 20}, {24, 28}, s, 24);
    columns.attrs.set("perm_a", Axes{1, 0});
    columns.attrs.set("perm_y", Axes{1, 0});
    expect_exact_on_gpu(columns, lower_matmul_mma, "a and y by columns");
  }
}

TEST(GpuMatMul, BatchesAreBroadcastAndVectors) {
  NEEDS_GPU();
  const Signs s{false, true};
  expect_exact_on_gpu(product_probe({4, 1, 9, 24}, {3, 24, 10}, s, 24), lower_matmul_mma, "both");
  expect_exact_on_gpu(product_probe({24}, {3, 24, 10}, s, 24), lower_matmul_mma, "a vector");
  expect_exact_on_gpu(product_probe({3, 9, 24}, {24}, s, 24), lower_matmul_mma, "by a vector");
}

TEST(GpuMatMul, BiasResidualTableAddend) {
  NEEDS_GPU();
  for (const Signs& s : kSigns) {
    Probe probe = product_probe({2, 18, 40}, {2, 40, 48}, s, 40);
    probe.inputs[2] = constant(random_s32({48}, 3, 3000));
    probe.inputs[3] = constant(random_multipliers(48, 4, scale_for(40)));
    probe.inputs.push_back(activation(random_u8({2, 18, 48}, 5)));
    expect_exact_on_gpu(probe, lower_matmul_mma, "residual");
    probe.inputs.push_back(constant(random_u8({256}, 6)));
    expect_exact_on_gpu(probe, lower_matmul_mma, "table");
    for (const test::Lines lines : test::kEveryLines)
      expect_exact_on_gpu(with_lines(probe, lines), lower_matmul_mma, "lines");
    Probe sum = product_probe({2, 18, 40}, {2, 40, 48}, {}, 40);
    expect_exact_on_gpu(with_addend(sum, activation(random_u8({2, 18, 48}, 5))), lower_matmul_mma,
                        "addend");
    expect_exact_on_gpu(with_addend(sum, constant(random_u8({48}, 5))), lower_matmul_mma, "row");
  }
}

// The largest sums that there are: 255 * 255 * k, near 2^31.
TEST(GpuMatMul, LargestSums) {
  NEEDS_GPU();
  Probe probe = product_probe({1, 33000}, {33000, 1}, {}, 33000);
  probe.inputs[0] = activation(random_u8({1, 33000}, 1, Codes::highest));
  probe.inputs[1] = activation(random_u8({33000, 1}, 1, Codes::highest));
  probe.inputs[3] = constant(random_multipliers(1, 4, 1e-7f));
  set_zero_points(probe, 0, 0);
  expect_exact_on_gpu(probe, lower_matmul_mma, "largest sums");
}

}  // namespace
}  // namespace octet
