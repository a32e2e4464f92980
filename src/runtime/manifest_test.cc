// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest.h"

#include <gtest/gtest.h>

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
  const std::string text = write_manifest(model);
  Model read_again;
  read_manifest(text, read_again);
  EXPECT_EQ(write_manifest(read_again), text);
  EXPECT_EQ(read_again.provenance, model.provenance);
}

}  // namespace
}  // namespace octet::test
