// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/attributes/window.h"
#include "ops/shared/conv.h"
#include "ops/shared/op_testing.h"
#include "ops/shared/pool.h"

namespace octet {
namespace {

using testing::OpCall;

Window read_window(const Node& node, const Shape& input, const std::vector<s64>& kernel) {
  const auto attributes = attributes_of<PoolAttributes>(node);
  return window_of(attributes, input, kernel, attributes.ceil_mode);
}

Node node_with(std::initializer_list<std::pair<const char*, std::vector<s64>>> attrs) {
  Node node;
  for (const auto& [name, value] : attrs) node.attrs.set(name, value);
  return node;
}

TEST(Window, ExplicitPadsAndStrides) {
  const Node node = node_with({{"pads", {1, 2, 3, 4}}, {"strides", {2, 3}}, {"dilations", {1, 2}}});
  const Window window = read_window(node, Shape{1, 1, 10, 20}, std::vector<s64>{3, 4});
  EXPECT_EQ(window.h().pad_begin, 1);
  EXPECT_EQ(window.w().pad_begin, 2);
  EXPECT_EQ(window.h().pad_end, 3);
  EXPECT_EQ(window.w().pad_end, 4);
  EXPECT_EQ(window.h().out, (10 + 4 - 3) / 2 + 1);
  EXPECT_EQ(window.w().out, (20 + 6 - 7) / 3 + 1);
  EXPECT_EQ(window.d().out, 1);
  EXPECT_EQ(window.output_shape(5, 7), (Shape{5, 7, 6, 7}));
}

TEST(Window, SamePadsTheOddElementBehindOrBefore) {
  Node node = node_with({{"strides", {2}}});
  node.attrs.set("auto_pad", std::string("SAME_UPPER"));
  Window window = read_window(node, Shape{1, 1, 6}, std::vector<s64>{3});
  EXPECT_EQ(window.w().out, 3);
  EXPECT_EQ(window.w().pad_begin, 0);
  EXPECT_EQ(window.w().pad_end, 1);
  node.attrs.set("auto_pad", std::string("SAME_LOWER"));
  window = read_window(node, Shape{1, 1, 6}, std::vector<s64>{3});
  EXPECT_EQ(window.w().pad_begin, 1);
  EXPECT_EQ(window.w().pad_end, 0);
}

TEST(Window, CeilModeAddsNoWindowThatStartsBehindTheInput) {
  Node node = node_with({{"strides", {2}}});
  node.attrs.set("ceil_mode", s64{1});
  EXPECT_EQ(read_window(node, Shape{1, 1, 4}, {1}).w().out, 2);  // not 3
  EXPECT_EQ(read_window(node, Shape{1, 1, 5}, {2}).w().out, 3);
}

// Every tap in the range reads inside, every other outside.
TEST(Window, TapsInsideAgreesWithTheDefinition) {
  for (s64 in = 1; in <= 6; ++in) {
    for (s64 dilation = 1; dilation <= 3; ++dilation) {
      for (s64 pad = 0; pad <= 4; ++pad) {
        const WindowAxis axis{.in = in,
                              .out = 8,
                              .kernel = 3,
                              .stride = 2,
                              .dilation = dilation,
                              .pad_begin = pad,
                              .pad_end = 0};
        for (s64 o = 0; o < 8; ++o) {
          const TapRange taps = taps_inside(axis, o);
          for (s64 k = 0; k < axis.kernel; ++k) {
            const s64 at = o * 2 - pad + k * dilation;
            EXPECT_EQ(k >= taps.first && k < taps.last, at >= 0 && at < in) << in << o << k;
          }
        }
      }
    }
  }
}

std::string conv_error(const Shape& x, const Shape& w, const char* attr, AttrValue value) {
  OpCall call("Conv");
  return call.in(Tensor(Dtype::f32, x))
      .in(Tensor(Dtype::f32, w))
      .attr(attr, std::move(value))
      .error();
}

TEST(ConvErrors, NameTheAttributeAndItsValue) {
  const Shape x{1, 3, 8, 8}, w{4, 3, 3, 3};
  using Ints = std::vector<s64>;
  const auto holds = [](const char* text) { return ::testing::HasSubstr(text); };
  using namespace ::testing;  // NOLINT
  EXPECT_THAT(conv_error(x, Shape{4, 3, 3}, "group", s64{1}), holds("equal ranks"));
  EXPECT_THAT(conv_error(x, w, "strides", Ints{0, 1}), holds("'strides' holds 0"));
  EXPECT_THAT(conv_error(x, w, "strides", Ints{1}), holds("'strides' has 1 values, expected 2"));
  EXPECT_THAT(conv_error(x, w, "dilations", Ints{0, 0}), holds("'dilations' holds 0"));
  EXPECT_THAT(conv_error(x, w, "dilations", Ints{1LL << 40, 1}), holds("'dilations' holds"));
  EXPECT_THAT(conv_error(x, w, "group", s64{0}), holds("'group' is 0"));
  EXPECT_THAT(conv_error(x, w, "group", s64{-1}), holds("'group' is -1"));
  EXPECT_THAT(conv_error(x, w, "group", s64{2}), holds("'group' is 2"));
  EXPECT_THAT(conv_error(x, Shape{4, 2, 3, 3}, "group", s64{1}), holds("input channels"));
  EXPECT_THAT(conv_error(x, w, "pads", Ints{1}), holds("'pads' has 1 values, expected 4"));
  EXPECT_THAT(conv_error(x, w, "pads", Ints{-100, -100, -100, -100}), holds("'pads' holds -100"));
  EXPECT_THAT(conv_error(x, w, "kernel_shape", Ints{3, 5}), holds("differs from the weights'"));
  EXPECT_THAT(conv_error(x, w, "kernel_shape", Ints{1LL << 40, 3}), holds("kernel_shape"));
  EXPECT_THAT(conv_error(x, Shape{4, 3, 64, 64}, "group", s64{1}), holds("covers 64 elements"));
  EXPECT_THAT(conv_error(x, Shape{4, 3, 0, 3}, "group", s64{1}), holds("kernel size 0"));
  EXPECT_THAT(conv_error(x, w, "auto_pad", std::string("SAME")), holds("'auto_pad' is 'SAME'"));
  EXPECT_THAT(conv_error(x, w, "strides", s64{1}), holds("kind int"));
  EXPECT_EQ(conv_error(x, w, "group", s64{1}), "");
}

TEST(ConvErrors, BiasAndResidualMustFit) {
  using namespace ::testing;  // NOLINT
  const Tensor x(Dtype::f32, Shape{1, 3, 8, 8}), w(Dtype::f32, Shape{4, 3, 3, 3});
  EXPECT_THAT(OpCall("Conv").in(x).in(w).in(Tensor(Dtype::f32, Shape{3})).error(),
              HasSubstr("bias"));
  EXPECT_THAT(OpCall("Conv").in(x).in(w).omit().in(Tensor(Dtype::f32, Shape{1, 4, 8, 8})).error(),
              HasSubstr("residual"));
  EXPECT_THAT(OpCall("Conv").in(x).in(Tensor(Dtype::f16, Shape{4, 3, 3, 3})).error(),
              HasSubstr("f16"));
}

TEST(PoolErrors, NameTheAttributeAndItsValue) {
  using namespace ::testing;  // NOLINT
  const Tensor x(Dtype::f32, Shape{1, 3, 8, 8});
  const auto error = [&](std::vector<s64> kernel, std::vector<s64> pads) {
    return OpCall("MaxPool").in(x).ints("kernel_shape", kernel).ints("pads", pads).error();
  };
  EXPECT_THAT(error({3}, {0, 0}), HasSubstr("1 spatial dimensions"));
  EXPECT_THAT(error({0, 1}, {0, 0, 0, 0}), HasSubstr("kernel size 0"));
  EXPECT_THAT(error({1LL << 40, 1}, {0, 0, 0, 0}), HasSubstr("kernel size 1099511627776"));
  EXPECT_THAT(error({3, 3}, {3, 0, 0, 0}), HasSubstr("padding must be smaller"));
  EXPECT_THAT(error({9, 3}, {0, 0, 0, 0}), HasSubstr("covers 9 elements"));
  EXPECT_THAT(OpCall("MaxPool").in(x).error(), HasSubstr("'kernel_shape' is missing"));
  EXPECT_THAT(
      OpCall("MaxPool").in(Tensor(Dtype::f32, Shape{1, 3})).ints("kernel_shape", {}).error(),
      HasSubstr("no spatial dimensions"));
}

}  // namespace
}  // namespace octet
