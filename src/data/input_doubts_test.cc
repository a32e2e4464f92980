// SPDX-License-Identifier: Apache-2.0
// Mistakes are named, and other data of the same preparation raise no doubt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "data/pixel_map.h"

namespace octet::test {
namespace {

using ::testing::HasSubstr;
using Cause = InputDoubt::Cause;

constexpr s64 kSide = 16;
const KnownInputs kInputs{{{"x", {Dtype::f32, {Shape::kDynamic, 3, kSide, kSide}}}}, {}, {}};

// Smooth spots of any brightness between `low` and `high`, both included, channels somewhat apart.
std::vector<Tensor> photos(s64 count, f32 low = 0, f32 high = 255, u32 seed = 1) {
  std::mt19937 random(seed);
  std::vector<Tensor> images;
  for (s64 n = 0; n < count; ++n) {
    Tensor& image = images.emplace_back(Dtype::f32, Shape{1, 3, kSide, kSide});
    const std::span<f32> x = image.mutable_as<f32>();
    for (s64 c = 0; c < 3; ++c) {
      const f32 phase = static_cast<f32>(random() % 100) / 10;
      for (s64 i = 0; i < kSide * kSide; ++i) {
        const f32 wave =
            std::sin(phase + static_cast<f32>(i % kSide) / 4 + static_cast<f32>(i / kSide) / 5);
        const f32 share = std::clamp(0.5f + 0.6f * wave, 0.0f, 1.0f);
        x[static_cast<size_t>(c * kSide * kSide + i)] = std::round(low + (high - low) * share);
      }
    }
  }
  return images;
}

Tensor prepared(const Tensor& image, const PixelMap& map) {
  InputDoubt change;
  change.repair = ChannelMap{map.factor, map.offset};
  return repaired(image, change);
}

InputProfile profile_of(const std::vector<Tensor>& images, const PixelMap& map) {
  InputWatch watch(kInputs);
  for (const Tensor& image : images) {
    const Tensor input = prepared(image, map);
    watch.add({&input, 1});
  }
  return watch.profiles()[0];
}

PixelMap preset(const char* name) {
  return map_of(find_preprocess_preset(name)->preprocess, 3, name);
}

KnownInputs calibrated(const PixelMap& map) {
  KnownInputs known = kInputs;
  known.calibrated = {profile_of(photos(20), map)};
  return known;
}

std::vector<InputDoubt> doubts(const PixelMap& right, const InputProfile& seen) {
  return doubts_about(calibrated(right), {&seen, 1}, {});
}

TEST(InputProfile, DoesNotDependOnTheOrderOfSamples) {
  std::vector<Tensor> images = photos(9);
  const InputProfile seen = profile_of(images, preset("torchvision"));
  EXPECT_EQ(seen.samples, 9);
  EXPECT_EQ(seen.channels.size(), 3u);
  std::ranges::reverse(images);
  std::swap(images[1], images[5]);
  EXPECT_EQ(profile_of(images, preset("torchvision")), seen);
}

TEST(InputDoubts, EachMistakeIsNamed) {
  const PixelMap right = preset("torchvision");
  const std::vector<Tensor> images = photos(8, 0, 255, 7);
  const auto seen = [&](const PixelMap& wrong) { return profile_of(images, wrong); };
  const auto cause = [&](const PixelMap& wrong) {
    const auto found = doubts(right, seen(wrong));
    EXPECT_EQ(found.size(), 1u) << wrong.name;
    return found.empty() ? Cause::unlike_codes : found[0].cause;
  };
  EXPECT_TRUE(doubts(right, seen(right)).empty());
  EXPECT_EQ(cause(preset("pixels")), Cause::not_scaled);
  EXPECT_EQ(cause(preset("unit")), Cause::wrong_mean);
  EXPECT_EQ(cause(preset("keras")), Cause::wrong_mean);
  EXPECT_EQ(cause(reversed(right)), Cause::bgr);
  Preprocess twice = right.numbers;
  twice.scale *= twice.scale;
  EXPECT_EQ(cause(map_of(twice, 3, "twice")), Cause::scaled_twice);
  Preprocess unscaled = right.numbers;
  unscaled.scale = 1;
  EXPECT_EQ(cause(map_of(unscaled, 3, "unscaled")), Cause::not_scaled);
  Preprocess no_mean = right.numbers;
  no_mean.mean.clear();
  EXPECT_EQ(cause(map_of(no_mean, 3, "no mean")), Cause::wrong_mean);
}

TEST(InputDoubts, RepairsGiveWhatCalibrationHad) {
  const std::vector<Tensor> images = photos(8);
  for (const char* right : {"torchvision", "keras", "unit", "pixels"}) {
    for (const char* wrong : {"torchvision", "keras", "unit", "pixels"}) {
      if (std::string(right) == wrong) continue;
      const auto found = doubts(preset(right), profile_of(images, preset(wrong)));
      ASSERT_EQ(found.size(), 1u) << right << ' ' << wrong;
      ASSERT_TRUE(found[0].repair);
      const Tensor mended = repaired(prepared(images[0], preset(wrong)), found[0]);
      const Tensor good = prepared(images[0], preset(right));
      for (size_t i = 0; i < good.as<f32>().size(); ++i)
        ASSERT_NEAR(mended.as<f32>()[i], good.as<f32>()[i], 1e-3) << right << ' ' << wrong;
    }
  }
}

TEST(InputDoubts, ChangesForArrays) {
  const auto change = [](const char* right, const char* wrong) {
    return doubts(preset(right), profile_of(photos(8), preset(wrong)))[0].change;
  };
  EXPECT_EQ(change("torchvision", "pixels").scale, 255);
  EXPECT_EQ(change("torchvision", "pixels").mean, (std::vector<f32>{0.485f, 0.456f, 0.406f}));
  EXPECT_EQ(change("unit", "pixels").scale, 255);
  EXPECT_TRUE(change("unit", "pixels").mean.empty());
  EXPECT_EQ(change("torchvision", "unit").scale, 1);
  EXPECT_TRUE(change("unit", "torchvision").empty()) << "nothing divides first and adds then";
}

TEST(InputDoubts, AMeanThatIsToGoIsSaid) {
  const InputHistory history{true, find_preprocess_preset("torchvision")->preprocess,
                             find_preprocess_preset("pixels")->preprocess};
  const InputProfile seen = profile_of(photos(8), preset("torchvision"));
  const auto found = doubts_about(calibrated(preset("pixels")), {&seen, 1}, history);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].change.scale, 1);
  EXPECT_EQ(found[0].change.mean, std::vector<f32>{0});
  EXPECT_EQ(found[0].change.std, std::vector<f32>{1});
}

TEST(InputDoubts, OtherDataOfTheSamePreparationRaiseNone) {
  for (const char* name : {"torchvision", "keras", "unit", "pixels", "caffe", "clip"}) {
    const PixelMap right = preset(name);
    for (const auto& [low, high] : std::initializer_list<std::pair<f32, f32>>{
             {0, 255}, {0, 90}, {0, 40}, {120, 180}, {200, 255}, {3, 250}}) {
      for (const s64 count : {1, 2, 40}) {
        EXPECT_TRUE(doubts(right, profile_of(photos(count, low, high, 5), right)).empty())
            << name << ' ' << low << ' ' << high << ' ' << count;
      }
    }
  }
}

TEST(InputDoubts, PixelByPixel) {
  const PixelMap right = preset("unit");
  InputWatch watch(kInputs);
  for (const Tensor& image : photos(8)) {
    const Tensor input = prepared(image, right);
    Tensor turned(Dtype::f32, input.shape());
    for (size_t i = 0; i < 3 * kSide * kSide; ++i)
      turned.mutable_as<f32>()[i] = input.as<f32>()[i % 3 * kSide * kSide + i / 3];
    watch.add({&turned, 1});
  }
  const auto found = doubts(right, watch.profiles()[0]);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cause, Cause::layout);
  EXPECT_THAT(found[0].text, HasSubstr("NHWC"));
}

TEST(InputDoubts, ColorsThatWereSaidOtherwise) {
  InputHistory history{true, Preprocess(), Preprocess()};
  history.remembered->color = Preprocess::Color::bgr;
  const InputProfile seen = profile_of(photos(8), preset("pixels"));
  const auto found = doubts_about(calibrated(preset("pixels")), {&seen, 1}, history);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cause, Cause::bgr);
  EXPECT_EQ(found[0].change.color, Preprocess::Color::bgr);
}

TEST(InputDoubts, CodesAloneTellHowFarDataReached) {
  KnownInputs known = kInputs;
  known.codes = {CodeSpan{-2.66, 2.64}};
  const InputProfile unit = profile_of(photos(8), preset("unit"));
  const auto found = doubts_about(known, {&unit, 1}, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].cause, Cause::unlike_codes);
  EXPECT_THAT(found[0].text, HasSubstr("ImageNet"));
  const InputProfile right = profile_of(photos(8), preset("torchvision"));
  EXPECT_TRUE(doubts_about(known, {&right, 1}, {}).empty());
}

TEST(InputWatch, CountsWhatCodesClip) {
  KnownInputs known = kInputs;
  known.codes = {CodeSpan{-1, 2}};
  InputWatch watch(known);
  Tensor x(Dtype::f32, {1, 3, 1, 2});
  std::ranges::copy(std::vector<f32>{-1, 2, 2.5f, -3, 0, 1}, x.mutable_as<f32>().begin());
  watch.add({&x, 1});
  watch.add({&x, 1});
  const auto clipped = watch.clipped();
  ASSERT_EQ(clipped.size(), 1u);
  EXPECT_EQ(clipped[0].elements, 12);
  EXPECT_EQ(clipped[0].clipped, 4);
  EXPECT_EQ(clipped[0].min, -3);
  EXPECT_EQ(clipped[0].max, 2.5);
}

}  // namespace
}  // namespace octet::test
