// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest.h"

#include <gtest/gtest.h>

#include "core/error_testing.h"

namespace octet::test {
namespace {

using Orientation = Preprocess::Orientation;

constexpr const char* kOlder =
    R"({"source":"m.onnx","producer":"","range_method":"","calibration_samples":0,"preprocess":{"color":"rgb","scale":255}})";

TEST(Manifest, EnginesFromBeforeImagesWereTurnedLeaveThem) {
  Model model;
  read_manifest(kOlder, model);
  EXPECT_EQ(model.preprocess->orientation, Orientation::stored);
  Model read_again;
  read_manifest(write_manifest(model), read_again);
  EXPECT_EQ(read_again.preprocess, model.preprocess);
  model.preprocess = Preprocess();
  read_manifest(write_manifest(model), read_again);
  EXPECT_EQ(read_again.preprocess->orientation, Orientation::exif);
}

TEST(Manifest, IsWrittenAsItWasRead) {
  Model model;
  model.provenance = R"({"octet":"1"})";
  model.constraints.mode = ConstraintMode::obey;
  model.constraints.constraints = {{"b", Precision::f32, false}, {"*", Precision::int8, true}};
  model.constraints.nodes = {{"b", Precision::f32, Precision::int8},
                             {"c", Precision::none, Precision::int8},
                             {"a", Precision::f16, Precision::int8},
                             {"a2", Precision::f32, Precision::f32}};
  model.equalized = {{"conv.equalized", {0, 3, 20}}};
  model.calibration_clipped = {{"conv", 1.0 / 3}, {"input", 0}};
  const std::string text = write_manifest(model);
  Model read_again;
  read_manifest(text, read_again);
  EXPECT_EQ(read_again.calibration_clipped, model.calibration_clipped);
  EXPECT_EQ(write_manifest(read_again), text);
  EXPECT_EQ(read_again.provenance, model.provenance);
  EXPECT_EQ(read_again.equalized, model.equalized);
}

TEST(Manifest, ExponentsOfChannelsAreBounded) {
  Model model;
  std::string text = write_manifest(model);
  text.insert(1, R"("equalized":{"conv.equalized":"0z"},)");
  expect_error([&] { read_manifest(text, model); }, Error::Code::invalid_model, {"'z'"});
}

TEST(Manifest, WhatCalibrationClippedIsAShare) {
  for (const char* wrong : {"1.5", "-0.1", "\"all\"", "{}"}) {
    Model model;
    std::string text = write_manifest(model);
    text.insert(1, "\"calibration_clipped\":{\"conv\":" + std::string(wrong) + "},");
    expect_error([&] { read_manifest(text, model); }, Error::Code::invalid_model, {"manifest"});
  }
}

TEST(Equalized, ValuesAreTheNetworksAgain) {
  const EqualizedValues equalized = {
      {"conv.equalized", {0, 3}}, {"conv.equalized.codes", {0, 3}}, {"plain", {1}}};
  EXPECT_EQ(network_name(equalized, "conv.equalized"), "conv");
  EXPECT_EQ(network_name(equalized, "conv.equalized.codes"), "conv.codes");
  EXPECT_EQ(network_name(equalized, "plain"), "plain");
  EXPECT_EQ(network_name(equalized, "other.equalized"), "other.equalized");
  const Tensor value = Tensor::of<f32>({1, 2, 1, 2}, std::vector<f32>{1, 2, 8, 16});
  const Tensor plain = network_value(equalized, "conv.equalized", value);
  EXPECT_EQ(std::vector<f32>(plain.as<f32>().begin(), plain.as<f32>().end()),
            (std::vector<f32>{1, 2, 1, 2}));
  EXPECT_EQ(equalized_from(equalized_lines(equalized)), equalized);
  expect_error([] { equalized_from({"0Z conv"}); }, Error::Code::invalid_model, {"'Z'"});
}

}  // namespace
}  // namespace octet::test
