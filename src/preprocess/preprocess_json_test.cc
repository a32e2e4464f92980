// SPDX-License-Identifier: Apache-2.0
#include "core/error_testing.h"
#include "preprocess/preprocess_text.h"

namespace octet::test {
namespace {

using Size = Preprocess::Size;

Preprocess read(const std::string& text) { return preprocess_from_json(text, "prep.json"); }

void refuse(const std::string& text, const std::string& says) {
  expect_error([&] { read(text); }, Error::Code::invalid_argument, {"prep.json", says});
}

TEST(PreprocessJson, ReadsEveryKey) {
  const Preprocess p =
      read(R"({"orientation": "stored", "color": "bgr", "resize": "256", "crop": "224x200",
    "letterbox": "416x320:7", "scale": 255, "mean": [0.485, 0.456, 0.406], "std": 2, "layout": "nhwc"})");
  EXPECT_EQ(p.orientation, Preprocess::Orientation::stored);
  EXPECT_EQ(p.color, Preprocess::Color::bgr);
  EXPECT_EQ(p.resize_short, 256);
  EXPECT_EQ(p.resize, std::nullopt);
  EXPECT_EQ(p.crop, (Size{224, 200}));
  EXPECT_EQ(p.letterbox, (Size{416, 320}));
  EXPECT_EQ(p.letterbox_fill, 7);
  EXPECT_EQ(p.scale, 255);
  EXPECT_EQ(p.mean, (std::vector<f32>{0.485f, 0.456f, 0.406f}));
  EXPECT_EQ(p.std, std::vector<f32>{2});
  EXPECT_EQ(p.layout, "nhwc");
  EXPECT_EQ(read(R"({"resize": "300x200"})").resize, (Size{300, 200}));
  EXPECT_EQ(read(R"({"resize": 256})").resize_short, 256);
  EXPECT_EQ(read("{}"), Preprocess{});
}

TEST(PreprocessJson, WrittenFormReadsBackEqual) {
  Preprocess p;
  EXPECT_EQ(read(to_json(p)), p);
  p.orientation = Preprocess::Orientation::stored;
  p.color = Preprocess::Color::gray;
  p.resize_short = 300;
  p.resize = Size{20, 10};
  p.letterbox = Size{64, 32};
  p.letterbox_fill = 0;
  p.crop = Size{8, 9};
  p.scale = 0.1f;
  p.mean = {0.4914f};
  p.std = {0.2470f, 1.0f / 3.0f, 1e-30f};
  p.layout = "nhwc";
  EXPECT_EQ(read(to_json(p)), p);
  EXPECT_THAT(to_json(p), ::testing::HasSubstr("0.4914]"));
}

TEST(PreprocessJson, ErrorsNameFileAndKey) {
  refuse("", "not valid JSON");
  refuse("{\"scale\": ", "not valid JSON");
  refuse("[1]", "JSON object");
  refuse("{\"sclae\": 2}", "unknown key 'sclae'");
  refuse("{\"scale\": 2, \"scale\": 3}", "twice");
  refuse("{\"scale\": \"2\"}", "'scale'");
  refuse("{\"scale\": 0}", "scale");
  refuse("{\"scale\": -1}", "scale");
  refuse("{\"scale\": 1e39}", "scale");
  refuse("{\"scale\": NaN}", "not valid JSON");
  refuse("{\"std\": [1, 0, 1]}", "std");
  refuse("{\"mean\": [1, 2]}", "mean");
  refuse("{\"mean\": [1, 2, 3, 4]}", "mean");
  refuse("{\"mean\": [1, null, 3]}", "'mean'");
  refuse("{\"mean\": {}}", "'mean'");
  refuse("{\"color\": \"grey\"}", "'color'");
  refuse("{\"orientation\": \"up\"}", "'orientation'");
  refuse("{\"orientation\": 6}", "'orientation'");
  refuse("{\"color\": 3}", "'color'");
  refuse("{\"crop\": \"224\"}", "'crop'");
  refuse("{\"crop\": [224, 224]}", "'crop'");
  refuse("{\"resize\": \"0x5\"}", "'resize'");
  refuse("{\"resize\": -3}", "'resize'");
  refuse("{\"resize\": 4294967297}", "'resize'");
  refuse("{\"resize\": \"65535x65535\"}", "resize");
  refuse("{\"resize_short\": 2.5}", "'resize_short'");
  refuse("{\"letterbox\": \"8x8:300\"}", "'letterbox'");
  refuse("{\"letterbox_fill\": 0.5}", "letterbox_fill");
  refuse("{\"layout\": \"chwn\"}", "layout");
  refuse(std::string(1 << 17, ' '), "limit");
  refuse(std::string(50000, '['), "deeper");
  refuse("{\"mean\":" + std::string(30, '[') + std::string(30, ']') + "}", "deeper");
}

TEST(PreprocessText, Sizes) {
  EXPECT_EQ(parse_size("3x65535", "--crop"), (Size{3, 65535}));
  for (const char* text :
       {"", "x", "3", "3x", "x3", "3x4x5", "0x4", "-3x4", "3x65536", "3 x4", "99999999999x1"}) {
    expect_error([&] { parse_size(text, "--crop"); }, Error::Code::invalid_argument,
                 {"--crop", std::string("'") + text + "'"});
  }
}

TEST(PreprocessText, ResizeKeepsOneForm) {
  Preprocess p;
  parse_resize("256", "--resize", &p);
  EXPECT_EQ(p.resize_short, 256);
  parse_resize("10x20", "--resize", &p);
  EXPECT_EQ(p.resize_short, 0);
  EXPECT_EQ(p.resize, (Size{10, 20}));
  expect_error([&] { parse_resize("big", "--resize", &p); }, Error::Code::invalid_argument,
               {"--resize", "'big'"});
}

TEST(PreprocessText, Floats) {
  EXPECT_EQ(parse_floats("0.5,-1,2e2", "--mean"), (std::vector<f32>{0.5f, -1, 200}));
  for (const char* text : {"", "1,", ",1", "1,,2", "nan", "inf", "1e99", "1 2", "0x10"}) {
    expect_error([&] { parse_floats(text, "--mean"); }, Error::Code::invalid_argument, {"--mean"});
  }
}

}  // namespace
}  // namespace octet::test
