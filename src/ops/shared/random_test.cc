// SPDX-License-Identifier: Apache-2.0
// Random operators: the same seed gives the same numbers, and the numbers have the moments that they should have.
#include "ops/shared/op_testing.h"

namespace octet::testing {
namespace {

struct Moments {
  f64 mean = 0.0, variance = 0.0;
};

Moments moments(const Tensor& tensor) {
  Moments m;
  const auto x = tensor.as<f32>();
  const f64 n = static_cast<f64>(x.size());
  for (f32 v : x) m.mean += static_cast<f64>(v) / n;
  for (f32 v : x) m.variance += (static_cast<f64>(v) - m.mean) * (static_cast<f64>(v) - m.mean) / n;
  return m;
}

OpCall call(std::string_view op, f32 seed) {
  OpCall made(op);
  made.ints("shape", {100, 1000}).attr("seed", seed);
  return made;
}

TEST(Random, SeedsDecide) {
  for (const char* op : {"RandomUniform", "RandomNormal"}) {
    const Tensor once = call(op, 3.0f).run(), again = call(op, 3.0f).run();
    const Tensor other = call(op, 4.0f).run();
    EXPECT_EQ(std::memcmp(once.data(), again.data(), once.bytes()), 0);
    EXPECT_NE(std::memcmp(once.data(), other.data(), once.bytes()), 0);
  }
}

// With 100000 numbers the bounds below are more than six standard errors wide.
TEST(Random, Moments) {
  const Moments uniform = moments(call("RandomUniform", 1.0f).attr("low", -1.0f).run());
  EXPECT_NEAR(uniform.mean, 0.0, 0.012);
  EXPECT_NEAR(uniform.variance, 1.0 / 3.0, 0.006);
  const Moments normal = moments(call("RandomNormal", 1.0f).attr("mean", 2.0f).run());
  EXPECT_NEAR(normal.mean, 2.0, 0.02);
  EXPECT_NEAR(normal.variance, 1.0, 0.03);
}

TEST(Random, BernoulliFollowsItsProbabilities) {
  Tensor p(Dtype::f32, Shape{3, 50000});
  for (size_t i = 0; i < 150000; ++i) p.mutable_as<f32>()[i] = static_cast<f32>(i / 50000) * 0.5f;
  const Tensor y = OpCall("Bernoulli").attr("dtype", std::string("bool")).in(p).run();
  std::vector<s64> ones(3, 0);
  for (size_t i = 0; i < 150000; ++i) ones[i / 50000] += y.as<bool>()[i] ? 1 : 0;
  EXPECT_EQ(ones[0], 0);
  EXPECT_NEAR(static_cast<f64>(ones[1]), 25000.0, 700.0);
  EXPECT_EQ(ones[2], 50000);
}

TEST(Random, Rejects) {
  EXPECT_NE(OpCall("RandomUniform").ints("shape", {-1}).error(), "");
  EXPECT_NE(OpCall("RandomNormal").ints("shape", {1}).attr("dtype", std::string("s32")).error(),
            "");
}

}  // namespace
}  // namespace octet::testing
