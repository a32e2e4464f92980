// SPDX-License-Identifier: Apache-2.0
// BMP: uncompressed pixels of 1, 4, 8, 16, 24 or 32 bits, from OS/2 headers to those of Windows 5. Every offset is checked against
// the bytes that are there before anything is read.
#include <algorithm>
#include <array>
#include <bit>

#include "core/check.h"
#include "data/image.h"

namespace octet {
namespace {

constexpr u32 kRgb = 0;        // no compression; the only alternative that is read are masks
constexpr u32 kBitfields = 3;  // as kRgb, with masks of the channels
constexpr u32 kAlphaBitfields = 6;
constexpr size_t kFileHeader = 14;
constexpr u32 kOs2Header = 12;

using Masks = std::array<u32, 3>;  // red, green, blue

u32 shift_of(u32 mask) { return static_cast<u32>(std::countr_zero(mask)); }

struct Bmp {
  std::span<const u8> bytes;
  const std::string& name;

  [[noreturn]] void damaged(std::string_view why) const {
    fail(Error::Code::invalid_argument, "'{}': truncated or corrupt BMP: {}", name, why);
  }
  u32 number(size_t at, size_t size) const {
    if (at > bytes.size() || bytes.size() - at < size) damaged("the file ends too early");
    u32 value = 0;
    for (size_t i = 0; i < size; ++i) value |= u32{bytes[at + i]} << (8 * i);
    return value;
  }
  u32 u32_at(size_t at) const { return number(at, 4); }
  u32 u16_at(size_t at) const { return number(at, 2); }
};

struct Layout {
  s64 width = 0;
  s64 height = 0;
  bool upwards = true;  // the first row of the file is the lowest
  u32 bits = 0;
  size_t row_bytes = 0;
  size_t pixels_at = 0;
  size_t palette_at = 0;
  size_t palette_entry = 4;
  u32 colours = 0;
  Masks masks{};
};

void read_size(const Bmp& bmp, bool os2, Layout& layout) {
  layout.width = os2 ? s64{bmp.u16_at(18)} : s64{static_cast<s32>(bmp.u32_at(18))};
  layout.height = os2 ? s64{bmp.u16_at(20)} : s64{static_cast<s32>(bmp.u32_at(22))};
  layout.upwards = layout.height > 0;
  if (!layout.upwards) layout.height = -layout.height;
  layout.bits = bmp.u16_at(os2 ? 24 : 28);
}

void read_masks(const Bmp& bmp, u32 compression, Layout& layout) {
  if (compression == kBitfields || compression == kAlphaBitfields) {
    for (size_t i = 0; i < layout.masks.size(); ++i) {
      u32& mask = layout.masks[i] = bmp.u32_at(54 + 4 * i);
      const u32 run = mask == 0 ? 0 : mask >> shift_of(mask);
      if (run == 0 || (run & (run + 1)) != 0) bmp.damaged("a mask that is no run of bits");
    }
  } else {
    layout.masks = layout.bits == 16 ? Masks{0x7c00, 0x3e0, 0x1f} : Masks{0xff0000, 0xff00, 0xff};
  }
}

Layout read_layout(const Bmp& bmp) {
  const u32 header = bmp.u32_at(14);
  const bool os2 = header == kOs2Header;
  if (!os2 && header < 40) bmp.damaged("a header of unknown size");
  Layout layout;
  read_size(bmp, os2, layout);
  const u32 compression = os2 ? kRgb : bmp.u32_at(30);
  const bool masked = compression == kBitfields || compression == kAlphaBitfields;
  if (!masked && compression != kRgb) {
    fail(Error::Code::unsupported, "'{}' is a compressed BMP image; convert it to PNG", bmp.name);
  }
  const u32 bits = layout.bits;
  const bool direct = bits == 16 || bits == 24 || bits == 32;
  if (!direct && bits != 1 && bits != 4 && bits != 8)
    bmp.damaged("a number of bits that no BMP has");
  if (masked && (!direct || bits == 24)) bmp.damaged("masks where there are none");
  if (direct) read_masks(bmp, compression, layout);
  layout.pixels_at = bmp.u32_at(10);
  layout.palette_entry = os2 ? 3 : 4;
  layout.palette_at = kFileHeader + header;
  if (!direct) {
    layout.colours = os2 ? 0 : bmp.u32_at(46);
    if (layout.colours == 0) layout.colours = 1u << bits;
    if (layout.colours > 1u << bits) bmp.damaged("more colours than its pixels can name");
  }
  return layout;
}

// All rows are there; a row is filled up to four bytes.
void check_rows(const Bmp& bmp, Layout& layout) {
  check_image_size(layout.width, layout.height, bmp.name);
  layout.row_bytes = static_cast<size_t>((layout.width * layout.bits + 31) / 32 * 4);
  const size_t left = bmp.bytes.size() - std::min(bmp.bytes.size(), layout.pixels_at);
  if (layout.pixels_at < kFileHeader ||
      left / layout.row_bytes < static_cast<size_t>(layout.height))
    bmp.damaged("the file ends too early");
}

// A channel of 1 to 32 bits as one of 8, rounded down as Pillow does.
u8 channel(u32 pixel, u32 mask) {
  const u64 most = mask >> shift_of(mask);
  const u64 value = (pixel & mask) >> shift_of(mask);
  return static_cast<u8>(value * 255 / most);
}

void read_direct_row(const Layout& layout, const u8* row, u8* out) {
  const size_t size = layout.bits / 8;
  for (s64 x = 0; x < layout.width; ++x, row += size, out += 3) {
    u32 pixel = 0;
    for (size_t i = 0; i < size; ++i) pixel |= u32{row[i]} << (8 * i);
    for (size_t c = 0; c < 3; ++c) out[c] = channel(pixel, layout.masks[c]);
  }
}

void read_palette_row(const Bmp& bmp, const Layout& layout, const u8* row, u8* out) {
  const u32 bits = layout.bits;
  for (s64 x = 0; x < layout.width; ++x, out += 3) {
    const u32 at = static_cast<u32>(x) * bits;
    const u32 index = (u32{row[at / 8]} >> (8 - bits - at % 8)) & ((1u << bits) - 1);
    if (index >= layout.colours) bmp.damaged("a colour that its palette lacks");
    const u32 colour = bmp.number(layout.palette_at + index * layout.palette_entry, 3);
    for (size_t c = 0; c < 3; ++c) out[c] = static_cast<u8>(colour >> (16 - 8 * c));
  }
}

}  // namespace

Image decode_bmp(std::span<const u8> bytes, const std::string& name) {
  const Bmp bmp{bytes, name};
  Layout layout = read_layout(bmp);
  check_rows(bmp, layout);
  Image image;
  image.width = static_cast<int>(layout.width);
  image.height = static_cast<int>(layout.height);
  image.channels = 3;
  const size_t out_row = static_cast<size_t>(layout.width) * 3;
  image.pixels.resize(out_row * static_cast<size_t>(layout.height));
  for (s64 y = 0; y < layout.height; ++y) {
    const s64 from = layout.upwards ? layout.height - 1 - y : y;
    const u8* row = bytes.data() + layout.pixels_at + static_cast<size_t>(from) * layout.row_bytes;
    u8* out = image.pixels.data() + static_cast<size_t>(y) * out_row;
    if (layout.colours > 0) {
      read_palette_row(bmp, layout, row, out);
    } else {
      read_direct_row(layout, row, out);
    }
  }
  return image;
}

}  // namespace octet
