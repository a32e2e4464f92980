// SPDX-License-Identifier: Apache-2.0
#include "data/resize.h"

#include <zlib.h>

#include "data/preprocess.h"
#include "data/test_support.h"

namespace octet::test {
namespace {

u32 checksum(const std::vector<u8>& bytes) {
  return static_cast<u32>(crc32(0, bytes.data(), static_cast<uInt>(bytes.size())));
}

std::string to_hex(const std::vector<u8>& bytes) {
  std::string text;
  for (u8 b : bytes) text += {"0123456789abcdef"[b >> 4], "0123456789abcdef"[b & 15]};
  return text;
}

TEST(Resize, EqualsPillowBitForBit) {
  std::ifstream lines(testdata("resize.txt"));
  int width = 0, height = 0, channels = 0, cases = 0;
  std::string to_width, values;
  int to_height = 0;
  u32 crc = 0;
  while (lines >> width >> height >> channels >> to_width >> to_height >> crc >> values) {
    if (to_width == "gray") continue;
    const Image src = make_pattern(width, height, channels);
    const Image dst = resize_bilinear(src, std::stoi(to_width), to_height);
    EXPECT_EQ(dst.width, std::stoi(to_width));
    EXPECT_EQ(dst.height, to_height);
    if (values != "-") {
      EXPECT_EQ(to_hex(dst.pixels), values);
    }
    EXPECT_EQ(checksum(dst.pixels), crc) << width << "x" << height << " to " << to_width;
    ++cases;
  }
  EXPECT_EQ(cases, 14);
}

TEST(Resize, GrayEqualsPillowBitForBit) {
  std::ifstream lines(testdata("resize.txt"));
  std::string line;
  u32 crc = 0;
  while (std::getline(lines, line)) {
    if (line.find("gray") != line.npos) {
      crc = static_cast<u32>(std::stoul(line.substr(line.find("gray 0 ") + 7)));
    }
  }
  Preprocess p;
  p.color = Preprocess::Color::gray;
  const Tensor tensor = preprocess_image(make_pattern(64, 48, 3), p, "x");
  std::vector<u8> pixels;
  for (f32 v : tensor.as<f32>()) pixels.push_back(static_cast<u8>(v));
  EXPECT_EQ(checksum(pixels), crc);
}

}  // namespace
}  // namespace octet::test
