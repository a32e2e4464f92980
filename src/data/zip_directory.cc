// SPDX-License-Identifier: Apache-2.0
#include "data/zip_directory.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "core/check.h"
#include "core/sniff.h"

namespace octet {
namespace {

constexpr u32 kEndSignature = 0x06054b50;
constexpr u32 kZip64LocatorSignature = 0x07064b50;
constexpr u32 kZip64EndSignature = 0x06064b50;
constexpr u32 kEntrySignature = 0x02014b50;
constexpr u32 kLocalSignature = 0x04034b50;
constexpr u16 kZip64ExtraId = 1;
constexpr u16 kEncryptedFlag = 1;
constexpr size_t kEndBytes = 22;
constexpr size_t kMaxComment = 65535;
constexpr u64 kMaxEntries = 65536;
constexpr u64 kMaxDirectoryBytes = 64 << 20;
// Deflate cannot expand further: 258 bytes from the 2 bits of one length and one distance code.
constexpr u64 kMaxDeflateRatio = 1032;

[[noreturn]] void corrupt(const File& file, std::string_view why) {
  fail(Error::Code::invalid_argument, "'{}' is a corrupt or truncated zip archive: {}", file.name(),
       why);
}

// Little-endian fields in order; running out is an error.
class Fields {
 public:
  Fields(std::span<const u8> bytes, const File& file) : rest_(bytes), file_(file) {}

  u64 number(size_t bytes) {
    const std::span<const u8> field = take(bytes);
    u64 value = 0;
    for (size_t i = bytes; i-- > 0;) value = value << 8 | field[i];
    return value;
  }
  u16 u16_field() { return static_cast<u16>(number(2)); }
  u32 u32_field() { return static_cast<u32>(number(4)); }
  u64 u64_field() { return number(8); }

  std::span<const u8> take(size_t bytes) {
    if (bytes > rest_.size()) corrupt(file_, "a record ends too early");
    const std::span<const u8> field = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return field;
  }
  size_t left() const { return rest_.size(); }

 private:
  std::span<const u8> rest_;
  const File& file_;
};

struct Directory {
  u64 entries = 0;
  u64 bytes = 0;
  u64 offset = 0;
};

std::vector<u8> read_span(const File& file, u64 offset, u64 bytes) {
  if (offset > file.size() || bytes > file.size() - offset) corrupt(file, "a record lies outside");
  std::vector<u8> result(bytes);
  file.read_at(offset, result);
  return result;
}

Directory zip64_directory(const File& file, u64 locator_offset) {
  const std::vector<u8> locator = read_span(file, locator_offset, 20);
  Fields l(locator, file);
  if (l.u32_field() != kZip64LocatorSignature) corrupt(file, "no zip64 locator");
  l.take(4);
  const std::vector<u8> end = read_span(file, l.u64_field(), 56);
  Fields f(end, file);
  if (f.u32_field() != kZip64EndSignature) corrupt(file, "no zip64 end record");
  f.take(8 + 2 + 2 + 4 + 4 + 8);
  Directory directory;
  directory.entries = f.u64_field();
  directory.bytes = f.u64_field();
  directory.offset = f.u64_field();
  return directory;
}

// Names what was given instead, where its first bytes tell.
[[noreturn]] void not_an_archive(const File& file) {
  const std::vector<u8> bytes = read_span(file, 0, std::min<u64>(file.size(), 256));
  const std::string_view is = sniff_foreign(std::as_bytes(std::span(bytes)));
  if (!is.empty() && !is.starts_with("a zip archive"))
    fail(Error::Code::invalid_argument, "'{}' is {}, and a zip archive is expected", file.name(),
         is.substr(0, is.find_first_of(",;")));
  corrupt(file, "no end-of-directory record");
}

Directory find_directory(const File& file) {
  const u64 tail = std::min<u64>(file.size(), kEndBytes + kMaxComment);
  const std::vector<u8> bytes = read_span(file, file.size() - tail, tail);
  for (size_t at = bytes.size() < kEndBytes ? 0 : bytes.size() - kEndBytes + 1; at-- > 0;) {
    Fields f{std::span(bytes).subspan(at), file};
    if (f.u32_field() != kEndSignature) continue;
    f.take(6);
    Directory directory;
    directory.entries = f.u16_field();
    directory.bytes = f.u32_field();
    directory.offset = f.u32_field();
    const bool zip64 = directory.entries == 0xffff || directory.bytes == 0xffffffff ||
                       directory.offset == 0xffffffff;
    const u64 end_offset = file.size() - tail + at;
    return zip64 && end_offset >= 20 ? zip64_directory(file, end_offset - 20) : directory;
  }
  not_an_archive(file);
}

// The extra field gives, in this order, whichever of the three did not fit 32 bits.
void read_zip64_extra(std::span<const u8> extra, ZipEntry* entry, u64* local_offset,
                      const File& file) {
  Fields fields(extra, file);
  while (fields.left() >= 4) {
    const u16 id = fields.u16_field();
    const u16 length = fields.u16_field();
    Fields body(fields.take(length), file);
    if (id != kZip64ExtraId) continue;
    for (u64* value : {&entry->bytes, &entry->packed_bytes, local_offset}) {
      if (*value == 0xffffffff) *value = body.u64_field();
    }
  }
}

// The local header repeats the name and may have another extra field; the data follows it.
u64 find_data(const File& file, const ZipEntry& entry, u64 local_offset) {
  const std::vector<u8> local = read_span(file, local_offset, 30);
  Fields fields(local, file);
  if (fields.u32_field() != kLocalSignature) corrupt(file, "an entry has no local header");
  fields.take(22);
  const u64 name_bytes = fields.u16_field();
  const u64 offset = local_offset + 30 + name_bytes + fields.u16_field();
  if (offset > file.size() || entry.packed_bytes > file.size() - offset) {
    corrupt(file, fmt::format("entry '{}' ends past the file", entry.name));
  }
  return offset;
}

void check_entry(const File& file, const ZipEntry& entry, u16 flags, u16 method) {
  const auto refuse = [&](std::string_view why) {
    fail(Error::Code::invalid_argument, "'{}': entry '{}' {}", file.name(), entry.name, why);
  };
  if ((flags & kEncryptedFlag) != 0) refuse("is encrypted");
  if (method != 0 && method != 8) {
    refuse(fmt::format("uses compression method {}; supported are stored and deflate", method));
  }
  // Nothing is ever unpacked to disk; such a name only shows that the archive is not what it says. A leading slash stays
  // legal: tensors are called "/conv1/Conv_output_0".
  if (entry.name.starts_with("../") || entry.name.find("/../") != std::string::npos ||
      entry.name.find('\0') != std::string::npos || entry.name.empty()) {
    refuse("has a name that is a path out of the archive");
  }
  if (method == 0 && entry.bytes != entry.packed_bytes) refuse("has two different sizes");
  if (entry.bytes / kMaxDeflateRatio > entry.packed_bytes) {
    refuse(fmt::format("claims {} bytes from {} compressed ones, which deflate cannot do",
                       entry.bytes, entry.packed_bytes));
  }
}

ZipEntry read_entry(const File& file, Fields& fields) {
  if (fields.u32_field() != kEntrySignature) corrupt(file, "a directory entry is damaged");
  fields.take(4);
  const u16 flags = fields.u16_field();
  const u16 method = fields.u16_field();
  fields.take(4);
  ZipEntry entry;
  entry.deflated = method == 8;
  entry.crc = fields.u32_field();
  entry.packed_bytes = fields.u32_field();
  entry.bytes = fields.u32_field();
  const u16 name_bytes = fields.u16_field();
  const u16 extra_bytes = fields.u16_field();
  const u16 comment_bytes = fields.u16_field();
  fields.take(8);
  u64 local_offset = fields.u32_field();
  const std::span<const u8> name = fields.take(name_bytes);
  entry.name.assign(name.begin(), name.end());
  read_zip64_extra(fields.take(extra_bytes), &entry, &local_offset, file);
  fields.take(comment_bytes);
  check_entry(file, entry, flags, method);
  entry.data_offset = find_data(file, entry, local_offset);
  return entry;
}

// Entries that share bytes are how a small archive becomes a bomb.
void check_overlap(const File& file, std::vector<ZipEntry> entries) {
  std::sort(entries.begin(), entries.end(),
            [](const ZipEntry& a, const ZipEntry& b) { return a.data_offset < b.data_offset; });
  for (size_t i = 1; i < entries.size(); ++i) {
    if (entries[i - 1].data_offset + entries[i - 1].packed_bytes > entries[i].data_offset) {
      corrupt(file,
              fmt::format("entries '{}' and '{}' overlap", entries[i - 1].name, entries[i].name));
    }
  }
}

}  // namespace

std::vector<ZipEntry> read_zip_directory(const File& file) {
  if (file.size() == 0) {
    fail(Error::Code::invalid_argument, "'{}' is empty (0 bytes)", file.name());
  }
  const Directory directory = find_directory(file);
  if (directory.entries > kMaxEntries || directory.bytes > kMaxDirectoryBytes) {
    fail(Error::Code::invalid_argument,
         "'{}': {} entries in a directory of {} bytes; limits {}, {}", file.name(),
         directory.entries, directory.bytes, kMaxEntries, kMaxDirectoryBytes);
  }
  const std::vector<u8> bytes = read_span(file, directory.offset, directory.bytes);
  Fields fields(bytes, file);
  std::vector<ZipEntry> entries;
  std::set<std::string> names;
  for (u64 i = 0; i < directory.entries; ++i) {
    entries.push_back(read_entry(file, fields));
    if (!names.insert(entries.back().name).second) {
      fail(Error::Code::invalid_argument, "'{}': entry '{}' appears twice", file.name(),
           entries.back().name);
    }
  }
  check_overlap(file, entries);
  return entries;
}

}  // namespace octet
