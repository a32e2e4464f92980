// SPDX-License-Identifier: Apache-2.0
#include "data/exif.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "core/check.h"

namespace octet {
namespace {

using namespace std::string_view_literals;
using Bytes = std::span<const u8>;

constexpr int kAsStored = 1;
constexpr std::string_view kExifHeader = "Exif\0\0"sv;

bool begins(Bytes bytes, std::string_view with) {
  return bytes.size() >= with.size() && std::memcmp(bytes.data(), with.data(), with.size()) == 0;
}

// A whole number of 2 or 4 bytes at `at`; 0 beyond the end.
u32 number_at(Bytes bytes, size_t at, size_t count, bool big) {
  if (at > bytes.size() || bytes.size() - at < count) return 0;
  u32 value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | bytes[at + (big ? i : count - 1 - i)];
  return value;
}

// A TIFF header, and the entries of its first directory.
int orientation_of_tiff(Bytes tiff) {
  constexpr u32 kOrientation = 0x0112, kShort = 3;
  constexpr size_t kEntryBytes = 12;
  const bool big = begins(tiff, "MM\0*"sv);
  if (!big && !begins(tiff, "II*\0"sv)) return kAsStored;
  const size_t directory = number_at(tiff, 4, 4, big);
  const size_t entries = number_at(tiff, directory, 2, big);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    if (entry + kEntryBytes > tiff.size()) break;
    if (number_at(tiff, entry, 2, big) != kOrientation) continue;
    const u32 value = number_at(tiff, entry + 8, 2, big);
    const bool valid = number_at(tiff, entry + 2, 2, big) == kShort && value >= 1 && value <= 8;
    return valid ? static_cast<int>(value) : kAsStored;
  }
  return kAsStored;
}

int orientation_of_exif(Bytes exif) {
  return orientation_of_tiff(begins(exif, kExifHeader) ? exif.subspan(kExifHeader.size()) : exif);
}

// The segments before the pixels: FF, marker, length of two bytes that counts itself.
int orientation_of_jpeg(Bytes bytes) {
  constexpr u8 kApp1 = 0xe1, kScan = 0xda;
  size_t at = 2;
  while (at + 4 <= bytes.size() && bytes[at] == 0xff) {
    const u8 marker = bytes[at + 1];
    if (marker == 0xff) {  // a filling byte
      ++at;
      continue;
    }
    const size_t length = number_at(bytes, at + 2, 2, true);
    if (marker == kScan || length < 2 || length > bytes.size() - at - 2) break;
    const Bytes data = bytes.subspan(at + 4, length - 2);
    if (marker == kApp1 && begins(data, kExifHeader)) return orientation_of_exif(data);
    at += 2 + length;
  }
  return kAsStored;
}

// Chunks of PNG (length, name, data, checksum) and of WebP (name, length, data up to an even place).
struct Chunks {
  size_t first;
  bool is_png;
  std::string_view name;
};

int orientation_of_chunks(Bytes bytes, const Chunks& format) {
  size_t at = format.first;
  while (at + 8 <= bytes.size()) {
    const size_t length = number_at(bytes, at + (format.is_png ? 0 : 4), 4, format.is_png);
    const size_t start = at + 8;
    if (length > bytes.size() - start) break;
    if (begins(bytes.subspan(at + (format.is_png ? 4 : 0)), format.name))
      return orientation_of_exif(bytes.subspan(start, length));
    at = start + length + (format.is_png ? 4 : length % 2);
  }
  return kAsStored;
}

}  // namespace

int exif_orientation(Bytes bytes) {
  const std::string_view format = image_format(bytes);
  if (format == "JPEG") return orientation_of_jpeg(bytes);
  if (format == "PNG") return orientation_of_chunks(bytes, {8, true, "eXIf"sv});
  if (format == "WebP") return orientation_of_chunks(bytes, {12, false, "EXIF"sv});
  return kAsStored;
}

Image turned(Image image, int orientation) {
  OCTET_CHECK(orientation >= 1 && orientation <= 8);
  if (orientation == kAsStored) return image;
  const bool swaps = orientation >= 5;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Image result{swaps ? image.height : image.width, swaps ? image.width : image.height,
               image.channels, std::vector<u8>(image.pixels.size())};
  const auto width = static_cast<size_t>(image.width), height = static_cast<size_t>(image.height);
  const auto channels = static_cast<size_t>(image.channels);
  u8* to = result.pixels.data();
  for (size_t y = 0; y < static_cast<size_t>(result.height); ++y) {
    for (size_t x = 0; x < static_cast<size_t>(result.width); ++x, to += channels) {
      size_t column = swaps ? y : x, row = swaps ? x : y;
      if (from_right) column = width - 1 - column;
      if (from_bottom) row = height - 1 - row;
      std::copy_n(image.pixels.data() + (row * width + column) * channels, channels, to);
    }
  }
  return result;
}

}  // namespace octet
