// SPDX-License-Identifier: Apache-2.0
#include "data/zip_writer.h"

#include <zlib.h>

#include <algorithm>

#include "core/check.h"

namespace octet {
namespace {

constexpr size_t kCrcChunkBytes = 64 << 10;  // keeps zlib's 32-bit counts in range
constexpr size_t kMaxNameBytes = 0xffff;
constexpr size_t kMaxWrittenEntries = 0xfffe;

void append(std::vector<u8>& bytes, u64 value, int count) {
  for (int i = 0; i < count; ++i) bytes.push_back(static_cast<u8>(value >> (8 * i)));
}

u32 crc_of(std::span<const u8> bytes, u32 crc) {
  for (size_t at = 0; at < bytes.size(); at += kCrcChunkBytes) {
    const auto piece = bytes.subspan(at, std::min(kCrcChunkBytes, bytes.size() - at));
    crc = static_cast<u32>(crc32(crc, piece.data(), static_cast<uInt>(piece.size())));
  }
  return crc;
}

}  // namespace

// The fields that the local and the central header share, from "version needed" to "extra length".
void ZipWriter::append_common(std::vector<u8>& bytes, const Entry& entry) {
  append(bytes, 20, 2);          // needs zip 2.0
  append(bytes, 1 << 11, 2);     // flags: the name is UTF-8
  append(bytes, 0, 2);           // stored
  append(bytes, 0, 2);           // time: midnight,
  append(bytes, 1 << 5 | 1, 2);  // 1980-01-01
  append(bytes, entry.crc, 4);
  append(bytes, entry.bytes, 4);
  append(bytes, entry.bytes, 4);
  append(bytes, entry.name.size(), 2);
  append(bytes, 0, 2);
}

u32 ZipWriter::fit32(u64 value) const {
  if (value >= 0xffffffff) {
    fail(Error::Code::unsupported, "'{}' would pass 4 GiB; write fewer samples, or separate files",
         path_.string());
  }
  return static_cast<u32>(value);
}

void ZipWriter::check_name(const std::string& name) {
  if (name.empty() || name.size() > kMaxNameBytes)
    fail(Error::Code::invalid_argument, "'{}': entry name of {} bytes", path_.string(),
         name.size());
  if (!names_.insert(name).second)
    fail(Error::Code::invalid_argument, "'{}': entry '{}' appears twice", path_.string(), name);
  if (entries_.size() == kMaxWrittenEntries)
    fail(Error::Code::unsupported, "'{}': more than {} entries", path_.string(),
         kMaxWrittenEntries);
}

void ZipWriter::add(const std::string& name, std::initializer_list<std::span<const u8>> pieces) {
  check_name(name);
  Entry entry{.name = name};
  u64 bytes = 0;
  for (const std::span<const u8> piece : pieces) {
    entry.crc = crc_of(piece, entry.crc);
    bytes += piece.size();
  }
  entry.bytes = fit32(bytes);
  entry.offset = fit32(file_.written());
  std::vector<u8> local;
  append(local, 0x04034b50, 4);
  append_common(local, entry);
  local.insert(local.end(), name.begin(), name.end());
  file_.write(local);
  for (const std::span<const u8> piece : pieces) file_.write(piece);
  entries_.push_back(std::move(entry));
}

void ZipWriter::commit() {
  std::vector<u8> bytes;
  for (const Entry& entry : entries_) {
    append(bytes, 0x02014b50, 4);
    append(bytes, 3 << 8 | 20, 2);  // made by: Unix, zip 2.0
    append_common(bytes, entry);
    append(bytes, 0, 2 + 2 + 2);    // comment, disk, internal attributes
    append(bytes, 0600u << 16, 4);  // permissions
    append(bytes, entry.offset, 4);
    bytes.insert(bytes.end(), entry.name.begin(), entry.name.end());
  }
  const u32 directory_bytes = fit32(bytes.size());
  const u32 offset = fit32(file_.written());
  append(bytes, 0x06054b50, 4);
  append(bytes, 0, 4);  // disks
  append(bytes, entries_.size(), 2);
  append(bytes, entries_.size(), 2);
  append(bytes, directory_bytes, 4);
  append(bytes, offset, 4);
  append(bytes, 0, 2);  // comment
  file_.write(bytes);
  file_.commit();
}

}  // namespace octet
