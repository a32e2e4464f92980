// SPDX-License-Identifier: Apache-2.0
// Any bytes as an image, then through a preprocessing that resizes and crops.
#include "data/exif.h"
#include "data/image.h"
#include "data/preprocess.h"
#include "fuzz/fuzz.h"

namespace octet::fuzz {
namespace {

void run(std::span<const u8> bytes) {
  const Image image = decode_image(bytes, "fuzz");
  const size_t expected = static_cast<size_t>(image.width) * static_cast<size_t>(image.height) *
                          static_cast<size_t>(image.channels);
  if (image.pixels.size() != expected) found("an image of another size than it says");
  const Image upright = turned(image, exif_orientation(bytes));
  if (upright.pixels.size() != expected) found("turning changed the number of pixels");
  Preprocess preprocess;
  preprocess.resize_short = 12;
  preprocess.crop = {10, 12};
  preprocess.scale = 255;
  survives([&] { preprocess_image(image, preprocess, "fuzz"); });
}

void test_one(const Input& input) {
  survives([&] { run(input.octets()); });
}

}  // namespace

const Target kTarget{.memory = s64{4} << 20, .run = test_one};

}  // namespace octet::fuzz
