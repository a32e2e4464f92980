// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "core/error_testing.h"
#include "preprocess/found_preprocess.h"
#include "preprocess/preprocess_text.h"

namespace octet::test {
namespace {

using ::testing::HasSubstr;
using Size = Preprocess::Size;
using Fit = Preprocess::Fit;
using Align = Preprocess::Align;

TEST(Presets, EachIsWrittenAsItIsRead) {
  for (const PreprocessPreset& preset : preprocess_presets()) {
    EXPECT_EQ(preprocess_from_json(to_json(preset.preprocess), "x"), preset.preprocess)
        << preset.name;
    EXPECT_EQ(preprocess_from_json("{\"preset\": \"" + std::string(preset.name) + "\"}", "x"),
              preset.preprocess);
  }
}

TEST(Presets, OtherKeysCountBeforeThem) {
  const Preprocess p = preprocess_from_json(
      R"({"mean": 0.5, "preset": "torchvision", "letterbox": "64x32:7:center"})", "x");
  EXPECT_EQ(p.mean, std::vector<f32>{0.5f});
  EXPECT_EQ(p.std.size(), 3u);
  EXPECT_EQ(p.fit, Fit::as_said) << "a size was said";
  EXPECT_EQ(p.letterbox, (Size{64, 32}));
  EXPECT_EQ(p.letterbox_align, Align::center);
  EXPECT_EQ(p.letterbox_fill, 7);
  expect_error([] { preprocess_from_json(R"({"preset": "torch"})", "x"); },
               Error::Code::invalid_argument, {"torch", "torchvision"});
}

TEST(Presets, InWords) {
  EXPECT_EQ(describe(find_preprocess_preset("ultralytics")->preprocess),
            "letterbox of the input's size (center, fill 114), rgb, /255");
  EXPECT_EQ(describe(find_preprocess_preset("caffe")->preprocess, true),
            "not scaled, mean 103.939 116.779 123.68");
  Preprocess p;
  p.letterbox = Size{640, 480};
  p.scale = 255;
  EXPECT_EQ(describe(p), "letterbox 640x480 (corner, fill 114), rgb, /255");
}

TEST(Letterbox, Texts) {
  Preprocess p;
  parse_letterbox("8x9:center", "--letterbox", &p);
  EXPECT_EQ(p.letterbox_align, Align::center);
  EXPECT_EQ(p.letterbox_fill, 114);
  parse_letterbox("8x9:0:corner", "--letterbox", &p);
  EXPECT_EQ(p.letterbox_align, Align::corner);
  EXPECT_EQ(p.letterbox_fill, 0);
  for (const char* text : {"8x9:", "8x9:middle", "8x9:1:", "8x9::center", "8x9:300"}) {
    expect_error([&] { parse_letterbox(text, "--letterbox", &p); }, Error::Code::invalid_argument,
                 {"--letterbox"});
  }
}

TEST(Found, Ultralytics) {
  Metadata metadata = {{"author", "Ultralytics"}, {"stride", "32"}, {"task", "detect"}};
  EXPECT_FALSE(found_in_metadata(metadata)) << "no size";
  metadata.emplace_back("imgsz", "[480, 640]");
  const auto found = found_in_metadata(metadata);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->preprocess.letterbox, (Size{640, 480}));
  EXPECT_EQ(found->preprocess.letterbox_align, Align::center);
  EXPECT_EQ(found->preprocess.scale, 255);
  EXPECT_THAT(found->from, HasSubstr("Ultralytics, detect"));
  metadata[2].second = "classify";
  EXPECT_EQ(found_in_metadata(metadata)->preprocess.fit, Fit::crop);
  metadata.back().second = "[a lot]";
  metadata[2].second = "segment";
  EXPECT_EQ(found_in_metadata(metadata)->preprocess.fit, Fit::letterbox);
}

TEST(Found, HuggingFace) {
  const auto vit = found_in_hugging_face(
      R"({"do_normalize": true, "do_rescale": true, "do_resize": true, "image_mean": [0.5, 0.5, 0.5],
          "image_std": [0.5, 0.5, 0.5], "resample": 2, "rescale_factor": 0.00392156862745098,
          "size": {"height": 224, "width": 200}, "image_processor_type": "ViTImageProcessor"})",
      "p.json");
  ASSERT_TRUE(vit);
  EXPECT_EQ(vit->preprocess.resize, (Size{200, 224}));
  EXPECT_EQ(vit->preprocess.scale, 255);
  EXPECT_EQ(vit->preprocess.std, (std::vector<f32>{0.5f, 0.5f, 0.5f}));
  EXPECT_TRUE(vit->notes.empty());
  const auto resnet = found_in_hugging_face(
      R"({"do_resize": true, "size": {"shortest_edge": 224}, "crop_pct": 0.875, "resample": 3,
          "do_normalize": true, "image_mean": [0.485, 0.456, 0.406], "image_std": [0.2, 0.2, 0.2]})",
      "p.json");
  EXPECT_EQ(resnet->preprocess.resize_short, 256);
  EXPECT_EQ(resnet->preprocess.crop, (Size{224, 224}));
  EXPECT_EQ(resnet->notes.size(), 1u) << "bicubic";
  const auto offset = found_in_hugging_face(
      R"({"do_rescale": true, "rescale_factor": 0.00784313725490196, "rescale_offset": true,
          "do_center_crop": true, "crop_size": {"height": 8, "width": 8}, "size": 10,
          "do_resize": true, "do_normalize": false, "do_flip_channel_order": true})",
      "p.json");
  EXPECT_EQ(offset->preprocess.scale, 127.5f);
  EXPECT_EQ(offset->preprocess.mean, std::vector<f32>{1});
  EXPECT_EQ(offset->preprocess.resize_short, 10);
  EXPECT_EQ(offset->preprocess.crop, (Size{8, 8}));
  EXPECT_EQ(offset->preprocess.color, Preprocess::Color::bgr);
  EXPECT_FALSE(found_in_hugging_face(R"({"feature_size": 80})", "p.json")) << "of sounds";
}

TEST(Found, HostileFiles) {
  for (const char* text :
       {"", "[]", R"({"do_resize": 3})", R"({"do_resize": true, "size": "big"})",
        R"({"do_rescale": true, "rescale_factor": -1})",
        R"({"do_rescale": true, "rescale_factor": 0})", R"({"image_mean": ["a"]})",
        R"({"image_mean": [1, 2, 3, 4]})", R"({"image_mean": [0.5], "image_std": [0]})",
        R"({"do_resize": true, "size": {"height": 70000, "width": 1}})",
        R"({"do_resize": true, "size": 10, "crop_pct": 0, "do_center_crop": true})"}) {
    expect_error([&] { found_in_hugging_face(text, "p.json"); }, Error::Code::invalid_argument,
                 {"p.json"});
  }
  expect_error(
      [] {
        found_in_hugging_face(R"({"do_resize": true, "size": {"longest_edge": 9}})", "p.json");
      },
      Error::Code::unsupported, {"longest_edge"});
}

TEST(Found, Timm) {
  const auto found = found_in_timm(
      R"({"architecture": "resnet18", "pretrained_cfg": {"input_size": [3, 224, 224],
          "interpolation": "bilinear", "crop_pct": 0.95, "mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25]}})",
      "config.json");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->preprocess.fit, Fit::crop);
  EXPECT_EQ(found->preprocess.crop_share, 0.95f);
  EXPECT_EQ(found->preprocess.std, (std::vector<f32>{0.25f, 0.25f, 0.25f}));
  EXPECT_FALSE(found_in_timm(R"({"model_type": "bert"})", "config.json"));
  EXPECT_FALSE(found_in_timm("[1]", "config.json"));
  expect_error(
      [] {
        found_in_timm(R"({"mean": [1], "std": [1], "input_size": [3], "crop_pct": 7})", "c.json");
      },
      Error::Code::invalid_argument, {"c.json"});
}

}  // namespace
}  // namespace octet::test
