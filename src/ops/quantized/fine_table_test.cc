// SPDX-License-Identifier: Apache-2.0
// Tables of segments against their functions in f64.
#include "ops/quantized/fine_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "core/fine_table.h"
#include "ops/quantized/epilogue.h"
#include "ops/quantized/weight_codes.h"
#include "ops/shared/op_testing.h"

namespace octet {
namespace {

struct Unary {
  const char* op;
  std::vector<std::pair<const char*, AttrValue>> attrs;
  std::function<f64(f64)> f;
};

f64 sigmoid(f64 x) { return 1.0 / (1.0 + std::exp(-x)); }
f64 softplus(f64 x) { return x > 30.0 ? x : std::log1p(std::exp(x)); }

const Unary kUnaries[] = {
    {"Swish", {}, [](f64 x) { return x * sigmoid(x); }},
    {"Swish", {{"alpha", 1.702f}}, [](f64 x) { return x * sigmoid(f64{1.702f} * x); }},
    {"HardSwish", {}, [](f64 x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }},
    {"Gelu", {}, [](f64 x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }},
    {"Mish", {}, [](f64 x) { return x * std::tanh(softplus(x)); }},
    {"Sigmoid", {}, sigmoid},
    {"Tanh", {}, [](f64 x) { return std::tanh(x); }},
    {"Erf", {}, [](f64 x) { return std::erf(x); }},
    {"HardSigmoid", {}, [](f64 x) { return std::clamp(f64{0.2f} * x + 0.5, 0.0, 1.0); }},
    {"Elu", {{"alpha", 2.0f}}, [](f64 x) { return x < 0 ? 2.0 * std::expm1(x) : x; }},
    {"Softplus", {}, softplus},
    {"Exp", {}, [](f64 x) { return std::exp(x); }},
};

Node node_of(const Unary& unary) {
  Node node;
  node.op = find_op(unary.op);
  node.name = unary.op;
  node.inputs = {0};
  for (const auto& [name, value] : unary.attrs) node.attrs.set(name, value);
  return node;
}

// The codes of what calibration might see: from `low`, or what the function's least value is, to `high`.
FineOutput output_of(const Unary& unary, f64 low, f64 high, bool is_signed) {
  f64 least = 0, most = 0;
  for (int i = 0; i <= 4096; ++i) {
    const f64 y = unary.f(low + (high - low) * i / 4096);
    least = std::min(least, y);
    most = std::max(most, y);
  }
  if (is_signed) return {Dtype::s8, {static_cast<f32>(std::max(-least, most) / 127), 0}};
  const f64 scale = (most - least) / 255;
  return {Dtype::u8, {static_cast<f32>(scale), static_cast<s32>(std::nearbyint(-least / scale))}};
}

TEST(FineTable, EveryCodeIsNearTheFunctionInDoubles) {
  for (const Unary& unary : kUnaries) {
    for (const f64 high : {0.7, 2.0, 6.0, 20.0, 90.0}) {
      for (const bool is_signed : {false, true}) {
        SCOPED_TRACE(unary.op + std::string(" to ") + std::to_string(high));
        if (unary.op == std::string("Exp") && high > 6) continue;
        const FineOutput output = output_of(unary, -high, high, is_signed);
        const FineTable table = fine_table(node_of(unary), {}, output);
        ASSERT_EQ(table.reject, "");
        EXPECT_LE(table.error, kMostFineError);
        const CodeRange codes = code_range(output.dtype);
        const auto bounded = [&](f64 y) { return std::clamp(y, 1.0 * codes.lo, 1.0 * codes.hi); };
        const auto exact = [&](f64 x) {
          return bounded(unary.f(x) / f64{output.params.scale} + output.params.zero_point);
        };
        f64 worst = 0;
        for (s32 u = 0; u < kFineCodes; ++u) {
          const f64 x = f64{table.scale} * (u - table.zero_point);
          const f64 made = fine_result(table.segments.as<s32>().data(), u) / 64.0;
          worst = std::max(worst, std::fabs(bounded(made) - exact(x)));
        }
        EXPECT_LE(worst, table.error + 0.02);
        // Beyond the grid it is the grid's ends.
        for (const s32 end : {0, kFineCodes - 1}) {
          const f64 made = bounded(fine_result(table.segments.as<s32>().data(), end) / 64.0);
          for (const f64 far : {1.01, 2.0, 10.0, 1000.0}) {
            const f64 x = f64{table.scale} * (end - table.zero_point) * far;
            EXPECT_LE(std::fabs(made - exact(x)), table.error + 0.02) << far;
          }
        }
      }
    }
  }
}

TEST(FineTable, ErrorsHaveNoBias) {
  const Unary& swish = kUnaries[0];
  const FineOutput output = output_of(swish, -6, 6, false);
  const FineTable table = fine_table(node_of(swish), {}, output);
  f64 sum = 0;
  for (s32 u = 0; u < kFineCodes; ++u) {
    const f64 x = f64{table.scale} * (u - table.zero_point);
    const f64 exact = swish.f(x) / f64{output.params.scale} + output.params.zero_point;
    sum += fine_result(table.segments.as<s32>().data(), u) / 64.0 - exact;
  }
  EXPECT_LT(std::fabs(sum / kFineCodes), 0.02);
}

TEST(FineTable, ABoundBeforeTheFunctionIsPartOfIt) {
  const Unary& swish = kUnaries[0];
  Activation relu;
  relu.kind = Activation::Kind::relu;
  relu.min = 0;
  const FineOutput output{Dtype::u8, {0.02f, 0}};
  const FineTable table = fine_table(node_of(swish), relu, output);
  ASSERT_EQ(table.reject, "");
  for (const f64 x : {-30.0, -1.0, 0.0, 1.0, 3.0}) {
    const s32 u = fine_code(static_cast<f32>(x / f64{table.scale}), table.zero_point);
    EXPECT_NEAR(fine_result(table.segments.as<s32>().data(), u) / 64.0,
                swish.f(std::max(x, 0.0)) / f64{0.02f}, 0.2)
        << x;
  }
}

TEST(FineTable, Rejections) {
  const FineOutput output{Dtype::u8, {0.01f, 128}};
  const auto why = [&](const char* op) {
    return fine_table(node_of({op, {}, {}}), {}, output).reject;
  };
  EXPECT_THAT(why("Sqrt"), ::testing::HasSubstr("no number"));
  EXPECT_THAT(why("Floor"), ::testing::HasSubstr("64 lines miss it by"));
  EXPECT_THAT(why("Sin"), ::testing::HasSubstr("64 lines miss it by"));
  Activation bounds;
  bounds.kind = Activation::Kind::clip;
  bounds.min = bounds.max = 1;
  EXPECT_THAT(fine_table(node_of({"Tanh", {}, {}}), bounds, output).reject,
              ::testing::HasSubstr("one and the same"));
}

TEST(FineTable, IsTheSameEveryTime) {
  const FineOutput output{Dtype::u8, {0.013f, 21}};
  const FineTable one = fine_table(node_of(kUnaries[0]), {}, output);
  const FineTable two = fine_table(node_of(kUnaries[0]), {}, output);
  EXPECT_EQ(testing::values_of<s32>(one.segments), testing::values_of<s32>(two.segments));
}

// As for other variants of a model: one table for each function, attribute, bound, type and scale.
TEST(FineTable, IsKeptBesideCodesOfWeights) {
  WeightCodes kept;
  const Activation relu{Activation::Kind::relu, 0.0f};
  const FineOutput outputs[] = {
      {Dtype::u8, {0.02f, 9}}, {Dtype::u8, {0.03f, 9}}, {Dtype::s8, {0.02f, -119}}};
  std::set<const std::byte*> tables;
  for (const Unary& unary : {kUnaries[0], kUnaries[1], kUnaries[3]}) {
    for (const FineOutput& output : outputs) {
      for (const Activation& before : {Activation{}, relu}) {
        const FineTable table = kept.function(node_of(unary), before, output);
        EXPECT_EQ(table.segments.data(),
                  kept.function(node_of(unary), before, output).segments.data());
        EXPECT_TRUE(
            std::ranges::equal(table.segments.as<s32>(),
                               fine_table(node_of(unary), before, output).segments.as<s32>()));
        tables.insert(table.segments.data());
      }
    }
  }
  EXPECT_EQ(tables.size(), 18u);
}

}  // namespace
}  // namespace octet
