// SPDX-License-Identifier: Apache-2.0
#include "data/image.h"

#include <algorithm>

#include "core/check.h"
#include "core/memory.h"

namespace octet {
namespace {

struct Signature {
  size_t offset;
  std::string_view bytes;
  std::string_view format;
};

using namespace std::string_view_literals;
constexpr Signature kSignatures[] = {
    {0, "\xff\xd8\xff"sv, "JPEG"},
    {0, "\x89PNG\r\n\x1a\n"sv, "PNG"},
    {0, "GIF8"sv, "GIF"},
    {8, "WEBP"sv, "WebP"},
    {0, "II*\0"sv, "TIFF"},
    {0, "MM\0*"sv, "TIFF"},
    {0, "BM"sv, "BMP"},
    {4, "ftyphei"sv, "HEIC"},
    {4, "ftyphev"sv, "HEIC"},
    {4, "ftypmif1"sv, "HEIF"},
    {4, "ftypavi"sv, "AVIF"},
    {0, "\0\0\0\x0cjP  \r\n"sv, "JPEG 2000"},
    {0, "\xff\x4f\xff\x51"sv, "JPEG 2000"},
    {0, "\0\0\0\x0cJXL \r\n"sv, "JPEG XL"},
    {0, "\xff\x0a"sv, "JPEG XL"},
};

// What people hand over by mistake instead of an image.
constexpr Signature kMistakes[] = {
    {0, "version https://git-lfs"sv, "a Git-LFS pointer; run 'git lfs pull'"},
    {0, "<!DOCTYPE"sv, "an HTML page; download the file again"},
    {0, "<html"sv, "an HTML page; download the file again"},
    {0, "PK\x03\x04"sv, "a zip or npz archive"},
    {0, "\x93NUMPY"sv, "a NumPy array; name it .npy"},
};

std::string_view find(std::span<const Signature> table, std::span<const u8> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Signature& s : table) {
    if (text.size() >= s.offset && text.substr(s.offset).starts_with(s.bytes)) return s.format;
  }
  return {};
}

}  // namespace

std::string_view image_format(std::span<const u8> bytes) { return find(kSignatures, bytes); }

void check_image_size(s64 width, s64 height, const std::string& name) {
  if (width <= 0 || height <= 0) {
    fail(Error::Code::invalid_argument, "'{}': image of {}x{} pixels", name, width, height);
  }
  if (std::max(width, height) > kMaxImageSide) {
    fail(Error::Code::invalid_argument, "'{}': image of {}x{} pixels, the limit is {} on a side",
         name, width, height, kMaxImageSide);
  }
  if (width > kMaxImagePixels / height) {
    fail(Error::Code::invalid_argument, "'{}': image of {}x{} pixels, the limit is {} pixels", name,
         width, height, kMaxImagePixels);
  }
  check_fits(width * height * 3, fmt::format("'{}': image of {}x{} pixels", name, width, height));
}

Image decode_image(std::span<const u8> bytes, const std::string& name) {
  if (bytes.empty()) fail(Error::Code::invalid_argument, "'{}' is empty (0 bytes)", name);
  const std::string_view format = image_format(bytes);
  if (format == "JPEG") return decode_jpeg(bytes, name);
  if (format == "PNG") return decode_png(bytes, name);
  if (format == "BMP") return decode_bmp(bytes, name);
  if (format == "WebP") return decode_webp(bytes, name);
  if (!format.empty()) {
    fail(Error::Code::unsupported, "'{}' is an image in {}; convert it to JPEG or PNG", name,
         format);
  }
  const std::string_view mistake = find(kMistakes, bytes);
  fail(Error::Code::invalid_argument, "'{}' is {}, expected a JPEG, PNG, WebP or BMP image", name,
       mistake.empty() ? "not an image" : mistake);
}

}  // namespace octet
