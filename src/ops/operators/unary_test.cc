// SPDX-License-Identifier: Apache-2.0
// Elementwise operators of one input, and Cast.
#include <cmath>
#include <limits>

#include "core/math.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/testing.h"

namespace octet::testing {
namespace {

constexpr f32 kInf = std::numeric_limits<f32>::infinity();
constexpr f32 kNan = std::numeric_limits<f32>::quiet_NaN();

TEST(Unary, SimpleFloatFunctions) {
  const Tensor x = floats({6}, {-2.5f, -0.5f, 0.5f, 1.5f, 4, 2.25f});
  expect_tensor<f32>(run("Abs", {x}), {6}, {2.5f, 0.5f, 0.5f, 1.5f, 4, 2.25f});
  expect_tensor<f32>(run("Neg", {x}), {6}, {2.5f, 0.5f, -0.5f, -1.5f, -4, -2.25f});
  expect_tensor<f32>(run("Floor", {x}), {6}, {-3, -1, 0, 1, 4, 2});
  expect_tensor<f32>(run("Ceil", {x}), {6}, {-2, -0.0f, 1, 2, 4, 3});
  expect_tensor<f32>(run("Round", {x}), {6}, {-2, -0.0f, 0, 2, 4, 2});
  expect_tensor<f32>(run("Sign", {x}), {6}, {-1, -1, 1, 1, 1, 1});
  expect_tensor<f32>(run("Sqrt", {floats({3}, {4, 2.25f, 0})}), {3}, {2, 1.5f, 0});
  expect_tensor<f32>(run("Reciprocal", {floats({3}, {4, -0.5f, 0})}), {3}, {0.25f, -2, kInf});
  EXPECT_TRUE(std::signbit(run("Neg", {floats({1}, {0})}).as<f32>()[0]));
  EXPECT_TRUE(std::isnan(run("Sign", {floats({1}, {kNan})}).as<f32>()[0]));
}

// docs/numerics.md, section 8.
TEST(Unary, NanPasses) {
  for (const char* op : {"Relu", "Celu", "Elu", "HardSigmoid", "HardSwish", "LeakyRelu", "Mish",
                         "Selu", "Sigmoid", "Softplus", "Tanh", "Clip"})
    EXPECT_TRUE(std::isnan(run(op, {floats({1}, {kNan})}).as<f32>()[0])) << op;
  const Tensor low = floats({}, {-1}), high = floats({}, {1}), nan = floats({}, {kNan});
  EXPECT_TRUE(std::isnan(run("Clip", {floats({1}, {kNan}), low, high}).as<f32>()[0]));
  // Of a bound that a run computes.
  EXPECT_TRUE(std::isnan(run("Clip", {floats({1}, {3}), nan, high}).as<f32>()[0]));
  EXPECT_TRUE(std::isnan(run("Clip", {floats({1}, {3}), low, nan}).as<f32>()[0]));
  expect_tensor<f32>(run("ThresholdedRelu", {floats({1}, {kNan})}), {1}, {0});
  expect_tensor<f32>(run("Shrink", {floats({1}, {kNan})}), {1}, {0});
  expect_tensor<f32>(run("Relu", {floats({4}, {-kInf, kInf, -2, 2})}), {4}, {0, kInf, 0, 2});
  expect_tensor<f32>(run("Hardmax", {floats({1, 3}, {1, kNan, 5})}), {1, 3}, {0, 1, 0});
}

TEST(Unary, FloatAttributesHaveADomain) {
  const Tensor x = floats({1, 2}, {1, 2});
  EXPECT_EQ(error_of("Elu", {x}, {{"alpha", kNan}}),
            "attribute 'alpha' is NaN, expected a finite number");
  EXPECT_EQ(error_of("LeakyRelu", {x}, {{"alpha", kInf}}),
            "attribute 'alpha' is inf, expected a finite number");
  EXPECT_EQ(error_of("Celu", {x}, {{"alpha", 0.0f}}),
            "attribute 'alpha' is 0, expected a finite number other than 0");
  for (const char* op : {"LayerNormalization", "RMSNormalization"})
    EXPECT_EQ(error_of(op, {x, floats({2}, {1, 1})}, {{"epsilon", -1.0f}}),
              "attribute 'epsilon' is -1, expected a finite number from 0 on")
        << op;
  EXPECT_EQ(run("LayerNormalization", {x, floats({2}, {1, 1})}, {{"epsilon", 0.0f}}).shape(),
            (Shape{1, 2}));
  const std::vector<f32> list = {1.0f, kNan};
  EXPECT_EQ(error_of("Relu", {x}, {{"unknown", list}}),
            "element 1 of attribute 'unknown' is NaN, expected a finite number");
}

TEST(Unary, IntegersAtTheirEnds) {
  expect_tensor<s8>(run("Abs", {tensor<s8>({3}, {-128, -5, 5})}), {3}, {-128, 5, 5});
  expect_tensor<s64>(run("Neg", {ints({std::numeric_limits<s64>::min(), 3})}), {2},
                     {std::numeric_limits<s64>::min(), -3});
  expect_tensor<u8>(run("Sign", {tensor<u8>({2}, {0, 200})}), {2}, {0, 1});
  expect_tensor<s32>(run("Sign", {tensor<s32>({3}, {-7, 0, 7})}), {3}, {-1, 0, 1});
  EXPECT_EQ(error_of("Neg", {tensor<u8>({1}, {1})}),
            "input 0 has type u8, expected a signed number");
  EXPECT_EQ(error_of("Sqrt", {ints({4})}), "input 0 has type s64, expected a float type");
  EXPECT_EQ(error_of("Abs", {bools({1}, {true})}), "input 0 has type bool, expected a number");
}

TEST(Unary, TranscendentalsUseTheProjectsPolynomials) {
  const std::vector<f32> x = {0.0f, 0.5f, 1.0f, 2.5f, 80.0f};
  const auto exps = values_of<f32>(run("Exp", {floats({5}, x)}));
  const auto logs = values_of<f32>(run("Log", {floats({5}, x)}));
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(exps[i], math_exp(x[i]));
    EXPECT_EQ(logs[i], math_log(x[i]));
  }
  EXPECT_EQ(run("Exp", {tensor<f64>({1}, {1.0})}).as<f64>()[0], std::exp(1.0));
  EXPECT_EQ(run("Sin", {floats({1}, {1})}).as<f32>()[0], static_cast<f32>(std::sin(1.0)));
  EXPECT_EQ(run("Cos", {floats({1}, {1})}).as<f32>()[0], static_cast<f32>(std::cos(1.0)));
}

TEST(Cast, RealToIntegerTruncatesAndSaturates) {
  const Tensor x = floats({7}, {-1.9f, 1.9f, 300, -300, kNan, kInf, -kInf});
  expect_tensor<s8>(run("Cast", {x}, {{"to", "s8"}}), {7}, {-1, 1, 127, -128, 0, 127, -128});
  expect_tensor<u8>(run("Cast", {x}, {{"to", "u8"}}), {7}, {0, 1, 255, 0, 0, 255, 0});
  const s64 most = std::numeric_limits<s64>::max();
  const s64 least = std::numeric_limits<s64>::min();
  expect_tensor<s64>(
      run("Cast", {floats({4}, {0x1p63f, -0x1p63f, 0x1p62f, 3e30f})}, {{"to", "s64"}}), {4},
      {most, least, s64{1} << 62, most});
  expect_tensor<s32>(
      run("Cast", {tensor<f64>({2}, {2147483647.5, -2147483648.5})}, {{"to", "s32"}}), {2},
      {std::numeric_limits<s32>::max(), std::numeric_limits<s32>::min()});
}

TEST(Cast, IntegersKeepTheLowBits) {
  expect_tensor<u8>(run("Cast", {ints({-1, 257, 128})}, {{"to", "u8"}}), {3}, {255, 1, 128});
  expect_tensor<s8>(run("Cast", {ints({200})}, {{"to", "s8"}}), {1}, {-56});
  expect_tensor<s32>(run("Cast", {ints({s64{1} << 40 | 5})}, {{"to", "s32"}}), {1}, {5});
}

TEST(Cast, Bools) {
  EXPECT_EQ(values_of<bool>(run("Cast", {floats({4}, {0, -0.0f, 0.1f, kNan})}, {{"to", "bool"}})),
            (std::vector<bool>{0, 0, 1, 1}));
  expect_tensor<f32>(run("Cast", {bools({2}, {true, false})}, {{"to", "f32"}}), {2}, {1, 0});
}

TEST(Cast, SixteenBitFloatsRoundOnce) {
  // Just above the middle of 1 and its f16 successor: by way of f32 it would fall on the tie, and to even.
  const f64 x = 1.0 + 0x1p-11 + 0x1p-40;
  const Tensor half = run("Cast", {tensor<f64>({2}, {x, 1e9})}, {{"to", "f16"}});
  EXPECT_EQ(static_cast<f32>(half.as<f16>()[0]), 1.0f + 0x1p-10f);
  EXPECT_EQ(static_cast<f32>(half.as<f16>()[1]), kInf);
  const f64 y = 1.0 + 0x1p-8 + 0x1p-40;
  const Tensor brain = run("Cast", {tensor<f64>({1}, {y})}, {{"to", "bf16"}});
  EXPECT_EQ(static_cast<f32>(brain.as<bf16>()[0]), 1.0f + 0x1p-7f);
  expect_tensor<s32>(run("Cast", {half}, {{"to", "s32"}}), {2},
                     {1, std::numeric_limits<s32>::max()});
}

// Each ordered pair of types keeps 0 and 1.
TEST(Cast, EveryPairOfTypes) {
  const std::vector<std::string> names = {"f32", "f16", "bf16", "f64", "s8",  "u8",  "s16",
                                          "u16", "s32", "u32",  "s64", "u64", "bool"};
  const Tensor source = floats({2}, {0, 1});
  for (const std::string& from : names) {
    const Tensor x = run("Cast", {source}, {{"to", from}});
    for (const std::string& to : names) {
      const Tensor y = run("Cast", {x}, {{"to", to}});
      EXPECT_EQ(dtype_name(y.dtype()), to);
      expect_tensor<f32>(run("Cast", {y}, {{"to", "f32"}}), {2}, {0, 1});
    }
  }
}

TEST(Cast, ParseMapsOnnxNumbersAndNames) {
  EXPECT_EQ(parse("Cast", 13, {Tensor()}, {{"to", s64{7}}}).node.attrs.s("to", ""), "s64");
  EXPECT_EQ(
      parse("Cast", 19, {Tensor()}, {{"to", s64{16}}, {"saturate", s64{1}}}).node.attrs.s("to", ""),
      "bf16");
  EXPECT_EQ(parse("Cast", 5, {Tensor()}, {{"to", "FLOAT16"}}).node.attrs.s("to", ""), "f16");
  EXPECT_THROW(parse("Cast", 13, {Tensor()}, {{"to", s64{8}}}), Error);
  EXPECT_THROW(parse("Cast", 13, {Tensor()}, {{"to", s64{-1}}}), Error);
  EXPECT_THROW(parse("Cast", 13, {Tensor()}, {{"to", s64{1} << 40}}), Error);
  EXPECT_EQ(error_of("Cast", {ints({1})}, {{"to", "f33"}}),
            "attribute 'to' is 'f33', which is no element type");
}

TEST(CastLike, TakesTheOtherInputsType) {
  expect_tensor<u8>(run("CastLike", {floats({2}, {1, 2}), tensor<u8>({0}, {})}), {2}, {1, 2});
}

TEST(Dropout, IsIdentityAtInference) {
  EXPECT_EQ(parse("Dropout", 7, {Tensor()}, {{"ratio", 0.3f}}).node.op->name, "Identity");
  const Tensor no = bools({}, {false});
  const Parsed plain = parse("Dropout", 13, {Tensor(), floats({}, {0.3f}), no}, {{"seed", s64{1}}});
  EXPECT_EQ(plain.node.op->name, "Identity");
  EXPECT_EQ(plain.node.inputs.size(), 1u);
  EXPECT_TRUE(plain.node.attrs.empty());
  EXPECT_EQ(parse("Dropout", 13, {Tensor()}, {}, 2).node.op->name, "Dropout");
  const auto results = run_all("Dropout", {floats({2}, {1, 2})}, {}, 2);
  expect_tensor<f32>(results[0], {2}, {1, 2});
  EXPECT_EQ(values_of<bool>(results[1]), (std::vector<bool>{1, 1}));
}

TEST(Dropout, TrainingModeDropsAndScales) {
  const Tensor x = floats({1000}, std::vector<f32>(1000, 3.0f));
  const Tensor yes = bools({}, {true});
  const auto results = run_all("Dropout", {x, floats({}, {0.25f}), yes}, {{"seed", s64{0}}}, 2);
  int kept = 0;
  for (size_t i = 0; i < 1000; ++i) {
    const bool keep = results[1].as<bool>()[i];
    ASSERT_EQ(results[0].as<f32>()[i], keep ? 4.0f : 0.0f);
    kept += keep;
  }
  EXPECT_GT(kept, 650);
  EXPECT_LT(kept, 850);
  EXPECT_THAT(error_of("Dropout", {x, floats({}, {1.0f}), yes}), ::testing::HasSubstr("[0, 1)"));
  EXPECT_THAT(error_of("Dropout", {x, floats({}, {kNan}), yes}), ::testing::HasSubstr("[0, 1)"));
}

}  // namespace
}  // namespace octet::testing
