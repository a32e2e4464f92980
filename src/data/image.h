// SPDX-License-Identifier: Apache-2.0
// Decodes JPEG, PNG, WebP and BMP from memory, recognised by content. Pixels come as the file stores them: alpha is dropped,
// 16-bit channels keep their high byte, EXIF orientation (data/exif.h) and colour profiles are not applied (as in Pillow).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"
#include "preprocess/image_limits.h"

namespace octet {

struct Image {
  int width = 0;
  int height = 0;
  int channels = 0;        // 1 gray, 3 RGB
  std::vector<u8> pixels;  // [height][width][channels]
};

// `name` is the file's name in errors. Any bytes end in an image or in one Error(invalid_argument | unsupported).
Image decode_image(std::span<const u8> bytes, const std::string& name);

// "JPEG", "PNG", "GIF", ... by the first bytes; empty when it is no known image format.
std::string_view image_format(std::span<const u8> bytes);

// The decoders behind decode_image; `bytes` begin with the format's signature.
Image decode_jpeg(std::span<const u8> bytes, const std::string& name);
Image decode_png(std::span<const u8> bytes, const std::string& name);
Image decode_bmp(std::span<const u8> bytes, const std::string& name);
Image decode_webp(std::span<const u8> bytes, const std::string& name);

// Throws when width x height is empty, passes a limit of preprocess/image_limits.h or does not fit limits().memory.
void check_image_size(s64 width, s64 height, const std::string& name);

}  // namespace octet
