// SPDX-License-Identifier: Apache-2.0
// TopK on the device against the scalar reference: rows shorter and longer than what is sorted at once, equal values, NaN, any axis.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "backends/cuda/lowerings.h"
#include "gpu_probe.h"

namespace octet {
namespace {

// `different` values, and what is odd.
Tensor values(const Shape& shape, u32 different, u32 seed) {
  std::mt19937 random(seed);
  const f32 inf = std::numeric_limits<f32>::infinity(), nan = std::numeric_limits<f32>::quiet_NaN();
  const f32 odd[] = {0.0f, -0.0f, inf, -inf, nan, -nan};
  Tensor x(Dtype::f32, shape);
  for (f32& v : x.mutable_as<f32>()) {
    v = (static_cast<f32>(random() % different) - static_cast<f32>(different / 2)) * 0.37f;
    if (random() % 30 == 0) v = odd[random() % std::size(odd)];
  }
  return x;
}

Probe top_k(Tensor x, s64 k, s64 axis, bool largest) {
  Probe probe{.op = "TopK", .inputs = {activation(std::move(x))}, .outputs = 2};
  probe.inputs.push_back(constant(Tensor::of<s64>(Shape{1}, std::vector<s64>{k})));
  probe.attrs.set("axis", axis);
  probe.attrs.set("largest", s64{largest});
  return probe;
}

TEST(GpuTopK, RowsOfAllLengths) {
  NEEDS_GPU();
  struct Rows {
    s64 rows, count, k;
  };
  const Rows all[] = {{5, 1, 1},       {3, 2, 1},      {4, 63, 63},   {4, 64, 5},
                      {4, 65, 33},     {2, 100, 100},  {2, 1000, 10}, {2, 2048, 2048},
                      {2, 2049, 1024}, {1, 8400, 300}, {1, 3072, 1},  {1, 3073, 700}};
  for (const Rows& r : all) {
    for (bool largest : {false, true}) {
      for (u32 different : {5u, 1000000u}) {
        const Tensor x = values({r.rows, r.count}, different, 7);
        expect_exact_on_gpu(top_k(x, r.k, -1, largest), cuda::lower_top_k,
                            fmt::format("{} of {}{}", r.k, r.count, largest ? "" : ", smallest"));
      }
    }
  }
}

// The chunks behind the first bring nothing, or all.
TEST(GpuTopK, SortedRows) {
  NEEDS_GPU();
  for (const f32 step : {1.0f, -1.0f}) {
    Tensor x(Dtype::f32, {1, 7000});
    f32 next = 0;
    for (f32& v : x.mutable_as<f32>()) v = next += step;
    for (bool largest : {false, true})
      expect_exact_on_gpu(top_k(x, 77, 1, largest), cuda::lower_top_k, "sorted");
  }
}

TEST(GpuTopK, AnyAxis) {
  NEEDS_GPU();
  for (s64 axis : {0, 1, 2, 3}) {
    for (Layout layout : {Layout::linear, Layout::nhwc}) {
      Probe probe = top_k(values({3, 12, 5, 7}, 20, 3), 3, axis, true);
      probe.inputs[0].layout = layout;
      expect_exact_on_gpu(probe, cuda::lower_top_k, fmt::format("axis {}", axis));
    }
  }
}

TEST(GpuTopK, SaysWhyNot) {
  NEEDS_GPU();
  const auto why = [](const Probe& probe) { return run_on_gpu(probe, cuda::lower_top_k).reject; };
  EXPECT_EQ(why(top_k(values({1, 2049}, 9, 1), 1025, 1, true)), "more than 1024 are taken");
  EXPECT_EQ(why(top_k(values({1, (1 << 18) + 1}, 9, 1), 1, 1, true)),
            "a row has more than 2^18 elements");
  EXPECT_EQ(why(top_k(Tensor(Dtype::s32, {4, 4}), 1, 1, true)), "the input is not f32");
}

}  // namespace
}  // namespace octet
