// SPDX-License-Identifier: Apache-2.0
// PNG through libpng. As with JPEG, errors leave by longjmp: only plain data lives between setjmp and the library.
#include <png.h>

#include <algorithm>
#include <cstring>

#include "core/check.h"
#include "data/image.h"

namespace octet {
namespace {

constexpr png_uint_32 kAnySize = 0x7fffffff;  // our own limit counts pixels and says so

struct PngReader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  const u8* next = nullptr;
  size_t left = 0;
  int passes = 1;  // 7 when interlaced
  char message[160] = "";

  PngReader() = default;
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::strncpy(reader->message, message, sizeof(reader->message) - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}  // about ancillary chunks, which are not used

void on_read(png_structp png, png_bytep dst, size_t bytes) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (bytes > reader->left) png_error(png, "the file ends too early");
  std::memcpy(dst, reader->next, bytes);
  reader->next += bytes;
  reader->left -= bytes;
}

// Ends with 8-bit gray or RGB rows announced.
bool read_header(PngReader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_read_fn(reader.png, &reader, on_read);
  png_set_user_limits(reader.png, kAnySize, kAnySize);
  png_read_info(reader.png, reader.info);
  const png_byte type = png_get_color_type(reader.png, reader.info);
  const png_byte depth = png_get_bit_depth(reader.png, reader.info);
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(reader.png);
  if (type == PNG_COLOR_TYPE_GRAY && depth < 8) png_set_expand_gray_1_2_4_to_8(reader.png);
  if (depth == 16) png_set_strip_16(reader.png);
  png_set_strip_alpha(reader.png);
  reader.passes = png_set_interlace_handling(reader.png);
  return true;
}

bool start_pixels(PngReader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_update_info(reader.png, reader.info);
  return true;
}

// Row by row: png_read_image would want a pointer for each row, 1.4 GB for the tallest image allowed.
bool read_pixels(PngReader& reader, u8* pixels, size_t row_bytes) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  const size_t height = png_get_image_height(reader.png, reader.info);
  for (int pass = 0; pass < reader.passes; ++pass) {
    for (size_t y = 0; y < height; ++y) png_read_row(reader.png, pixels + y * row_bytes, nullptr);
  }
  png_read_end(reader.png, nullptr);
  return true;
}

[[noreturn]] void fail_png(const PngReader& reader, const std::string& name) {
  fail(Error::Code::invalid_argument, "'{}': truncated or corrupt PNG: {}", name, reader.message);
}

}  // namespace

Image decode_png(std::span<const u8> bytes, const std::string& name) {
  PngReader reader;
  reader.next = bytes.data();
  reader.left = bytes.size();
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning);
  if (reader.png != nullptr) reader.info = png_create_info_struct(reader.png);
  if (reader.info == nullptr) fail(Error::Code::out_of_memory, "'{}': out of memory", name);
  if (!read_header(reader)) fail_png(reader, name);
  const s64 width = png_get_image_width(reader.png, reader.info);
  const s64 height = png_get_image_height(reader.png, reader.info);
  check_image_size(width, height, name);
  if (!start_pixels(reader)) fail_png(reader, name);

  Image image;
  image.width = static_cast<int>(width);
  image.height = static_cast<int>(height);
  image.channels = png_get_channels(reader.png, reader.info);
  const size_t row_bytes = png_get_rowbytes(reader.png, reader.info);
  OCTET_CHECK(row_bytes == static_cast<size_t>(width) * static_cast<size_t>(image.channels));
  OCTET_CHECK(image.channels == 1 || image.channels == 3);
  image.pixels.resize(row_bytes * static_cast<size_t>(height));
  if (!read_pixels(reader, image.pixels.data(), row_bytes)) fail_png(reader, name);
  return image;
}

}  // namespace octet
