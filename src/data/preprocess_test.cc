// SPDX-License-Identifier: Apache-2.0
#include "data/preprocess.h"

#include "data/resize.h"
#include "data/test_support.h"

namespace octet::test {
namespace {

using ::testing::ElementsAre;
using Size = Preprocess::Size;

std::vector<f32> values(const Tensor& tensor) {
  const auto span = tensor.as<f32>();
  return {span.begin(), span.end()};
}

// Two by one pixels: (10, 20, 30) and (40, 50, 60).
Image two_pixels() { return {2, 1, 3, {10, 20, 30, 40, 50, 60}}; }

// Each pixel holds 16 * y + x, so that a crop shows where it came from.
Image coordinates(int width, int height) {
  Image image{width, height, 1, {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) image.pixels.push_back(static_cast<u8>(16 * y + x));
  }
  return image;
}

Preprocess gray() {
  Preprocess p;
  p.color = Preprocess::Color::gray;
  return p;
}

TEST(Preprocess, ColorOrderAndLayout) {
  Preprocess p;
  EXPECT_THAT(values(preprocess_image(two_pixels(), p, "x")), ElementsAre(10, 40, 20, 50, 30, 60));
  p.color = Preprocess::Color::bgr;
  EXPECT_THAT(values(preprocess_image(two_pixels(), p, "x")), ElementsAre(30, 60, 20, 50, 10, 40));
  p.layout = "nhwc";
  const Tensor nhwc = preprocess_image(two_pixels(), p, "x");
  EXPECT_EQ(nhwc.shape(), Shape({1, 2, 3}));
  EXPECT_THAT(values(nhwc), ElementsAre(30, 20, 10, 60, 50, 40));
}

TEST(Preprocess, GrayImageBecomesThreeEqualChannels) {
  const Tensor tensor = preprocess_image({2, 1, 1, {7, 9}}, Preprocess{}, "x");
  EXPECT_THAT(values(tensor), ElementsAre(7, 9, 7, 9, 7, 9));
}

TEST(Preprocess, ScaleThenMeanThenStd) {
  Preprocess p;
  p.scale = 10;
  p.mean = {1, 2, 3};
  p.std = {2, 4, 0.5};
  EXPECT_THAT(values(preprocess_image(two_pixels(), p, "x")), ElementsAre(0, 1.5, 0, 0.75, 0, 6));
  p.mean = {1};
  p.std = {};
  EXPECT_THAT(values(preprocess_image(two_pixels(), p, "x")), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST(Preprocess, CropOffsetIsHalfTheDifferenceTiesToEven) {
  const auto first_pixel = [](int size) {
    Preprocess p = gray();
    p.crop = Size{size, size};
    return values(preprocess_image(coordinates(9, 9), p, "x")).front();
  };
  EXPECT_EQ(first_pixel(9), 0);
  EXPECT_EQ(first_pixel(8), 0);           // 0.5 -> 0
  EXPECT_EQ(first_pixel(7), 16 + 1);      // 1
  EXPECT_EQ(first_pixel(6), 16 * 2 + 2);  // 1.5 -> 2
  EXPECT_EQ(first_pixel(4), 16 * 2 + 2);  // 2.5 -> 2
}

TEST(Preprocess, CropLargerThanImageIsAnError) {
  Preprocess p = gray();
  p.crop = Size{10, 3};
  expect_error([&] { preprocess_image(coordinates(9, 9), p, "cat.jpg"); },
               Error::Code::invalid_argument, {"cat.jpg", "10x3", "9x9", "resize"});
}

TEST(Preprocess, ShorterSideDecides) {
  Preprocess p;
  p.resize_short = 4;
  EXPECT_EQ(preprocess_image(make_pattern(7, 5, 3), p, "x").shape(), Shape({3, 4, 5}));
  EXPECT_EQ(preprocess_image(make_pattern(5, 7, 3), p, "x").shape(), Shape({3, 5, 4}));
  EXPECT_EQ(preprocess_image(make_pattern(3, 3, 3), p, "x").shape(), Shape({3, 4, 4}));
}

TEST(Preprocess, ShorterSideOfAThinImageKeepsToThePixelLimit) {
  Preprocess p;
  p.resize_short = 65535;
  expect_error([&] { preprocess_image(make_pattern(1, 100, 3), p, "thin.png"); },
               Error::Code::invalid_argument, {"thin.png", "limit"});
}

TEST(Preprocess, LetterboxPadsRightAndBottom) {
  Preprocess p = gray();
  p.letterbox = Size{4, 4};
  p.letterbox_fill = 9;
  const Image wide{4, 2, 1, {1, 2, 3, 4, 5, 6, 7, 8}};
  EXPECT_THAT(values(preprocess_image(wide, p, "x")),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9, 9, 9, 9, 9));
  const Image high{2, 4, 1, {1, 2, 3, 4, 5, 6, 7, 8}};
  EXPECT_THAT(values(preprocess_image(high, p, "x")),
              ElementsAre(1, 2, 9, 9, 3, 4, 9, 9, 5, 6, 9, 9, 7, 8, 9, 9));
  // Exact arithmetic: 480 * (416 / 640.0) in floating point could come out below 312.
  p.letterbox = Size{416, 416};
  const Tensor tensor = preprocess_image(make_pattern(640, 480, 1), p, "x");
  EXPECT_NE(tensor.as<f32>()[311 * 416 + 5], 9);
  EXPECT_EQ(tensor.as<f32>()[312 * 416 + 5], 9);
}

// As Ultralytics' LetterBox: sides to the nearest, what is left over shared, the odd row behind.
TEST(Preprocess, LetterboxInTheCenter) {
  Preprocess p = gray();
  p.letterbox = Size{4, 4};
  p.letterbox_fill = 9;
  p.letterbox_align = Preprocess::Align::center;
  const Image wide{4, 2, 1, {1, 2, 3, 4, 5, 6, 7, 8}};
  EXPECT_THAT(values(preprocess_image(wide, p, "x")),
              ElementsAre(9, 9, 9, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 9));
  const Image high{1, 4, 1, {1, 2, 3, 4}};
  EXPECT_THAT(values(preprocess_image(high, p, "x")),
              ElementsAre(9, 1, 9, 9, 9, 2, 9, 9, 9, 3, 9, 9, 9, 4, 9, 9));
  p.letterbox = Size{640, 640};
  const Tensor tensor = preprocess_image(make_pattern(500, 375, 1), p, "x");
  EXPECT_EQ(tensor.as<f32>()[79 * 640 + 5], 9);
  EXPECT_NE(tensor.as<f32>()[80 * 640 + 5], 9);
  EXPECT_NE(tensor.as<f32>()[559 * 640 + 5], 9);
  EXPECT_EQ(tensor.as<f32>()[560 * 640 + 5], 9);
}

TEST(Preprocess, PresetsFollowTheInput) {
  const TensorType nhwc{Dtype::f32, {1, 299, 299, 3}};
  const Preprocess keras =
      resolve_preprocess(find_preprocess_preset("keras")->preprocess, nhwc, "x");
  EXPECT_EQ(keras.layout, "nhwc");
  EXPECT_EQ(keras.resize, (Size{299, 299}));
  EXPECT_EQ(keras.fit, Preprocess::Fit::as_said);
  const TensorType nchw{Dtype::f32, {1, 3, 224, 224}};
  const Preprocess torchvision =
      resolve_preprocess(find_preprocess_preset("torchvision")->preprocess, nchw, "x");
  EXPECT_EQ(torchvision.resize_short, 256);
  EXPECT_EQ(torchvision.crop, (Size{224, 224}));
  const TensorType open{Dtype::f32, {1, 3, Shape::kDynamic, Shape::kDynamic}};
  EXPECT_EQ(resolve_preprocess(find_preprocess_preset("yolo")->preprocess, open, "x").letterbox,
            (Size{640, 640}));
}

TEST(Preprocess, StepsRunInTheOrderOfTheMembers) {
  Preprocess p;
  p.resize_short = 8;
  p.crop = Size{6, 6};
  const Image src = make_pattern(20, 10, 3);
  const Image resized = resize_bilinear(src, 16, 8);
  const Tensor tensor = preprocess_image(src, p, "x");
  EXPECT_EQ(tensor.shape(), Shape({3, 6, 6}));
  EXPECT_EQ(tensor.as<f32>()[0], resized.pixels[(1 * 16 + 5) * 3]);
}

TEST(Preprocess, MeanMustMatchTheChannels) {
  Preprocess p = gray();
  p.mean = {1, 2, 3};
  expect_error([&] { preprocess_image(coordinates(2, 2), p, "x.png"); },
               Error::Code::invalid_argument, {"x.png", "mean has 3", "1 channel"});
}

TEST(Preprocess, ScaleArrayUsesTheChannelAxis) {
  Preprocess p;
  p.scale = 2;
  p.mean = {0, 1, 2};
  const std::vector<f32> src = {2, 4, 6, 8, 10, 12};
  Tensor nchw = Tensor::of<f32>(Shape{1, 3, 1, 2}, src);
  scale_array(&nchw, p, "x");
  EXPECT_THAT(values(nchw), ElementsAre(1, 2, 2, 3, 3, 4));
  p.layout = "nhwc";
  Tensor nhwc = Tensor::of<f32>(Shape{1, 1, 2, 3}, src);
  scale_array(&nhwc, p, "x");
  EXPECT_THAT(values(nhwc), ElementsAre(1, 1, 1, 4, 4, 4));
  Tensor flat = Tensor::of<f32>(Shape{1, 6}, src);
  expect_error([&] { scale_array(&flat, p, "x.npy"); }, Error::Code::invalid_argument, {"x.npy"});
}

TEST(PreprocessDefault, FollowsTheInput) {
  const Preprocess rgb = default_preprocess({Dtype::f32, {1, 3, 32, 48}});
  EXPECT_EQ(rgb.resize, (Size{48, 32}));
  EXPECT_EQ(rgb.scale, 255.0f);
  EXPECT_EQ(rgb.color, Preprocess::Color::rgb);
  EXPECT_EQ(rgb.layout, "nchw");
  EXPECT_EQ(default_preprocess({Dtype::f32, {-1, 1, 8, 8}}).color, Preprocess::Color::gray);
  const Preprocess nhwc = default_preprocess({Dtype::f32, {-1, 24, 48, 3}});
  EXPECT_EQ(nhwc.layout, "nhwc");
  EXPECT_EQ(nhwc.resize, (Size{48, 24}));
  EXPECT_EQ(default_preprocess({Dtype::f32, {-1, 3, -1, -1}}).resize, std::nullopt);
  expect_error(
      [] {
        default_preprocess({Dtype::f32, {1, 128}});
      },
      Error::Code::unsupported, {"f32[1,128]", ".npz"});
  expect_error(
      [] {
        default_preprocess({Dtype::f32, {1, 4, 8, 8}});
      },
      Error::Code::unsupported, {"f32[1,4,8,8]"});
}

TEST(PreprocessDefault, SizeIsFilledInOnlyWithoutGeometry) {
  const TensorType input{Dtype::f32, {1, 3, 32, 32}};
  Preprocess p;
  p.scale = 2;
  EXPECT_EQ(resolve_preprocess(p, input, "x").resize, (Size{32, 32}));
  p.resize_short = 40;
  p.crop = Size{32, 32};
  EXPECT_EQ(resolve_preprocess(p, input, "x"), p);
}

TEST(PreprocessDefault, ContradictionsAreErrors) {
  const TensorType input{Dtype::f32, {1, 3, 32, 32}};
  Preprocess p;
  p.color = Preprocess::Color::gray;
  expect_error([&] { resolve_preprocess(p, input, "image"); }, Error::Code::invalid_argument,
               {"image", "1 channel", "rgb"});
  p = {};
  p.resize = Size{64, 64};
  expect_error([&] { resolve_preprocess(p, input, "image"); }, Error::Code::invalid_argument,
               {"64x64", "width 32"});
  p = {};
  p.layout = "nhwc";
  expect_error([&] { resolve_preprocess(p, input, "image"); }, Error::Code::invalid_argument,
               {"nhwc", "nchw"});
  p = {};
  p.std = {0};
  expect_error([&] { resolve_preprocess(p, input, "image"); }, Error::Code::invalid_argument,
               {"std"});
}

}  // namespace
}  // namespace octet::test
