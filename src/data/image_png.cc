// SPDX-License-Identifier: Apache-2.0
// PNG through libpng. As with JPEG, errors leave by longjmp: only plain data lives between setjmp and the library.
#include <malloc.h>
#include <png.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>

#include "core/check.h"
#include "core/memory.h"
#include "data/image.h"
#include "octet/limits.h"

namespace octet {
namespace {

constexpr png_uint_32 kAnySize = 0x7fffffff;  // our own limit counts pixels and says so

struct PngReader {
  png_structp png = nullptr;
  png_infop info = nullptr;
  const u8* next = nullptr;
  size_t left = 0;
  int passes = 1;  // 7 when interlaced
  bool no_memory = false;
  std::span<const png_color> palette = {};  // of an image of indices; libpng's
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

// libpng keeps rows, and 22 KB of file may have one of half a gigabyte.
png_voidp on_take(png_structp png, png_alloc_size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) return nullptr;
  try {
    count_heap(static_cast<s64>(::malloc_usable_size(memory)));
  } catch (...) {  // no exception may cross the library
    std::free(memory);
    static_cast<PngReader*>(png_get_mem_ptr(png))->no_memory = true;
    return nullptr;
  }
  return memory;
}

void on_give_back(png_structp, png_voidp memory) {
  uncount_heap(static_cast<s64>(::malloc_usable_size(memory)));
  std::free(memory);
}

// Of indices, which become colors when all are there: libpng's own expansion takes any index for a color.
void keep_indices(PngReader& reader) {
  png_colorp colors = nullptr;
  int count = 0;
  if (png_get_PLTE(reader.png, reader.info, &colors, &count) == 0)
    png_error(reader.png, "it has no palette");
  reader.palette = {colors, static_cast<size_t>(count)};
  png_set_packing(reader.png);
}

// Ends with rows of 8-bit gray, RGB or indices announced.
bool read_header(PngReader& reader) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_read_fn(reader.png, &reader, on_read);
  png_set_user_limits(reader.png, kAnySize, kAnySize);
  png_read_info(reader.png, reader.info);
  const png_byte type = png_get_color_type(reader.png, reader.info);
  const png_byte depth = png_get_bit_depth(reader.png, reader.info);
  if (type == PNG_COLOR_TYPE_PALETTE) keep_indices(reader);
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
  if (reader.no_memory) {
    fail_about("Limits.memory", Error::Code::out_of_memory,
               "'{}': decoding its rows passes the limit of {}", name,
               human_memory(limits().memory));
  }
  fail(Error::Code::invalid_argument, "'{}': truncated or corrupt PNG: {}", name, reader.message);
}

// Indices at the end of `pixels` become the colors that fill it.
void apply_palette(std::span<const png_color> palette, std::span<u8> pixels,
                   const std::string& name) {
  const size_t count = pixels.size() / 3;
  const u8* indices = pixels.data() + 2 * count;
  for (size_t i = 0; i < count; ++i) {
    const u8 index = indices[i];
    if (index >= palette.size()) {
      fail(Error::Code::invalid_argument, "'{}': a pixel has color {} of a palette of {}", name,
           index, palette.size());
    }
    const png_color& color = palette[index];
    pixels[3 * i] = color.red;
    pixels[3 * i + 1] = color.green;
    pixels[3 * i + 2] = color.blue;
  }
}

}  // namespace

Image decode_png(std::span<const u8> bytes, const std::string& name) {
  PngReader reader;
  reader.next = bytes.data();
  reader.left = bytes.size();
  reader.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &reader, on_error, on_warning,
                                        &reader, on_take, on_give_back);
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
  const bool indexed = !reader.palette.empty();
  const size_t stored = png_get_channels(reader.png, reader.info);
  image.channels = indexed ? 3 : static_cast<int>(stored);
  const size_t row_bytes = png_get_rowbytes(reader.png, reader.info);
  OCTET_CHECK(row_bytes == static_cast<size_t>(width) * stored);
  OCTET_CHECK(indexed ? stored == 1 : stored == 1 || stored == 3);
  const size_t count = static_cast<size_t>(width) * static_cast<size_t>(height);
  image.pixels.resize(count * static_cast<size_t>(image.channels));
  u8* rows = image.pixels.data() + image.pixels.size() - count * stored;
  if (!read_pixels(reader, rows, row_bytes)) fail_png(reader, name);
  if (indexed) apply_palette(reader.palette, image.pixels, name);
  return image;
}

}  // namespace octet
