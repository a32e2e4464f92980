// SPDX-License-Identifier: Apache-2.0
// Softmax and the normalizations against doubles, and their fixed order of operations against lane sums.
#include <gtest/gtest.h>

#include <cmath>

#include "core/math.h"
#include "core/reduce.h"
#include "ops/shared/op_testing.h"

namespace octet {
namespace {

using testing::OpCall;
using testing::Random;
using testing::tensor;
using testing::values_of;

// The tolerance of the ONNX node tests: rtol 1e-3, atol 1e-7, with cancellation around the mean scaled to the data.
void expect_close(f32 got, f64 expected, f64 magnitude = 0.0) {
  EXPECT_LE(std::fabs(f64{got} - expected), 1e-7 + 1e-3 * std::fabs(expected) + 1e-6 * magnitude);
}

struct Stats {
  f64 mean = 0, variance = 0;
};

Stats stats(std::span<const f32> x) {
  Stats s;
  for (f32 v : x) s.mean += v;
  s.mean /= static_cast<f64>(x.size());
  for (f32 v : x) s.variance += (v - s.mean) * (v - s.mean);
  s.variance /= static_cast<f64>(x.size());
  return s;
}

TEST(Softmax, LastAxisIsExactlyTheDocumentedSequence) {
  Random random(1);
  for (s64 n : {1, 5, 16, 17, 100}) {
    const Tensor x = random.reals(Shape{3, n}, -8.0f, 8.0f);
    const Tensor y = OpCall("Softmax").in(x).run();
    for (s64 row = 0; row < 3; ++row) {
      const auto in = x.as<f32>().subspan(static_cast<size_t>(row * n), static_cast<size_t>(n));
      const f32 max = lane_max(in);
      std::vector<f32> e;
      for (f32 v : in) e.push_back(math_exp(v - max));
      const f32 sum = lane_sum(e);
      for (s64 i = 0; i < n; ++i) {
        EXPECT_EQ(y.as<f32>()[static_cast<size_t>(row * n + i)], e[static_cast<size_t>(i)] / sum);
      }
    }
  }
}

TEST(Softmax, AnyAxisAgreesWithDoubles) {
  Random random(2);
  const Tensor x = random.reals(Shape{2, 3, 4}, -50.0f, 50.0f);
  const s64 dims[] = {2, 3, 4}, inner[] = {12, 4, 1};
  for (s64 axis = 0; axis < 3; ++axis) {
    const Tensor y = OpCall("Softmax").in(x).attr("axis", axis - 3).run();
    const Tensor log_y = OpCall("LogSoftmax").in(x).attr("axis", axis).run();
    for (s64 i = 0; i < 24; ++i) {
      const s64 first = i - i / inner[axis] % dims[axis] * inner[axis];
      f64 sum = 0;
      for (s64 k = 0; k < dims[axis]; ++k) {
        sum += std::exp(f64{x.as<f32>()[static_cast<size_t>(first + k * inner[axis])]});
      }
      const f64 own = f64{x.as<f32>()[static_cast<size_t>(i)]};
      expect_close(y.as<f32>()[static_cast<size_t>(i)], std::exp(own) / sum);
      expect_close(log_y.as<f32>()[static_cast<size_t>(i)], own - std::log(sum), 50.0);
    }
  }
}

TEST(Softmax, FlattenIsTheMeaningBeforeOpset13) {
  const auto parsed = testing::parse("Softmax", 11, {Tensor()});
  EXPECT_EQ(parsed.node.attrs.i("axis"), 1);
  EXPECT_EQ(parsed.node.attrs.i("flatten"), 1);
  EXPECT_FALSE(testing::parse("Softmax", 13, {Tensor()}).node.attrs.has("flatten"));
  Random random(3);
  const Tensor x = random.reals(Shape{2, 3, 4}, -2.0f, 2.0f);
  const Tensor y = OpCall("Softmax").in(x).attr("axis", s64{1}).attr("flatten", s64{1}).run();
  const Tensor rows = OpCall("Softmax").in(x.reshaped(Shape{2, 12})).run();
  EXPECT_EQ(values_of<f32>(y), values_of<f32>(rows));
}

TEST(Softmax, Errors) {
  const Tensor x(Dtype::f32, Shape{2, 3});
  EXPECT_NE(OpCall("Softmax").in(x).attr("axis", s64{2}).error(), "");
  EXPECT_NE(OpCall("Softmax").in(x).attr("axis", s64{-3}).error(), "");
  EXPECT_NE(OpCall("Softmax").in(Tensor(Dtype::s32, Shape{2})).error(), "");
  EXPECT_EQ(OpCall("Softmax").in(Tensor(Dtype::f32, Shape{0, 3})).run().elements(), 0);
}

TEST(LayerNormalization, AgreesWithDoubles) {
  Random random(4);
  const Tensor x = random.reals(Shape{4, 3, 25}, -3.0f, 5.0f);
  const Tensor scale = random.reals(Shape{3, 25}, -1.0f, 2.0f),
               bias = random.reals(Shape{3, 25}, -1.0f, 1.0f);
  const auto outputs = OpCall("LayerNormalization")
                           .in(x)
                           .in(scale)
                           .in(bias)
                           .attr("axis", s64{1})
                           .attr("epsilon", 1e-3f)
                           .outputs(3)
                           .run_all();
  ASSERT_EQ(outputs.size(), 3u);
  EXPECT_EQ(outputs[1].shape(), (Shape{4, 1, 1}));
  for (size_t row = 0; row < 4; ++row) {
    const auto in = x.as<f32>().subspan(row * 75, 75);
    const Stats s = stats(in);
    const f64 inverse = 1 / std::sqrt(s.variance + f64{1e-3f});
    expect_close(outputs[1].as<f32>()[row], s.mean, 5.0);
    expect_close(outputs[2].as<f32>()[row], inverse);
    for (size_t i = 0; i < 75; ++i) {
      expect_close(outputs[0].as<f32>()[row * 75 + i],
                   (in[i] - s.mean) * inverse * scale.as<f32>()[i] + bias.as<f32>()[i], 5.0);
    }
  }
}

TEST(RMSNormalization, AgreesWithDoubles) {
  Random random(5);
  const Tensor x = random.reals(Shape{3, 40}, -3.0f, 5.0f),
               scale = random.reals(Shape{40}, -1.0f, 2.0f);
  const Tensor y = OpCall("RMSNormalization").in(x).in(scale).run();
  for (size_t i = 0; i < 120; ++i) {
    f64 squares = 0;
    for (size_t k = 0; k < 40; ++k) squares += std::pow(f64{x.as<f32>()[i / 40 * 40 + k]}, 2);
    const f64 inverse = 1 / std::sqrt(squares / 40 + f64{1e-5f});
    expect_close(y.as<f32>()[i], x.as<f32>()[i] * inverse * scale.as<f32>()[i % 40]);
  }
}

TEST(InstanceAndGroupNormalization, AgreeWithDoubles) {
  Random random(6);
  const Tensor x = random.reals(Shape{2, 6, 3, 7}, -3.0f, 5.0f);
  const Tensor scale = random.reals(Shape{6}, -1.0f, 2.0f),
               bias = random.reals(Shape{6}, -1.0f, 1.0f);
  const auto check = [&](const Tensor& y, size_t channels_per_group) {
    const size_t count = channels_per_group * 21;
    for (size_t i = 0; i < 252; ++i) {
      const Stats s = stats(x.as<f32>().subspan(i / count * count, count));
      const size_t c = i / 21 % 6;
      expect_close(
          y.as<f32>()[i],
          (x.as<f32>()[i] - s.mean) / std::sqrt(s.variance + f64{1e-5f}) * scale.as<f32>()[c] +
              bias.as<f32>()[c],
          5.0);
    }
  };
  check(OpCall("InstanceNormalization").in(x).in(scale).in(bias).run(), 1);
  check(OpCall("GroupNormalization").in(x).in(scale).in(bias).attr("num_groups", s64{2}).run(), 3);
}

TEST(GroupNormalization, ScalePerGroupOfOpset18) {
  Random random(7);
  const Tensor x = random.reals(Shape{1, 4, 5}, -3.0f, 5.0f);
  const Tensor per_group = tensor<f32>(Shape{2}, {2, 3}),
               per_channel = tensor<f32>(Shape{4}, {2, 2, 3, 3});
  const auto run = [&](const Tensor& scale, const Tensor& bias) {
    return values_of<f32>(
        OpCall("GroupNormalization").in(x).in(scale).in(bias).attr("num_groups", s64{2}).run());
  };
  EXPECT_EQ(run(per_group, per_group), run(per_channel, per_channel));
}

TEST(BatchNormalization, ByHandAndErrors) {
  const Tensor x = tensor<f32>(Shape{1, 2, 2}, {1, 2, 3, 4});
  const Tensor scale = tensor<f32>(Shape{2}, {2, 3}), bias = tensor<f32>(Shape{2}, {10, 20});
  const Tensor mean = tensor<f32>(Shape{2}, {1, 2}), variance = tensor<f32>(Shape{2}, {4, 0.25f});
  OpCall call("BatchNormalization");
  call.in(x).in(scale).in(bias).in(mean).in(variance).attr("epsilon", 0.0f);
  EXPECT_EQ(values_of<f32>(call.run()), (std::vector<f32>{10, 11, 26, 32}));
  EXPECT_NE(OpCall("BatchNormalization")
                .in(x)
                .in(scale)
                .in(bias)
                .in(mean)
                .in(Tensor(Dtype::f32, Shape{3}))
                .error(),
            "");
  EXPECT_THROW(testing::parse("BatchNormalization", 13, {}, {{"training_mode", s64{1}}}), Error);
  EXPECT_EQ(testing::parse("BatchNormalization", 15, {}, {{"training_mode", s64{1}}}).node.op->name,
            "BatchStatisticsNormalization");
  // Before opset 14 five outputs say that it trains.
  const testing::Parsed trains = testing::parse("BatchNormalization", 13, {}, {}, 5);
  EXPECT_EQ(trains.node.op->name, "BatchStatisticsNormalization");
  EXPECT_EQ(trains.node.outputs.size(), 5);
  EXPECT_THROW(testing::parse("BatchNormalization", 6, {}, {{"is_test", s64{1}}}, 5), Error);
  EXPECT_THROW(testing::parse("BatchNormalization", 13, {}, {}, 2), Error);
  EXPECT_THROW(testing::parse("BatchNormalization", 15, {}, {}, 5), Error);
}

TEST(LRN, AgreesWithDoubles) {
  Random random(8);
  const Tensor x = random.reals(Shape{2, 7, 3}, -3.0f, 3.0f);
  const Tensor y = OpCall("LRN")
                       .in(x)
                       .attr("size", s64{4})
                       .attr("alpha", 0.5f)
                       .attr("beta", 0.6f)
                       .attr("bias", 2.0f)
                       .run();
  for (s64 i = 0; i < 42; ++i) {
    const s64 c = i / 3 % 7;
    f64 squares = 0;
    for (s64 k = std::max<s64>(0, c - 1); k <= std::min<s64>(6, c + 2); ++k) {
      squares += std::pow(f64{x.as<f32>()[static_cast<size_t>(i + (k - c) * 3)]}, 2);
    }
    expect_close(y.as<f32>()[static_cast<size_t>(i)],
                 x.as<f32>()[static_cast<size_t>(i)] / std::pow(2 + 0.5 / 4 * squares, f64{0.6f}));
  }
}

TEST(NormalizationErrors, ShapesMustFit) {
  const Tensor x(Dtype::f32, Shape{2, 6, 4}), six(Dtype::f32, Shape{6}), five(Dtype::f32, Shape{5});
  EXPECT_NE(OpCall("LayerNormalization").in(x).in(five).error(), "");
  EXPECT_NE(OpCall("LayerNormalization").in(x).in(five).attr("axis", s64{3}).error(), "");
  EXPECT_NE(OpCall("RMSNormalization").in(x).in(five).error(), "");
  EXPECT_NE(OpCall("InstanceNormalization").in(x).in(six).in(five).error(), "");
  EXPECT_NE(OpCall("GroupNormalization").in(x).in(six).in(six).attr("num_groups", s64{0}).error(),
            "");
  EXPECT_NE(OpCall("GroupNormalization").in(x).in(six).in(six).attr("num_groups", s64{4}).error(),
            "");
  EXPECT_NE(OpCall("GroupNormalization").in(x).in(six).in(six).error(), "");
  EXPECT_NE(OpCall("LRN").in(x).attr("size", s64{0}).error(), "");
}

}  // namespace
}  // namespace octet
