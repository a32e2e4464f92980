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

}  // namespace
}  // namespace octet::test
