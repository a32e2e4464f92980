// SPDX-License-Identifier: Apache-2.0
#include "data/image.h"

#include <zlib.h>

#include <sstream>

#include "data/test_support.h"

namespace octet::test {
namespace {

struct Expected {
  std::string file;
  Image image;
};

std::vector<Expected> expected_images() {
  std::vector<Expected> list;
  std::ifstream lines(testdata("images.txt"));
  Expected e;
  std::string hex;
  while (lines >> e.file >> e.image.width >> e.image.height >> e.image.channels >> hex) {
    e.image.pixels.clear();
    for (size_t i = 0; i < hex.size(); i += 2) {
      e.image.pixels.push_back(static_cast<u8>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    }
    list.push_back(e);
  }
  return list;
}

Image decode(const std::string& file) { return decode_image(testdata_bytes(file), file); }

void put_u32(std::vector<u8>* bytes, size_t at, u32 value) {
  for (size_t i = 0; i < 4; ++i) (*bytes)[at + i] = static_cast<u8>(value >> (24 - 8 * i));
}

// A PNG with another size in its header, and the header's CRC made right again.
std::vector<u8> png_with_size(u32 width, u32 height) {
  std::vector<u8> bytes = testdata_bytes("rgb.png");
  put_u32(&bytes, 16, width);
  put_u32(&bytes, 20, height);
  put_u32(&bytes, 29, static_cast<u32>(crc32(0, bytes.data() + 12, 17)));
  return bytes;
}

TEST(Image, DecodesToThePixelsOfPillow) {
  const std::vector<Expected> list = expected_images();
  ASSERT_EQ(list.size(), 26u);
  for (const Expected& e : list) {
    const Image image = decode(e.file);
    EXPECT_EQ(image.width, e.image.width) << e.file;
    EXPECT_EQ(image.height, e.image.height) << e.file;
    EXPECT_EQ(image.channels, e.image.channels) << e.file;
    EXPECT_EQ(image.pixels, e.image.pixels) << e.file;
  }
}

TEST(Image, EmptyFileIsNamed) {
  expect_error([] { decode_image({}, "cat.jpg"); }, Error::Code::invalid_argument,
               {"cat.jpg", "empty (0 bytes)"});
}

TEST(Image, EveryPrefixIsAnError) {
  for (const Expected& e : expected_images()) {
    const std::vector<u8> bytes = testdata_bytes(e.file);
    for (size_t n = 0; n < bytes.size(); ++n) {
      // Without its last marker byte a JPEG still has every pixel; libjpeg says so by a warning, which is an error here.
      expect_error([&] { decode_image(std::span(bytes).first(n), e.file); },
                   Error::Code::invalid_argument, {e.file});
    }
  }
}

TEST(Image, EveryDamagedByteIsSurvived) {
  for (const Expected& e : expected_images()) {
    std::vector<u8> bytes = testdata_bytes(e.file);
    for (size_t i = 0; i < bytes.size(); ++i) {
      for (const u8 flip : std::initializer_list<u8>{0x01, 0x80, 0xff}) {
        bytes[i] ^= flip;
        expect_survives([&] { decode_image(bytes, e.file); });
        bytes[i] ^= flip;
      }
    }
  }
}

TEST(Image, PixelLimitComesBeforeDecoding) {
  expect_error([] { decode_image(png_with_size(60000, 60000), "big.png"); },
               Error::Code::invalid_argument, {"big.png", "60000x60000", "limit"});
  expect_error([] { decode_image(png_with_size(0x7fffffff, 1), "big.png"); },
               Error::Code::invalid_argument, {"big.png", "2147483647x1", "limit"});
  std::vector<u8> jpeg = testdata_bytes("gray.jpg");
  const u8 start_of_frame[] = {0xff, 0xc0};
  const auto frame = std::search(jpeg.begin(), jpeg.end(), start_of_frame, start_of_frame + 2);
  ASSERT_NE(frame, jpeg.end());
  std::fill(frame + 5, frame + 9, u8{0xf0});
  expect_error([&] { decode_image(jpeg, "big.jpg"); }, Error::Code::invalid_argument,
               {"big.jpg", "61680x61680", "limit"});
}

TEST(Image, ColorsOutsideThePaletteAreRefused) {
  std::vector<u8> png = testdata_bytes("palette4.png");
  // The palette is cut to one color; its checksum stands behind it.
  const std::string_view text(reinterpret_cast<const char*>(png.data()), png.size());
  const size_t at = text.find("PLTE");
  ASSERT_NE(at, std::string_view::npos);
  const size_t length = png[at - 1];
  const std::vector<u8> first(png.begin() + static_cast<s64>(at),
                              png.begin() + static_cast<s64>(at) + 7);
  png.erase(png.begin() + static_cast<s64>(at) + 7,
            png.begin() + static_cast<s64>(at + 4 + length));
  png[at - 1] = 3;
  const u32 sum = static_cast<u32>(::crc32(0, first.data(), 7));
  for (u32 i = 0; i < 4; ++i) png[at + 7 + i] = static_cast<u8>(sum >> (24 - 8 * i));
  expect_error([&] { decode_image(png, "p.png"); }, Error::Code::invalid_argument,
               {"p.png", "of a palette of 1"});
}

TEST(Image, ZeroSizeIsAnError) {
  expect_error([] { decode_image(png_with_size(0, 5), "zero.png"); }, Error::Code::invalid_argument,
               {"zero.png"});
  EXPECT_EQ(decode("one_pixel.png").pixels.size(), 3u);
}

TEST(Image, TwelveBitJpegIsRefused) {
  std::vector<u8> jpeg = testdata_bytes("gray.jpg");
  const u8 start_of_frame[] = {0xff, 0xc0};
  const auto frame = std::search(jpeg.begin(), jpeg.end(), start_of_frame, start_of_frame + 2);
  frame[4] = 12;
  expect_error([&] { decode_image(jpeg, "x.jpg"); }, Error::Code::invalid_argument,
               {"x.jpg", "precision 12"});
}

TEST(Image, OtherFormatsAreNamed) {
  const auto refuse = [](std::string text, Error::Code code, const std::string& says) {
    text.resize(std::max<size_t>(text.size(), 32));
    const std::span<const u8> bytes(reinterpret_cast<const u8*>(text.data()), text.size());
    expect_error([&] { decode_image(bytes, "a.jpg"); }, code, {"a.jpg", says});
  };
  refuse("GIF89a", Error::Code::unsupported, "GIF");
  refuse("RIFF....WEBPVP8 ", Error::Code::invalid_argument, "WebP");
  refuse(std::string("II*\0", 4), Error::Code::unsupported, "TIFF");
  refuse(std::string("MM\0*", 4), Error::Code::unsupported, "TIFF");
  refuse("BM", Error::Code::invalid_argument, "BMP");
  refuse("....ftypheic", Error::Code::unsupported, "HEIC");
  refuse("....ftypavif", Error::Code::unsupported, "AVIF");
  refuse("version https://git-lfs.github.com/spec/v1", Error::Code::invalid_argument, "lfs pull");
  refuse("<!DOCTYPE html>", Error::Code::invalid_argument, "HTML");
  refuse("\x93NUMPY", Error::Code::invalid_argument, "NumPy");
  refuse("hello", Error::Code::invalid_argument, "not an image");
}

}  // namespace
}  // namespace octet::test
