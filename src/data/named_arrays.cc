// SPDX-License-Identifier: Apache-2.0
#include "data/named_arrays.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "core/check.h"
#include "core/types.h"
#include "data/npy.h"
#include "data/zip_writer.h"

namespace octet {
namespace {

static_assert(std::endian::native == std::endian::little, "'<U' is written as it lies");

constexpr u32 kReplacement = 0xfffd;

// The character at the front of `text`, which is taken off.
u32 take_character(std::string_view& text) {
  const auto byte = [&](size_t i) { return static_cast<u32>(static_cast<u8>(text[i])); };
  const u32 first = byte(0);
  const size_t more = first < 0x80       ? 0
                      : first >> 5 == 6  ? 1
                      : first >> 4 == 14 ? 2
                      : first >> 3 == 30 ? 3
                                         : 4;
  u32 character = more == 0 ? first : first & (0x3fU >> more);
  bool good = more < 4 && more < text.size();
  for (size_t i = 1; good && i <= more; ++i) {
    good = byte(i) >> 6 == 2;
    character = character << 6 | (byte(i) & 0x3f);
  }
  constexpr u32 kLeast[] = {0, 0x80, 0x800, 0x10000};
  good = good && character >= kLeast[more] && character <= 0x10ffff && (character >> 11) != 0x1b;
  text.remove_prefix(good ? more + 1 : 1);
  return good ? character : kReplacement;
}

std::vector<u32> characters_of(std::string_view text) {
  std::vector<u32> characters;
  while (!text.empty()) characters.push_back(take_character(text));
  return characters;
}

// The bytes of an .npy file.
std::vector<u8> encoded(std::span<const std::string> texts) {
  std::vector<std::vector<u32>> rows;
  size_t width = 1;
  for (const std::string& text : texts) {
    rows.push_back(characters_of(text));
    width = std::max(width, rows.back().size());
  }
  constexpr size_t kMagic = 10, kAligned = 64;
  std::string head = fmt::format("{{'descr': '<U{}', 'fortran_order': False, 'shape': ({},), }}",
                                 width, texts.size());
  head.resize((kMagic + head.size() + 1 + kAligned - 1) / kAligned * kAligned - kMagic - 1, ' ');
  head += '\n';
  std::vector<u8> bytes = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
  bytes.push_back(static_cast<u8>(head.size() & 0xff));
  bytes.push_back(static_cast<u8>(head.size() >> 8));
  bytes.insert(bytes.end(), head.begin(), head.end());
  for (std::vector<u32>& row : rows) {
    row.resize(width, 0);
    const auto* begin = reinterpret_cast<const u8*>(row.data());
    bytes.insert(bytes.end(), begin, begin + width * sizeof(u32));
  }
  return bytes;
}

}  // namespace

void write_named_arrays(const std::filesystem::path& path,
                        std::span<const std::pair<std::string, Tensor>> arrays,
                        const std::string& name, std::span<const std::string> texts) {
  ZipWriter archive(path);
  for (const auto& [array, tensor] : arrays) {
    const Tensor values = numpy_compatible(tensor);
    const std::vector<u8> header = encode_npy_header(values.type());
    archive.add(array + ".npy",
                {header, {reinterpret_cast<const u8*>(values.data()), values.bytes()}});
  }
  archive.add(name + ".npy", {encoded(texts)});
  archive.commit();
}

}  // namespace octet
