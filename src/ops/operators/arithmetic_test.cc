// SPDX-License-Identifier: Apache-2.0
// Binary arithmetic, comparison and logic: values, broadcasting, every dtype's corner cases.
#include <cmath>
#include <limits>

#include "ops/shared/dtypes.h"
#include "ops/shared/testing.h"

namespace octet::testing {
namespace {

constexpr f32 kInf = std::numeric_limits<f32>::infinity();
constexpr f32 kNan = std::numeric_limits<f32>::quiet_NaN();
constexpr s64 kLowest64 = std::numeric_limits<s64>::min();

TEST(Arithmetic, AddSameShapeScalarAndInnerBroadcast) {
  const Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  expect_tensor<f32>(run("Add", {a, a}), {2, 3}, {2, 4, 6, 8, 10, 12});
  expect_tensor<f32>(run("Add", {a, floats({}, {10})}), {2, 3}, {11, 12, 13, 14, 15, 16});
  expect_tensor<f32>(run("Add", {floats({1}, {10}), a}), {2, 3}, {11, 12, 13, 14, 15, 16});
  expect_tensor<f32>(run("Add", {a, floats({3}, {10, 20, 30})}), {2, 3}, {11, 22, 33, 14, 25, 36});
  expect_tensor<f32>(run("Add", {a, floats({2, 1}, {10, 20})}), {2, 3}, {11, 12, 13, 24, 25, 26});
}

TEST(Arithmetic, BothInputsBroadcast) {
  const Tensor column = floats({3, 1}, {1, 2, 3});
  const Tensor row = floats({1, 2}, {10, 20});
  expect_tensor<f32>(run("Sub", {column, row}), {3, 2}, {-9, -19, -8, -18, -7, -17});
  expect_tensor<f32>(run("Sub", {row, column}), {3, 2}, {9, 19, 8, 18, 7, 17});
}

// Every pair of shapes over {1, 2, 3} sizes against the definition, element by element.
TEST(Arithmetic, BroadcastingIsNumpys) {
  const auto shape_of = [](int code) {
    Shape shape;
    for (int i = 0; i < 4; ++i, code /= 3) {
      if (code % 3 > 0) shape.push_back(i % 2 == 0 ? code % 3 == 1 ? 1 : 2 : code % 3 == 1 ? 1 : 3);
    }
    return shape;
  };
  const auto at = [](const Shape& shape, std::span<const s64> index) {
    s64 offset = 0;
    for (int i = 0; i < shape.rank(); ++i) {
      const auto own = index[index.size() - static_cast<size_t>(shape.rank() - i)];
      offset = offset * shape[i] + (shape[i] == 1 ? 0 : own);
    }
    return offset;
  };
  int compared = 0;
  for (int ca = 0; ca < 81; ++ca) {
    for (int cb = 0; cb < 81; ++cb) {
      Tensor a(Dtype::s32, shape_of(ca));
      Tensor b(Dtype::s32, shape_of(cb));
      for (s32 i = 0; auto& x : a.mutable_as<s32>()) x = 100 * ++i;
      for (s32 i = 0; auto& x : b.mutable_as<s32>()) x = ++i;
      if (!error_of("Add", {a, b}).empty()) continue;
      const Tensor y = run("Add", {a, b});
      std::vector<s64> index(static_cast<size_t>(y.shape().rank()));
      for (const s32 got : y.as<s32>()) {
        const auto wa = a.as<s32>()[static_cast<size_t>(at(a.shape(), index))];
        const auto wb = b.as<s32>()[static_cast<size_t>(at(b.shape(), index))];
        ASSERT_EQ(got, wa + wb) << to_string(a.shape()) << " + " << to_string(b.shape());
        ++compared;
        for (size_t d = index.size(); d-- > 0;) {
          if (++index[d] < y.shape()[static_cast<int>(d)]) break;
          index[d] = 0;
        }
      }
    }
  }
  EXPECT_GT(compared, 10000);
}

TEST(Arithmetic, EmptyTensorsBroadcastToEmpty) {
  const Tensor empty = floats({0, 3}, {});
  expect_tensor<f32>(run("Mul", {empty, floats({3}, {1, 2, 3})}), {0, 3}, {});
  expect_tensor<f32>(run("Mul", {empty, floats({1, 1}, {1})}), {0, 3}, {});
}

TEST(Arithmetic, Rejects) {
  const Tensor a = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(error_of("Add", {a, floats({2}, {1, 2})}),
            "shapes 2x3 and 2 do not broadcast: 3 against 2");
  EXPECT_EQ(error_of("Add", {a, tensor<s32>({1}, {1})}),
            "input 1 has type s32, expected f32 as input 0");
  EXPECT_EQ(error_of("Add", {bools({1}, {true}), bools({1}, {true})}),
            "input 0 has type bool, expected a number");
  EXPECT_EQ(error_of("Add", {a, Tensor()}), "input 1 is omitted, but Add requires it");
  EXPECT_EQ(error_of("And", {a, a}), "input 0 has type f32, expected bool");
}

TEST(Arithmetic, AddAppliesTheFusedActivation) {
  const Tensor a = floats({4}, {-3, -1, 1, 9});
  const Tensor b = floats({1}, {0});
  const auto activated = [&](AttrList attrs) { return values_of<f32>(run("Add", {a, b}, attrs)); };
  EXPECT_EQ(activated({{"activation", "relu"}}), (std::vector<f32>{0, 0, 1, 9}));
  EXPECT_EQ(activated({{"activation", "clip"}, {"activation_min", -2.f}, {"activation_max", 6.f}}),
            (std::vector<f32>{-2, -1, 1, 6}));
  EXPECT_EQ(activated({{"activation", "leaky_relu"}, {"activation_alpha", 0.5f}}),
            (std::vector<f32>{-1.5f, -0.5f, 1, 9}));
  EXPECT_THAT(error_of("Add", {a, b}, {{"activation", "sine"}}), ::testing::HasSubstr("'sine'"));
  EXPECT_THAT(error_of("Add", {ints({1}), ints({1})}, {{"activation", "relu"}}),
              ::testing::HasSubstr("needs f32"));
}

TEST(Arithmetic, IntegersWrap) {
  expect_tensor<u8>(run("Add", {tensor<u8>({1}, {200}), tensor<u8>({1}, {100})}), {1}, {44});
  expect_tensor<s8>(run("Sub", {tensor<s8>({1}, {-128}), tensor<s8>({1}, {1})}), {1}, {127});
  expect_tensor<u16>(run("Mul", {tensor<u16>({1}, {65535}), tensor<u16>({1}, {65535})}), {1}, {1});
  expect_tensor<s64>(run("Mul", {ints({kLowest64}), ints({-1})}), {1}, {kLowest64});
}

TEST(Arithmetic, HalfTypesRoundOnce) {
  const Tensor a = tensor<f16>({2}, {f16(1.0f), f16(2048.0f)});
  const Tensor b = tensor<f16>({2}, {f16(0.5f), f16(1.0f)});
  const Tensor y = run("Add", {a, b});
  EXPECT_EQ(static_cast<f32>(y.as<f16>()[0]), 1.5f);
  EXPECT_EQ(static_cast<f32>(y.as<f16>()[1]), 2048.0f);  // a tie, to even
}

TEST(Arithmetic, DivisionTruncatesAndNeverTraps) {
  expect_tensor<s32>(
      run("Div", {tensor<s32>({4}, {7, -7, 7, -7}), tensor<s32>({4}, {2, 2, -2, -2})}), {4},
      {3, -3, -3, 3});
  expect_tensor<s64>(run("Div", {ints({5, kLowest64}), ints({0, -1})}), {2}, {0, kLowest64});
  expect_tensor<u8>(run("Div", {tensor<u8>({2}, {200, 3}), tensor<u8>({2}, {7, 0})}), {2}, {28, 0});
  expect_tensor<f32>(run("Div", {floats({2}, {1, -1}), floats({1}, {0})}), {2}, {kInf, -kInf});
}

TEST(Arithmetic, ModFollowsDivisorOrDividend) {
  const Tensor a = tensor<s32>({6}, {-4, 7, 5, 4, -7, 8});
  const Tensor b = tensor<s32>({6}, {2, -3, 8, -2, 3, 5});
  expect_tensor<s32>(run("Mod", {a, b}), {6}, {0, -2, 5, 0, 2, 3});
  expect_tensor<s32>(run("Mod", {a, b}, {{"fmod", s64{1}}}), {6}, {0, 1, 5, 0, -1, 3});
  expect_tensor<s64>(run("Mod", {ints({3, kLowest64}), ints({0, -1})}), {2}, {0, 0});
  const Tensor x = floats({2}, {-4.5f, 5.5f});
  expect_tensor<f32>(run("Mod", {x, floats({1}, {2})}, {{"fmod", s64{1}}}), {2}, {-0.5f, 1.5f});
  expect_tensor<f32>(run("Mod", {x, floats({1}, {2})}), {2}, {1.5f, 1.5f});
}

TEST(Arithmetic, PowOfMixedTypes) {
  expect_tensor<f32>(run("Pow", {floats({4}, {3, 2, -2, 9}), floats({4}, {2, 10, 3, 0.5f})}), {4},
                     {9, 1024, -8, 3});
  expect_tensor<f32>(run("Pow", {floats({2}, {2, 3}), ints({3, -1})}), {2}, {8, 1.0f / 3.0f});
  expect_tensor<s64>(run("Pow", {ints({2, -3, 7, 1, -1, -1, 2}), ints({62, 3, 0, -5, -5, -4, -1})}),
                     {7}, {s64{1} << 62, -27, 1, 1, -1, 1, 0});
  expect_tensor<s32>(run("Pow", {tensor<s32>({3}, {2, 3, 2}), floats({3}, {3.5f, 2, 40})}), {3},
                     {11, 9, std::numeric_limits<s32>::max()});
}

// x^2 in f32 is one rounded multiplication, whatever the library's pow does.
TEST(Arithmetic, SquareIsOneMultiplication) {
  std::vector<f32> x;
  std::vector<f32> square;
  for (int i = -500; i < 500; ++i) {
    x.push_back(static_cast<f32>(i) * 0.7310585f);
    square.push_back(x.back() * x.back());
  }
  expect_tensor<f32>(run("Pow", {floats({1000}, x), floats({}, {2})}), {1000}, square);
}

TEST(Arithmetic, MaxMinMeanTakeAnyNumberOfInputs) {
  const Tensor a = floats({3}, {3, 2, 1});
  const Tensor b = floats({3}, {1, 4, 4});
  const Tensor c = floats({1}, {2});
  expect_tensor<f32>(run("Max", {a, b, c}), {3}, {3, 4, 4});
  expect_tensor<f32>(run("Min", {a, b, c}), {3}, {1, 2, 1});
  expect_tensor<f32>(run("Max", {a}), {3}, {3, 2, 1});
  expect_tensor<f32>(run("Mean", {a, b, c}), {3}, {2, 8.0f / 3.0f, 7.0f / 3.0f});
  expect_tensor<f32>(run("Mean", {c, a}), {3}, {2.5f, 2, 1.5f});  // the first input broadcasts too
  expect_tensor<f32>(run("Max", {c, a}), {3}, {3, 2, 2});
  const auto nan = values_of<f32>(run("Max", {floats({2}, {kNan, 1}), floats({2}, {1, kNan})}));
  EXPECT_TRUE(std::isnan(nan[0]) && std::isnan(nan[1]));
  EXPECT_EQ(error_of("Max", {a, Tensor(), b}), "input 1 is omitted, but Max requires it");
}

TEST(Comparison, AllOfThem) {
  const Tensor a = floats({4}, {1, 2, 3, kNan});
  const Tensor b = floats({1}, {2});
  const auto expect = [&](std::string_view op, std::initializer_list<bool> values) {
    const Tensor y = run(op, {a, b});
    ASSERT_EQ(y.dtype(), Dtype::boolean);
    EXPECT_EQ(values_of<bool>(y), std::vector<bool>(values)) << op;
  };
  expect("Equal", {false, true, false, false});
  expect("Less", {true, false, false, false});
  expect("LessOrEqual", {true, true, false, false});
  expect("Greater", {false, false, true, false});
  expect("GreaterOrEqual", {false, true, true, false});
}

TEST(Comparison, SixtyFourBitIntegersAreNotRounded) {
  const s64 big = (s64{1} << 53) + 1;
  EXPECT_EQ(values_of<bool>(run("Equal", {ints({big}), ints({big - 1})})),
            std::vector<bool>{false});
  EXPECT_EQ(values_of<bool>(run("Greater", {tensor<u64>({1}, {~u64{0}}), tensor<u64>({1}, {0})})),
            std::vector<bool>{true});
}

TEST(Logic, TruthTables) {
  const Tensor a = bools({4}, {false, false, true, true});
  const Tensor b = bools({4}, {false, true, false, true});
  EXPECT_EQ(values_of<bool>(run("And", {a, b})), (std::vector<bool>{0, 0, 0, 1}));
  EXPECT_EQ(values_of<bool>(run("Or", {a, b})), (std::vector<bool>{0, 1, 1, 1}));
  EXPECT_EQ(values_of<bool>(run("Xor", {a, b})), (std::vector<bool>{0, 1, 1, 0}));
  EXPECT_EQ(values_of<bool>(run("Not", {a})), (std::vector<bool>{1, 1, 0, 0}));
  EXPECT_EQ(values_of<bool>(run("Equal", {a, b})), (std::vector<bool>{1, 0, 0, 1}));
}

TEST(Where, ChoosesAndBroadcastsAllThree) {
  const Tensor c = bools({2, 1}, {true, false});
  expect_tensor<f32>(run("Where", {c, floats({3}, {1, 2, 3}), floats({1}, {9})}), {2, 3},
                     {1, 2, 3, 9, 9, 9});
  expect_tensor<s64>(run("Where", {bools({}, {false}), ints({1, 2}), ints({3, 4})}), {2}, {3, 4});
  EXPECT_EQ(error_of("Where", {c, floats({1}, {1}), ints({1})}),
            "inputs 1 and 2 have types f32 and s64, expected one type");
  EXPECT_EQ(error_of("Where", {ints({1}), ints({1}), ints({1})}),
            "input 0 has type s64, expected bool");
}

TEST(Parse, SumBecomesAChainOfAdds) {
  const Parsed one = parse("Sum", 13, {Tensor()});
  EXPECT_EQ(one.node.op->name, "Identity");
  const Parsed three = parse("Sum", 8, {Tensor(), Tensor(), Tensor()});
  ASSERT_EQ(three.before.size(), 1u);
  EXPECT_EQ(three.before[0].op->name, "Add");
  EXPECT_EQ(three.before[0].inputs, (std::vector<ValueId>{0, 1}));
  EXPECT_EQ(three.node.op->name, "Add");
  EXPECT_EQ(three.node.inputs, (std::vector<ValueId>{three.before[0].outputs[0], 2}));
}

TEST(Parse, OperatorsOfOnnxFilesAloneDoNotRun) {
  const Tensor x = floats({1}, {1});
  for (const char* op : {"Sum", "GlobalAveragePool", "GlobalMaxPool"}) {
    EXPECT_EQ(error_of(op, {x}), std::string(op) + " exists only in ONNX files");
  }
}

TEST(Parse, LegacyBroadcastAlignsAnAxis) {
  const Parsed parsed =
      parse("Add", 6, {Tensor(), Tensor()}, {{"broadcast", s64{1}}, {"axis", s64{1}}});
  ASSERT_EQ(parsed.before.size(), 1u);
  EXPECT_EQ(parsed.before[0].op->name, "AlignAxis");
  EXPECT_TRUE(parsed.node.attrs.empty());
  const Tensor x = floats({1, 2, 2, 1}, {0, 0, 0, 0});
  const Tensor aligned = run("AlignAxis", {floats({2}, {1, 2}), x}, {{"axis", s64{1}}});
  EXPECT_EQ(aligned.shape(), (Shape{2, 1, 1}));
  expect_tensor<f32>(run("Add", {x, aligned}), {1, 2, 2, 1}, {1, 1, 2, 2});
  EXPECT_THAT(error_of("AlignAxis", {x, floats({2}, {1, 2})}, {{"axis", s64{1}}}),
              ::testing::HasSubstr("does not fit"));
  EXPECT_TRUE(parse("Mul", 6, {Tensor(), Tensor()}, {{"broadcast", s64{1}}}).before.empty());
}

// What passes fold into nodes is no ONNX.
TEST(FusedForms, AreRefusedInFiles) {
  const Tensor x(Dtype::f32, Shape{2, 2});
  for (const char* op : {"Conv", "MatMul", "Add"}) {
    EXPECT_THROW(testing::parse(op, 13, {x, x}, {{"activation", std::string("relu")}}), Error);
    testing::parse(op, 13, {x, x});
  }
  EXPECT_THROW(testing::parse("Conv", 13, {x, x, x, x}), Error);
  EXPECT_THROW(testing::parse("MatMul", 13, {x, x, x}), Error);
}

}  // namespace
}  // namespace octet::testing
