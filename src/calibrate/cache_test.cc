// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <random>

#include "calibrate/cache_details.h"
#include "calibrate/range.h"
#include "core/error_testing.h"
#include "octet/calibrate.h"

namespace octet::test {
namespace {

using testing::HasSubstr;

CalibrationCache parsed(std::string_view text) { return parse_calibration_cache(text, "c.cache"); }

TEST(CacheText, ThePublishedForm) {
  const CalibrationCache cache = parsed(
      "TRT-8601-EntropyCalibration2\n"
      "images: 3c010a14\n"
      "conv1_out: 3c60dd38\n"
      "(Unnamed Layer* 12) [Constant]_output: 4000890a\n"
      "scope/op:0: 3C008912\n");
  EXPECT_EQ(cache.header, "TRT-8601-EntropyCalibration2");
  ASSERT_EQ(cache.scales.size(), 4u);
  EXPECT_EQ(cache.scales[0].tensor, "images");
  EXPECT_EQ(std::bit_cast<u32>(cache.scales[0].scale), 0x3c010a14u);
  EXPECT_EQ(cache.scales[3].tensor, "scope/op:0");
  EXPECT_EQ(std::bit_cast<u32>(cache.scales[3].scale), 0x3c008912u);
}

TEST(CacheText, WhatEditorsDoToItIsAccepted) {
  const CalibrationCache cache = parsed(
      "\xef\xbb\xbfTRT-100900-MinMaxCalibration\r\n\r\ngr\xc3\xb6\xc3\x9f"
      "e:  3c010a14 \t\r\n");
  EXPECT_EQ(cache.header, "TRT-100900-MinMaxCalibration");
  ASSERT_EQ(cache.scales.size(), 1u);
  EXPECT_EQ(cache.scales[0].tensor,
            "gr\xc3\xb6\xc3\x9f"
            "e");
}

TEST(CacheText, LeadingZerosAreLeftOutAsTensorRTDoes) {
  const CalibrationCache cache = parsed(
      "TRT-8501-EntropyCalibration2\n"
      "366: 0\n"
      "(Unnamed Layer* 64) [Shuffle]_output: 0\n"
      "dead: 1f4add4\n"
      "denormal: 1\n"
      "lost a digit: 3c010a1\n"
      "images: 3c010a14\n"
      "least: 10000000\n");
  ASSERT_EQ(cache.scales.size(), 7u);
  EXPECT_EQ(cache.scales[0].tensor, "366");
  EXPECT_EQ(cache.scales[0].scale, 0.0f);
  EXPECT_EQ(cache.scales[1].tensor, "(Unnamed Layer* 64) [Shuffle]_output");
  EXPECT_EQ(std::bit_cast<u32>(cache.scales[2].scale), 0x01f4add4u);
  for (size_t i = 0; i < 5; ++i) EXPECT_FALSE(cache.scales[i].tells_range()) << i;
  for (size_t i = 5; i < 7; ++i) EXPECT_TRUE(cache.scales[i].tells_range()) << i;
  EXPECT_THAT(to_text(cache), HasSubstr("\n366: 00000000\n"));
}

TEST(CacheText, TextsComeBack) {
  const std::string text = "TRT-8601-EntropyCalibration2\na: 3c010a14\nb:c: 4000890a\n";
  EXPECT_EQ(to_text(parsed(text)), text);
}

TEST(CacheText, EveryWrongLineIsNamedAtOnce) {
  expect_error(
      [] {
        parsed(
            "TRT-8601-EntropyCalibration2\n"
            "inf: 7f800000\nnan: 7fc00000\nnothing:\nminus: bc010a14\nminus zero: 80000000\n"
            "sign: -3c010a1\nlong: 3c010a14ff\ntext: scale\nno scale\n"
            "twice: 3c010a14\ntwice: 3c010a15\n");
      },
      Error::Code::invalid_argument,
      {"c.cache", "10 lines are wrong", "line 2: tensor 'inf'", "line 3: tensor 'nan'",
       "line 4: tensor 'nothing'", "line 5: tensor 'minus'", "line 6: tensor 'minus zero'",
       "line 7: tensor 'sign'", "line 8: tensor 'long'", "line 9: tensor 'text'", "line 10",
       "line 12: tensor 'twice'", "in line 11"});
}

TEST(CacheText, TheSameScaleTwiceIsNoContradiction) {
  EXPECT_EQ(parsed("TRT-1-X\na: 3c010a14\na: 3c010a14\n").scales.size(), 1u);
}

TEST(CacheText, WithoutHeaderOrTensors) {
  for (const char* text : {"", "\n", "a: 3c010a14\n"})
    expect_error([&] { parsed(text); }, Error::Code::invalid_argument, {"line 1", "TRT-8601"});
  expect_error([] { parsed("TRT-8601-EntropyCalibration2\n"); }, Error::Code::invalid_argument,
               {"no tensor"});
}

CacheDetails details_of(const std::vector<f32>& values) {
  CacheDetails details{.model_hash = "m",
                       .data_hash = "d",
                       .data = "photos",
                       .samples = 3,
                       .device = "Chip \"1\"",
                       .preprocess = Preprocess(),
                       .inputs = {},
                       .tensors = {}};
  Histogram histogram;
  histogram.observe(values);
  Range range = estimate_range(histogram, RangeRule::entropy, "conv\n1");
  range.seen = std::make_shared<TensorStatistics>(
      TensorStatistics{static_cast<f32>(histogram.bin_width()),
                       {histogram.counts().begin(), histogram.counts().end()},
                       {0.1, -1.0 / 3},
                       {2.5, 1e-30},
                       {-1.5, -1.0 / 7},
                       {3.25, 0.0}});
  details.tensors.push_back({range, histogram});
  details.losses = {{"conv", 0.1, 1e-30, 0.5}, {"other", 0, 1, 1}};
  return details;
}

TEST(CacheDetails, NumbersReadBackEqual) {
  std::mt19937 random(3);
  std::normal_distribution<f32> normal(0.3f, 2.0f);
  std::vector<f32> values(5000);
  for (f32& x : values) x = normal(random);
  const CacheDetails want = details_of(values);
  const CacheDetails got = read_cache_details(write_cache_details(want), "c.json");
  EXPECT_EQ(got.samples, 3);
  EXPECT_EQ(got.device, "Chip \"1\"");
  EXPECT_EQ(got.preprocess, want.preprocess);
  ASSERT_EQ(got.tensors.size(), 1u);
  const Range &a = got.tensors[0].range, &b = want.tensors[0].range;
  EXPECT_EQ(a.tensor, b.tensor);
  EXPECT_EQ(a.min, b.min);
  EXPECT_EQ(a.max, b.max);
  EXPECT_EQ(a.threshold, b.threshold);
  EXPECT_EQ(a.method, b.method);
  EXPECT_EQ(a.seen->channel_mean, b.seen->channel_mean);
  EXPECT_EQ(a.seen->channel_power, b.seen->channel_power);
  EXPECT_EQ(a.seen->channel_min, b.seen->channel_min);
  EXPECT_EQ(a.seen->channel_max, b.seen->channel_max);
  EXPECT_EQ(got.tensors[0].histogram, want.tensors[0].histogram);
  ASSERT_EQ(got.losses.size(), 2u);
  EXPECT_EQ(got.losses[0].layer, "conv");
  EXPECT_EQ(got.losses[0].lost, 0.1);
  EXPECT_EQ(got.losses[0].slower, 1e-30);
  EXPECT_EQ(got.losses[0].macs, 0.5);
}

TEST(CacheDetails, AnyDamageIsOneError) {
  const std::string text = write_cache_details(details_of({1, 2, -3}));
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string damaged = text;
    const size_t at = damaged.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return damaged.replace(at, from.size(), to);
  };
  for (const std::string& damaged :
       {std::string(), std::string("[]"), text.substr(0, text.size() / 2),
        with("\"version\":1", "\"version\":2"), with("\"samples\":3", "\"samples\":-3"),
        with("\"device\":\"Chip", "\"device\":3,\"other\":\"Chip"),
        with("\"min\":-3.0", "\"min\":1e300"), with("\"min\":-3.0", "\"min\":4.0"),
        with("\"zeros\":0", "\"zeros\":5"), with("\"method\":\"entropy\"", "\"method\":\"best\""),
        with("\"bin_width\"", "\"bins_width\""), with("\"tensors\":[", "\"tensors\":[7,"),
        with("\"channel_mean\":[0.1", "\"channel_mean\":[1,0.1"),
        with("\"channel_min\":[-1.5", "\"channel_min\":[4.5"),
        with("\"channel_max\":[3.25", "\"channel_max\":[1e300"),
        with("\"lost\":0.1", "\"lost\":-0.1"), with("\"lost\":0.1", "\"lost\":\"all\""),
        with("\"name\":\"other\"", "\"name\":\"conv\""), with("\"layers\":[", "\"layers\":[7,")}) {
    expect_error([&] { read_cache_details(damaged, "c.json"); }, Error::Code::invalid_argument,
                 {"c.json"});
  }
}

TEST(GivenRanges, LinesAndJson) {
  for (const char* text :
       {"# by hand\nconv:1: -1.5 2\n\n*/Relu: 6\r\n", "{\"conv:1\": [-1.5, 2], \"*/Relu\": 6}"}) {
    const auto ranges = parse_given_ranges(text, "r.txt");
    ASSERT_EQ(ranges.size(), 2u);
    EXPECT_EQ(ranges[0].pattern, "conv:1");
    EXPECT_EQ(ranges[0].min, -1.5f);
    EXPECT_EQ(ranges[0].max, 2.0f);
    EXPECT_EQ(ranges[1].pattern, "*/Relu");
    EXPECT_EQ(ranges[1].min, -6.0f);
    EXPECT_EQ(ranges[1].max, 6.0f);
  }
}

TEST(GivenRanges, EveryWrongEntryIsNamedAtOnce) {
  expect_error(
      [] { parse_given_ranges("a: 2 1\nb: nan\nc: 0 0\nd: 1 2 3\ne 4\nf: 1\nf: 2\n", "r.txt"); },
      Error::Code::invalid_argument,
      {"r.txt", "6 lines are wrong", "line 1: 'a'", "line 2", "line 3: 'c'", "line 4", "line 5",
       "line 7: 'f' stands there before"});
  for (const char* text : {"{", "{\"a\": {}}", "{\"a\": [1]}", "{\"a\": \"1\"}", "{\"a\": [[1]]}"})
    expect_error([&] { parse_given_ranges(text, "r.json"); }, Error::Code::invalid_argument,
                 {"r.json"});
}

}  // namespace
}  // namespace octet::test
