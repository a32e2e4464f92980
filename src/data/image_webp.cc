// SPDX-License-Identifier: Apache-2.0
// WebP through libwebp: lossy and lossless still images; transparency is dropped, as of PNG.
#include <webp/decode.h>

#include "core/check.h"
#include "core/memory.h"
#include "data/image.h"

namespace octet {

Image decode_webp(std::span<const u8> bytes, const std::string& name) {
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) != VP8_STATUS_OK) {
    fail(Error::Code::invalid_argument, "'{}': truncated or corrupt WebP header", name);
  }
  if (features.has_animation != 0) {
    fail(Error::Code::unsupported, "'{}' is an animated WebP image; save one of its frames", name);
  }
  check_image_size(features.width, features.height, name);
  // The library holds as many pixels again, of four bytes, while it decodes.
  check_fits(s64{features.width} * features.height * 7, fmt::format("'{}': a WebP image", name));
  Image image;
  image.width = features.width;
  image.height = features.height;
  image.channels = 3;
  const size_t row_bytes = static_cast<size_t>(features.width) * 3;
  image.pixels.resize(row_bytes * static_cast<size_t>(features.height));
  if (WebPDecodeRGBInto(bytes.data(), bytes.size(), image.pixels.data(), image.pixels.size(),
                        static_cast<int>(row_bytes)) == nullptr) {
    fail(Error::Code::invalid_argument, "'{}': truncated or corrupt WebP", name);
  }
  return image;
}

}  // namespace octet
