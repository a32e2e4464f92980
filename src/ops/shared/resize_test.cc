// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/resize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/shared/op_testing.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::OpCall;
using testing::tensor;
using testing::values_of;

// Resizes the line 0, 10, 20, ... by a scale or to a size.
class Line {
 public:
  explicit Line(s64 length) {
    std::vector<f32> x;
    for (s64 i = 0; i < length; ++i) x.push_back(static_cast<f32>(10 * i));
    call_.in(tensor(Shape{length}, x));
  }
  Line& set(const char* name, AttrValue value) {
    call_.attr(name, std::move(value));
    return *this;
  }
  Line& mode(const char* mode, const char* coordinates) {
    return set("mode", std::string(mode))
        .set("coordinate_transformation_mode", std::string(coordinates));
  }
  std::vector<f32> scale(f32 factor) {
    return values_of<f32>(call_.omit().in(tensor<f32>(Shape{1}, {factor})).run());
  }
  std::vector<f32> size(s64 length) {
    return values_of<f32>(call_.omit().omit().in(testing::ints({length})).run());
  }
  std::vector<f32> crop(f32 begin, f32 end, s64 length) {
    return values_of<f32>(
        call_.in(tensor<f32>(Shape{2}, {begin, end})).omit().in(testing::ints({length})).run());
  }

 private:
  OpCall call_{"Resize"};
};

// Integers are rounded, ties to even, and end at the bounds of their type, which cubic weights go beyond.
TEST(Resize, Integers) {
  const auto run = [](const char* mode, auto type, std::vector<decltype(type)> x) {
    const auto length = static_cast<s64>(x.size());
    OpCall call("Resize");
    call.attr("mode", std::string(mode)).in(tensor(Shape{length}, x)).omit();
    return values_of<decltype(type)>(call.in(tensor<f32>(Shape{1}, {2.0f})).run());
  };
  EXPECT_THAT(run("linear", u8{}, {0, 10, 255}), ElementsAre(0, 2, 8, 71, 194, 255));
  EXPECT_THAT(run("linear", s8{}, {-128, 0, 6}), ElementsAre(-128, -96, -32, 2, 4, 6));
  EXPECT_THAT(run("linear", s64{}, {0, 2}), ElementsAre(0, 0, 2, 2));
  EXPECT_THAT(run("cubic", u8{}, {0, 0, 255, 255}), ElementsAre(0, 0, 0, 58, 197, 255, 255, 255));
}

TEST(Resize, NearestModesOnTies) {
  const auto at = [](const char* nearest, const char* coordinates) {
    return Line(4)
        .mode("nearest", coordinates)
        .set("nearest_mode", std::string(nearest))
        .scale(0.5f);
  };
  // half_pixel places the outputs at 0.5 and 2.5.
  EXPECT_THAT(at("round_prefer_floor", "half_pixel"), ElementsAre(0, 20));
  EXPECT_THAT(at("round_prefer_ceil", "half_pixel"), ElementsAre(10, 30));
  EXPECT_THAT(at("floor", "half_pixel"), ElementsAre(0, 20));
  EXPECT_THAT(at("ceil", "half_pixel"), ElementsAre(10, 30));
  EXPECT_THAT(at("floor", "asymmetric"), ElementsAre(0, 20));
}

TEST(Resize, NearestUpsamplingRepeats) {
  EXPECT_THAT(
      Line(2).mode("nearest", "asymmetric").set("nearest_mode", std::string("floor")).scale(2.0f),
      ElementsAre(0, 0, 10, 10));
  EXPECT_THAT(Line(2).mode("nearest", "half_pixel").size(4), ElementsAre(0, 0, 10, 10));
}

TEST(Resize, LinearCoordinates) {
  EXPECT_THAT(Line(2).mode("linear", "half_pixel").scale(2.0f), ElementsAre(0, 2.5f, 7.5f, 10));
  EXPECT_THAT(Line(2).mode("linear", "align_corners").size(5), ElementsAre(0, 2.5f, 5, 7.5f, 10));
  EXPECT_THAT(Line(2).mode("linear", "asymmetric").scale(2.0f), ElementsAre(0, 5, 10, 10));
  EXPECT_THAT(Line(4).mode("linear", "pytorch_half_pixel").size(1), ElementsAre(0));
  EXPECT_THAT(Line(4).mode("linear", "half_pixel").size(1), ElementsAre(15));
  EXPECT_THAT(Line(4).mode("linear", "tf_half_pixel_for_nn").scale(0.5f), ElementsAre(10, 30));
}

TEST(Resize, CubicPassesThroughItsPoints) {
  EXPECT_THAT(
      Line(5).mode("cubic", "align_corners").size(9),
      ElementsAre(0, ::testing::_, 10, ::testing::_, 20, ::testing::_, 30, ::testing::_, 40));
  // In the middle of a straight line the kernel reproduces it.
  EXPECT_FLOAT_EQ(Line(6).mode("cubic", "asymmetric").scale(2.0f)[5], 25.0f);
}

TEST(Resize, CropExtrapolates) {
  const auto crop = [](f32 begin, f32 end) {
    return Line(5)
        .mode("linear", "tf_crop_and_resize")
        .set("extrapolation_value", -1.0f)
        .crop(begin, end, 3);
  };
  EXPECT_THAT(crop(0.25f, 0.75f), ElementsAre(10, 20, 30));
  EXPECT_THAT(crop(-0.5f, 1.5f), ElementsAre(-1, 20, -1));
}

TEST(Resize, AntialiasAveragesOnTheWayDown) {
  const auto y = Line(8).mode("linear", "half_pixel").set("antialias", s64{1}).scale(0.5f);
  EXPECT_FLOAT_EQ(y[1], 25.0f);
  EXPECT_FLOAT_EQ(y[2], 45.0f);
}

TEST(Resize, AxesAndAspect) {
  const Tensor x(Dtype::f32, Shape{1, 2, 4, 8});
  const auto shape = [&](const char* policy, std::vector<s64> axes, std::vector<s64> sizes) {
    return OpCall("Resize")
        .in(x)
        .omit()
        .omit()
        .in(testing::ints(sizes))
        .ints("axes", axes)
        .attr("keep_aspect_ratio_policy", std::string(policy))
        .run()
        .shape();
  };
  EXPECT_EQ(shape("stretch", {3, 2}, {6, 5}), (Shape{1, 2, 5, 6}));
  EXPECT_EQ(shape("not_larger", {2, 3}, {8, 8}), (Shape{1, 2, 4, 8}));
  EXPECT_EQ(shape("not_smaller", {2, 3}, {8, 8}), (Shape{1, 2, 8, 16}));
}

TEST(Resize, NearestMovesAnyElements) {
  const Tensor x = tensor<s8>(Shape{1, 1, 2, 2}, {-128, 5, 127, 0});
  const Tensor scales = tensor<f32>(Shape{4}, {1, 1, 2, 2});
  EXPECT_EQ(values_of<s8>(OpCall("Resize").in(x).omit().in(scales).run()),
            (std::vector<s8>{-128, -128, 5, 5, -128, -128, 5, 5, 127, 127, 0, 0, 127, 127, 0, 0}));
  const Tensor truths(Dtype::boolean, Shape{1, 1, 2, 2});
  EXPECT_THAT(
      OpCall("Resize").in(truths).omit().in(scales).attr("mode", std::string("linear")).error(),
      HasSubstr("bool"));
  Graph graph;
  Node node;
  const auto reject = [&] {
    return find_op("Resize")->quant.quantize({graph, node, {}, {}, Dtype::u8}).reject;
  };
  EXPECT_EQ(reject(), "");
  node.attrs.set("mode", std::string("linear"));
  EXPECT_THAT(reject(), HasSubstr("nearest"));
}

TEST(Resize, OldOpsets) {
  const Tensor scales = tensor<f32>(Shape{4}, {1, 1, 2, 2});
  const auto ten = testing::parse("Resize", 10, {Tensor(), scales});
  EXPECT_EQ(ten.node.attrs.s("coordinate_transformation_mode", ""), "asymmetric");
  EXPECT_EQ(ten.node.attrs.s("nearest_mode", ""), "floor");
  EXPECT_EQ(ten.node.inputs.size(), 3u);
  EXPECT_EQ(ten.node.inputs[1], kNoValue);
  const auto shrinking = testing::parse("Resize", 10, {Tensor(), tensor<f32>(Shape{1}, {0.5f})});
  EXPECT_EQ(shrinking.node.attrs.s("nearest_mode", ""), "simple");
  const auto upsample =
      testing::parse("Upsample", 7, {Tensor()}, {{"scales", std::vector<f32>{1, 1, 2, 2}}});
  EXPECT_EQ(upsample.node.op->name, "Resize");
  EXPECT_EQ(values_of<f32>(*upsample.graph.constant_input(upsample.node, 2)),
            (std::vector<f32>{1, 1, 2, 2}));
}

TEST(Resize, Errors) {
  const Tensor x(Dtype::f32, Shape{1, 1, 2, 2});
  const auto scales = [&](const std::vector<f32>& s) {
    return OpCall("Resize").in(x).omit().in(tensor(Shape{std::ssize(s)}, s)).error();
  };
  EXPECT_THAT(scales({1, 1, 2}), HasSubstr("scales has 3 values, expected 4"));
  EXPECT_THAT(scales({1, 1, 0, 1}), HasSubstr("scale 0"));
  EXPECT_THAT(scales({1, 1, -2, 1}), HasSubstr("scale -2"));
  EXPECT_THAT(scales({1, 1, 1e30f, 1}), HasSubstr("dimension"));
  EXPECT_NE(OpCall("Resize").in(x).error(), "");
  EXPECT_NE(OpCall("Resize").in(x).omit().omit().in(testing::ints({1, 1, -1, 2})).error(), "");
  EXPECT_THAT(OpCall("Resize").in(x).attr("mode", std::string("area")).error(),
              HasSubstr("expected"));
  const Tensor four = tensor<f32>(Shape{4}, {1, 1, 2, 2});
  EXPECT_THAT(OpCall("Resize").in(x).omit().in(four).attr("mode", std::string("area")).error(),
              HasSubstr("'area'"));
  EXPECT_THAT(OpCall("Resize").in(x).omit().in(four).ints("axes", {1, 1, 2, 3}).error(),
              HasSubstr("twice"));
  EXPECT_THAT(OpCall("Resize")
                  .in(x)
                  .omit()
                  .in(four)
                  .attr("coordinate_transformation_mode", std::string("tf_crop_and_resize"))
                  .error(),
              HasSubstr("roi has 0 values"));
  EXPECT_THROW(testing::parse("Upsample", 1, {Tensor()}), Error);
}

}  // namespace
}  // namespace octet
