// SPDX-License-Identifier: Apache-2.0
// Operators that address elements by data: Gather, Scatter, TopK, ArgMax, OneHot, and the scans CumSum and Trilu.
#include <limits>

#include "ops/shared/testing.h"

namespace octet::testing {
namespace {

using ::testing::HasSubstr;
constexpr f32 kNan = std::numeric_limits<f32>::quiet_NaN();
constexpr s64 kMost = std::numeric_limits<s64>::max();
constexpr s64 kLeast = std::numeric_limits<s64>::min();

TEST(Gather, AxesAndIndexShapes) {
  const Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  expect_tensor<f32>(run("Gather", {x, ints({2, 0, -2})}), {3, 2}, {5, 6, 1, 2, 3, 4});
  expect_tensor<f32>(run("Gather", {x, tensor<s32>({}, {1})}, {{"axis", s64{1}}}), {3}, {2, 4, 6});
  expect_tensor<f32>(run("Gather", {x, tensor<s64>({1, 2}, {1, 1})}, {{"axis", s64{-1}}}),
                     {3, 1, 2}, {2, 2, 4, 4, 6, 6});
  EXPECT_EQ(run("Gather", {x, tensor<s64>({0}, {})}).shape(), (Shape{0, 2}));
}

TEST(Gather, Rejects) {
  const Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(error_of("Gather", {x, ints({3})}), "index 3 is outside [-3, 3) of axis 0");
  for (const s64 index : {s64{-4}, kMost, kLeast}) {
    EXPECT_THAT(error_of("Gather", {x, ints({index})}), HasSubstr("is outside [-3, 3) of axis 0"));
  }
  EXPECT_THAT(error_of("Gather", {floats({0, 2}, {}), ints({0})}), HasSubstr("outside [0, 0)"));
  EXPECT_THAT(error_of("Gather", {x, floats({1}, {0})}), HasSubstr("expected s32 or s64"));
  EXPECT_THAT(error_of("Gather", {x, ints({0})}, {{"axis", s64{2}}}), HasSubstr("axis 2"));
  EXPECT_THAT(error_of("Gather", {floats({}, {1}), ints({0})}), HasSubstr("rank 0"));
}

TEST(GatherChannels, JoinsAndPicks) {
  const Tensor x = floats({2, 1, 2}, {1, 2, 3, 4});
  const Tensor y = floats({2, 2, 2}, {5, 6, 7, 8, 9, 10, 11, 12});
  expect_tensor<f32>(run("GatherChannels", {x, y}, {{"channels", std::vector<s64>{2, 0, 2}}}),
                     {2, 3, 2}, {7, 8, 1, 2, 7, 8, 11, 12, 3, 4, 11, 12});
  EXPECT_EQ(run("GatherChannels", {x}, {{"channels", std::vector<s64>{}}}).shape(),
            (Shape{2, 0, 2}));
}

TEST(GatherChannels, Rejects) {
  const Tensor x = floats({1, 2}, {1, 2});
  for (const s64 channel : {s64{4}, s64{-1}, kMost, kLeast}) {
    EXPECT_THAT(error_of("GatherChannels", {x, x}, {{"channels", std::vector<s64>{channel}}}),
                HasSubstr("is picked from 4 channels"));
  }
  const AttrValue none = std::vector<s64>{};
  EXPECT_THAT(error_of("GatherChannels", {x, floats({2, 1}, {1, 2})}, {{"channels", none}}),
              HasSubstr("does not join"));
  EXPECT_THAT(error_of("GatherChannels", {ints({1})}, {{"channels", none}}),
              HasSubstr("expected N, C"));
}

TEST(GatherElements, BothAxes) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor at = tensor<s64>({2, 2}, {0, 1, 1, -2});
  expect_tensor<f32>(run("GatherElements", {x, at}), {2, 2}, {1, 5, 4, 2});
  expect_tensor<f32>(run("GatherElements", {x, at}, {{"axis", s64{1}}}), {2, 2}, {1, 2, 5, 5});
  EXPECT_THAT(error_of("GatherElements", {x, tensor<s64>({2, 1}, {0, 2})}), HasSubstr("index 2"));
  EXPECT_THAT(error_of("GatherElements", {x, ints({0})}), HasSubstr("do not address"));
  EXPECT_THAT(error_of("GatherElements", {x, tensor<s64>({3, 1}, {0, 0, 0})}, {{"axis", s64{1}}}),
              HasSubstr("do not address"));
}

TEST(GatherND, TuplesSlicesAndBatches) {
  const Tensor x = floats({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  expect_tensor<f32>(run("GatherND", {x, tensor<s64>({2, 1}, {1, 0})}), {2, 2, 2},
                     {4, 5, 6, 7, 0, 1, 2, 3});
  expect_tensor<f32>(run("GatherND", {x, tensor<s64>({2, 2}, {0, -1, 1, 0})}), {2, 2},
                     {2, 3, 4, 5});
  expect_tensor<f32>(run("GatherND", {x, tensor<s64>({2, 1}, {1, 0})}, {{"batch_dims", s64{1}}}),
                     {2, 2}, {2, 3, 4, 5});
  expect_tensor<f32>(run("GatherND", {x, ints({1, 1, 1})}), {}, {7});
}

TEST(GatherND, Rejects) {
  const Tensor x = floats({2, 2}, {0, 1, 2, 3});
  EXPECT_THAT(error_of("GatherND", {x, ints({0, 2})}),
              HasSubstr("index 2 is outside [-2, 2) of axis 1"));
  EXPECT_THAT(error_of("GatherND", {x, ints({0, 0, 0})}), HasSubstr("3 entries, expected 1 to 2"));
  EXPECT_THAT(error_of("GatherND", {x, tensor<s64>({2, 0}, {})}), HasSubstr("0 entries"));
  EXPECT_THAT(error_of("GatherND", {x, tensor<s64>({}, {0})}), HasSubstr("'batch_dims' is 0"));
  EXPECT_THAT(error_of("GatherND", {x, tensor<s64>({3, 1}, {0, 0, 0})}, {{"batch_dims", s64{1}}}),
              HasSubstr("batch axis 0 is 2 in the data and 3"));
  EXPECT_THAT(error_of("GatherND", {x, ints({0})}, {{"batch_dims", s64{-1}}}), HasSubstr("-1"));
}

TEST(ScatterElements, ReplacesAndCombinesInOrder) {
  const Tensor x = floats({5}, {1, 2, 3, 4, 5});
  const Tensor at = ints({1, -2, 1});
  const Tensor updates = floats({3}, {10, 20, 30});
  const auto scatter = [&](std::string reduction) {
    return values_of<f32>(run("ScatterElements", {x, at, updates}, {{"reduction", reduction}}));
  };
  EXPECT_EQ(scatter("none"), (std::vector<f32>{1, 30, 3, 20, 5}));
  EXPECT_EQ(scatter("add"), (std::vector<f32>{1, 42, 3, 24, 5}));
  EXPECT_EQ(scatter("mul"), (std::vector<f32>{1, 600, 3, 80, 5}));
  EXPECT_EQ(scatter("max"), (std::vector<f32>{1, 30, 3, 20, 5}));
  EXPECT_EQ(scatter("min"), (std::vector<f32>{1, 2, 3, 4, 5}));
  const Tensor grid = floats({2, 2}, {0, 0, 0, 0});
  expect_tensor<f32>(
      run("ScatterElements", {grid, tensor<s64>({2, 1}, {1, 0}), floats({2, 1}, {5, 6})},
          {{"axis", s64{1}}}),
      {2, 2}, {0, 5, 6, 0});
  EXPECT_EQ(parse("Scatter", 9, {Tensor(), Tensor(), Tensor()}).node.op->name, "ScatterElements");
}

TEST(ScatterElements, Rejects) {
  const Tensor x = floats({3}, {1, 2, 3});
  EXPECT_THAT(error_of("ScatterElements", {x, ints({3}), floats({1}, {9})}), HasSubstr("index 3"));
  EXPECT_THAT(error_of("ScatterElements", {x, ints({0}), floats({2}, {9, 9})}),
              HasSubstr("the updates are f32[2], expected f32[1]"));
  EXPECT_THAT(error_of("ScatterElements", {x, ints({0}), ints({9})}), HasSubstr("expected f32[1]"));
  EXPECT_THAT(error_of("ScatterElements", {x, ints({0}), floats({1}, {9})}, {{"reduction", "xor"}}),
              HasSubstr("'xor'"));
}

TEST(ScatterND, ReplacesAndCombinesSlices) {
  const Tensor x = floats({3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor rows = tensor<s64>({2, 1}, {2, 0});
  const Tensor updates = floats({2, 2}, {10, 20, 30, 40});
  expect_tensor<f32>(run("ScatterND", {x, rows, updates}), {3, 2}, {30, 40, 3, 4, 10, 20});
  expect_tensor<f32>(run("ScatterND", {x, rows, updates}, {{"reduction", "add"}}), {3, 2},
                     {31, 42, 3, 4, 15, 26});
  expect_tensor<f32>(run("ScatterND", {x, ints({1, -1}), floats({}, {9})}), {3, 2},
                     {1, 2, 3, 9, 5, 6});
  EXPECT_EQ(values_of<bool>(run(
                "ScatterND",
                {bools({2}, {true, false}), tensor<s64>({2, 1}, {0, 1}), bools({2}, {false, true})},
                {{"reduction", "max"}})),
            (std::vector<bool>{1, 1}));
}

TEST(ScatterND, Rejects) {
  const Tensor x = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(error_of("ScatterND", {x, ints({2, 0}), floats({}, {1})}), HasSubstr("of axis 0"));
  EXPECT_THAT(error_of("ScatterND", {x, ints({0}), floats({1}, {1})}),
              HasSubstr("expected f32[2]"));
  EXPECT_THAT(error_of("ScatterND", {x, ints({0, 0, 0}), floats({}, {1})}),
              HasSubstr("do not address"));
  EXPECT_THAT(error_of("ScatterND", {x, tensor<s64>({}, {0}), floats({}, {1})}),
              HasSubstr("do not"));
}

TEST(ArgMax, TiesAxesAndNan) {
  const Tensor x = floats({2, 3}, {2, 7, 7, -1, -5, -1});
  expect_tensor<s64>(run("ArgMax", {x}, {{"axis", s64{1}}}), {2, 1}, {1, 0});
  expect_tensor<s64>(run("ArgMax", {x}, {{"axis", s64{-1}}, {"select_last_index", s64{1}}}), {2, 1},
                     {2, 2});
  expect_tensor<s64>(run("ArgMin", {x}, {{"keepdims", s64{0}}}), {3}, {1, 1, 1});
  for (const char* op : {"ArgMax", "ArgMin"}) {
    const Tensor nan = floats({4}, {1, kNan, kNan, 2});
    expect_tensor<s64>(run(op, {nan}), {1}, {1});
    expect_tensor<s64>(run(op, {nan}, {{"select_last_index", s64{1}}}), {1}, {2});
  }
  expect_tensor<s64>(run("ArgMin", {tensor<u8>({3}, {9, 3, 200})}), {1}, {1});
  EXPECT_EQ(run("ArgMax", {floats({0, 2}, {})}, {{"axis", s64{1}}}).shape(), (Shape{0, 1}));
  EXPECT_THAT(error_of("ArgMax", {floats({0, 2}, {})}), HasSubstr("axis 0 of 0x2 is empty"));
  EXPECT_THAT(error_of("ArgMax", {x}, {{"axis", s64{2}}}), HasSubstr("outside"));
}

TEST(TopK, OrderTiesAndAxes) {
  const Tensor x = floats({2, 4}, {1, 4, 4, 2, 8, 6, 7, 5});
  const auto top = run_all("TopK", {x, ints({2})}, {}, 2);
  expect_tensor<f32>(top[0], {2, 2}, {4, 4, 8, 7});
  expect_tensor<s64>(top[1], {2, 2}, {1, 2, 0, 2});
  const auto low = run_all("TopK", {x, ints({1})}, {{"axis", s64{0}}, {"largest", s64{0}}}, 2);
  expect_tensor<f32>(low[0], {1, 4}, {1, 4, 4, 2});
  expect_tensor<s64>(low[1], {1, 4}, {0, 0, 0, 0});
  const auto nan = run_all("TopK", {floats({4}, {1, kNan, 3, kNan}), ints({4})}, {}, 2);
  expect_tensor<s64>(nan[1], {4}, {1, 3, 2, 0});
  EXPECT_EQ(run("TopK", {x, ints({0})}).shape(), (Shape{2, 0}));
}

TEST(TopK, RejectsAndParses) {
  const Tensor x = floats({3}, {1, 2, 3});
  for (const s64 k : {s64{-1}, s64{4}, kMost}) {
    EXPECT_THAT(error_of("TopK", {x, ints({k})}), HasSubstr("expected one number in [0, 3]"));
  }
  EXPECT_THAT(error_of("TopK", {x, tensor<s64>({0}, {})}), HasSubstr("expected one number"));
  EXPECT_EQ(parse("TopK", 1, {Tensor()}, {{"k", s64{3}}}, 2).ints_input(1), Ints{3});
}

TEST(OneHot, AxisAndOutOfRange) {
  const Tensor values = floats({2}, {-1, 5});
  expect_tensor<f32>(run("OneHot", {ints({0, -1, 3, 9}), tensor<s64>({}, {3}), values}), {4, 3},
                     {5, -1, -1, -1, -1, 5, -1, -1, -1, -1, -1, -1});
  expect_tensor<s64>(
      run("OneHot", {floats({2}, {1, 0}), floats({1}, {2}), ints({0, 1})}, {{"axis", s64{0}}}),
      {2, 2}, {0, 1, 1, 0});
  EXPECT_THAT(error_of("OneHot", {ints({0}), ints({-1}), values}), HasSubstr("no size"));
  EXPECT_THAT(error_of("OneHot", {ints({0}), floats({1}, {kNan}), values}), HasSubstr("no size"));
  EXPECT_THAT(error_of("OneHot", {ints({0}), ints({1}), floats({1}, {1})}),
              HasSubstr("two elements"));
  EXPECT_THAT(error_of("OneHot", {ints({0}), ints({1}), values}, {{"axis", s64{2}}}),
              HasSubstr("outside [-2, 2)"));
}

TEST(CumSum, Directions) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor one = tensor<s64>({}, {1});
  expect_tensor<f32>(run("CumSum", {x, one}), {2, 3}, {1, 3, 6, 4, 9, 15});
  expect_tensor<f32>(run("CumSum", {x, tensor<s32>({1}, {-2})}), {2, 3}, {1, 2, 3, 5, 7, 9});
  expect_tensor<f32>(run("CumSum", {x, one}, {{"reverse", s64{1}}}), {2, 3}, {6, 5, 3, 15, 11, 6});
  expect_tensor<f32>(run("CumSum", {x, one}, {{"exclusive", s64{1}}}), {2, 3}, {0, 1, 3, 0, 4, 9});
  expect_tensor<f32>(run("CumSum", {x, one}, {{"exclusive", s64{1}}, {"reverse", s64{1}}}), {2, 3},
                     {5, 3, 0, 11, 6, 0});
  expect_tensor<s64>(run("CumSum", {ints({kMost, 1}), tensor<s64>({}, {0})}), {2}, {kMost, kLeast});
  EXPECT_THAT(error_of("CumSum", {x, ints({2})}), HasSubstr("outside"));
  EXPECT_THAT(error_of("CumSum", {x, ints({0, 1})}), HasSubstr("expected a scalar"));
}

TEST(Trilu, Diagonals) {
  const Tensor x = tensor<s64>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto lower = [](s64 upper) { return AttrList{{"upper", upper}}; };
  expect_tensor<s64>(run("Trilu", {x}), {2, 3}, {1, 2, 3, 0, 5, 6});
  expect_tensor<s64>(run("Trilu", {x}, lower(0)), {2, 3}, {1, 0, 0, 4, 5, 0});
  expect_tensor<s64>(run("Trilu", {x, ints({1})}), {2, 3}, {0, 2, 3, 0, 0, 6});
  expect_tensor<s64>(run("Trilu", {x, ints({-1})}, lower(0)), {2, 3}, {0, 0, 0, 4, 0, 0});
  expect_tensor<s64>(run("Trilu", {x, ints({kMost})}), {2, 3}, {0, 0, 0, 0, 0, 0});
  expect_tensor<s64>(run("Trilu", {x, ints({kLeast})}), {2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(error_of("Trilu", {ints({1})}), HasSubstr("at least two axes"));
}

}  // namespace
}  // namespace octet::testing
