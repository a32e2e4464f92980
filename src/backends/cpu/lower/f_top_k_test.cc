// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "backends/cpu/lower/lowerings.h"
#include "backends/cpu/lower/probe.h"

namespace octet {
namespace {

// `levels`: how many different numbers there are, zeros of both signs among them.
Tensor values_of(const Shape& shape, s64 levels, bool specials) {
  Tensor tensor(Dtype::f32, shape);
  u32 seed = 7;
  s64 at = 0;
  for (f32& x : tensor.mutable_as<f32>()) {
    seed = seed * 1664525 + 1013904223;
    x = static_cast<f32>(static_cast<s64>(seed >> 8) % levels - levels / 2);
    if (x == 0.0f && at % 2 == 0) x = -0.0f;
    if (specials && at % 37 == 5) x = std::numeric_limits<f32>::quiet_NaN();
    if (specials && at % 41 == 7) x = -std::numeric_limits<f32>::infinity();
    if (specials && at % 43 == 9) x = std::numeric_limits<f32>::infinity();
    ++at;
  }
  return tensor;
}

void expect_reference(const Tensor& x, s64 k, s64 axis, s64 largest) {
  Probe probe{.op = "TopK",
              .inputs = {{x}, {Tensor::of<s64>(Shape{1}, std::vector<s64>{k}), true}},
              .outputs = 2};
  probe.attrs.set("axis", axis);
  probe.attrs.set("largest", largest);
  const std::vector<Tensor> want = probe.reference();
  for (const int threads : {1, 3}) {
    probe.threads = threads;
    const ProbeResult result = run_probe(probe, lower_f_top_k);
    ASSERT_EQ(result.reject, "");
    for (const size_t i : {size_t{0}, size_t{1}}) {
      ASSERT_EQ(result.outputs[i].shape(), want[i].shape());
      ASSERT_EQ(std::memcmp(result.outputs[i].data(), want[i].data(), want[i].bytes()), 0)
          << "output " << i << ", k " << k << " of " << to_string(x.shape()) << ", axis " << axis;
    }
  }
}

TEST(FloatTopK, EqualsTheReference) {
  for (const s64 levels : {1, 5, 1 << 20}) {
    for (const bool specials : {false, true}) {
      for (const s64 largest : {0, 1}) {
        const Tensor cube = values_of(Shape{3, 70, 11}, levels, specials);
        for (const s64 k : {1, 7, 70}) expect_reference(cube, k, 1, largest);
        expect_reference(cube, 3, 0, largest);
        expect_reference(cube, 11, -1, largest);
        // More than is kept at once.
        const Tensor lines = values_of(Shape{2, 20000}, levels, specials);
        for (const s64 k : {1, 300, 19999, 20000}) expect_reference(lines, k, 1, largest);
        expect_reference(values_of(Shape{5000}, levels, specials), 100, 0, largest);
      }
    }
  }
}

// Each element is better than all before: all are kept for a while.
TEST(FloatTopK, OfNumbersInOrder) {
  Tensor up(Dtype::f32, Shape{30000}), down(Dtype::f32, Shape{30000});
  for (size_t i = 0; i < 30000; ++i) {
    up.mutable_as<f32>()[i] = static_cast<f32>(i);
    down.mutable_as<f32>()[i] = -static_cast<f32>(i);
  }
  for (const s64 largest : {0, 1}) {
    expect_reference(up, 50, 0, largest);
    expect_reference(down, 50, 0, largest);
  }
}

}  // namespace
}  // namespace octet
