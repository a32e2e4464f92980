// SPDX-License-Identifier: Apache-2.0
#include "data/npz.h"

#include <zlib.h>

#include <algorithm>
#include <set>

#include "core/check.h"
#include "core/memory.h"
#include "octet/closest.h"

namespace octet {
namespace {

constexpr size_t kChunkBytes = 64 << 10;

// Unpacks one entry in order, and checks length and CRC when all of it has been handed out.
class EntryReader {
 public:
  EntryReader(const File& file, const ZipEntry& entry, const std::string& label)
      : file_(file), entry_(entry), label_(label), buffer_(kChunkBytes) {
    // Negative window bits: raw deflate without a zlib header.
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) {
      fail(Error::Code::out_of_memory, "'{}': out of memory", label);
    }
  }
  ~EntryReader() { inflateEnd(&stream_); }
  EntryReader(const EntryReader&) = delete;
  EntryReader& operator=(const EntryReader&) = delete;

  void read(std::span<u8> dst) {
    while (!dst.empty()) {
      const size_t n = std::min(dst.size(), kChunkBytes);  // keeps zlib's 32-bit counts in range
      const std::span<u8> piece = dst.first(n);
      if (entry_.deflated) {
        if (!inflate_into(piece)) damaged("ends too early");
      } else {
        file_.read_at(entry_.data_offset + consumed_, piece);
        consumed_ += n;
      }
      crc_ = static_cast<u32>(crc32(crc_, piece.data(), static_cast<uInt>(n)));
      produced_ += n;
      dst = dst.subspan(n);
    }
  }

  void finish() {
    if (produced_ != entry_.bytes) damaged("has data beyond the array");
    u8 extra = 0;
    if (entry_.deflated && inflate_into({&extra, 1})) {
      damaged("unpacks to more bytes than it declares");
    }
    if (crc_ != entry_.crc) damaged("fails its CRC check");
  }

 private:
  [[noreturn]] void damaged(std::string_view why) const {
    fail(Error::Code::invalid_argument, "'{}' {}; the file is damaged, save it again", label_, why);
  }

  // Does nothing when all input has been handed over: the last of it may still be inside zlib.
  void refill() {
    const size_t n =
        static_cast<size_t>(std::min<u64>(kChunkBytes, entry_.packed_bytes - consumed_));
    if (n == 0 || stream_.avail_in > 0) return;
    file_.read_at(entry_.data_offset + consumed_, std::span(buffer_).first(n));
    consumed_ += n;
    stream_.next_in = buffer_.data();
    stream_.avail_in = static_cast<uInt>(n);
  }

  // Unpacks until `dst` is full (true) or the stream has ended (false).
  bool inflate_into(std::span<u8> dst) {
    stream_.next_out = dst.data();
    stream_.avail_out = static_cast<uInt>(dst.size());
    while (stream_.avail_out > 0) {
      refill();
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) return stream_.avail_out == 0;
      if (status == Z_BUF_ERROR) damaged("ends too early");
      if (status != Z_OK) damaged("has damaged compressed data");
    }
    return true;
  }

  const File& file_;
  const ZipEntry& entry_;
  const std::string& label_;
  std::vector<u8> buffer_;
  z_stream stream_{};
  u64 consumed_ = 0;
  u64 produced_ = 0;
  u32 crc_ = 0;
};

void append(std::vector<u8>* bytes, u64 value, int count) {
  for (int i = 0; i < count; ++i) bytes->push_back(static_cast<u8>(value >> (8 * i)));
}

struct WrittenEntry {
  std::string name;
  u32 crc = 0;
  u32 bytes = 0;
  u32 offset = 0;
};

// The fields that the local and the central header share, from "version needed" to "extra length".
void append_common(std::vector<u8>* bytes, const WrittenEntry& entry) {
  append(bytes, 20, 2);          // needs zip 2.0
  append(bytes, 1 << 11, 2);     // flags: the name is UTF-8
  append(bytes, 0, 2);           // stored
  append(bytes, 0, 2);           // time: midnight,
  append(bytes, 1 << 5 | 1, 2);  // 1980-01-01: the same arrays give the same bytes
  append(bytes, entry.crc, 4);
  append(bytes, entry.bytes, 4);
  append(bytes, entry.bytes, 4);
  append(bytes, entry.name.size(), 2);
  append(bytes, 0, 2);
}

u32 crc_of(std::span<const u8> bytes, u32 crc) {
  for (size_t at = 0; at < bytes.size(); at += kChunkBytes) {
    const std::span<const u8> piece = bytes.subspan(at, std::min(kChunkBytes, bytes.size() - at));
    crc = static_cast<u32>(crc32(crc, piece.data(), static_cast<uInt>(piece.size())));
  }
  return crc;
}

u32 fit32(u64 value, const std::filesystem::path& path) {
  if (value >= 0xffffffff) {
    fail(Error::Code::unsupported,
         "'{}' would pass 4 GiB; write fewer samples or separate .npy files", path.string());
  }
  return static_cast<u32>(value);
}

WrittenEntry write_entry(AtomicFile& file, const std::filesystem::path& path,
                         const std::string& name, const Tensor& array) {
  const Tensor tensor = numpy_compatible(array);
  const std::vector<u8> header = encode_npy_header(tensor.type());
  const std::span<const u8> data(reinterpret_cast<const u8*>(tensor.data()), tensor.bytes());
  WrittenEntry entry;
  entry.name = name + ".npy";
  if (name.empty() || entry.name.size() > 0xffff) {
    fail(Error::Code::invalid_argument, "'{}': array name of {} bytes", path.string(), name.size());
  }
  entry.crc = crc_of(data, crc_of(header, 0));
  entry.bytes = fit32(header.size() + data.size(), path);
  entry.offset = fit32(file.written(), path);
  std::vector<u8> local;
  append(&local, 0x04034b50, 4);
  append_common(&local, entry);
  local.insert(local.end(), entry.name.begin(), entry.name.end());
  file.write(local);
  file.write(header);
  file.write(data);
  return entry;
}

void write_directory(AtomicFile& file, const std::filesystem::path& path,
                     const std::vector<WrittenEntry>& entries) {
  std::vector<u8> bytes;
  for (const WrittenEntry& entry : entries) {
    append(&bytes, 0x02014b50, 4);
    append(&bytes, 3 << 8 | 20, 2);  // made by: Unix, zip 2.0
    append_common(&bytes, entry);
    append(&bytes, 0, 2 + 2 + 2);    // comment, disk, internal attributes
    append(&bytes, 0600u << 16, 4);  // permissions
    append(&bytes, entry.offset, 4);
    bytes.insert(bytes.end(), entry.name.begin(), entry.name.end());
  }
  const u32 directory_bytes = fit32(bytes.size(), path);
  const u32 offset = fit32(file.written(), path);
  append(&bytes, 0x06054b50, 4);
  append(&bytes, 0, 4);  // disks
  append(&bytes, entries.size(), 2);
  append(&bytes, entries.size(), 2);
  append(&bytes, directory_bytes, 4);
  append(&bytes, offset, 4);
  append(&bytes, 0, 2);  // comment
  file.write(bytes);
}

}  // namespace

Npz::Npz(const std::filesystem::path& path) : file_(path) {
  for (ZipEntry& entry : read_zip_directory(file_)) {
    // Anything that is not an array (a note, say) is left alone.
    if (!entry.name.ends_with(".npy")) continue;
    const std::string array = entry.name.substr(0, entry.name.size() - 4);
    order_.push_back(array);
    entries_.emplace(array, std::move(entry));
  }
}

std::vector<std::string> Npz::arrays() const { return order_; }

bool Npz::has(const std::string& array) const { return entries_.contains(array); }

std::string Npz::label(const std::string& array) const { return name() + ':' + array; }

const ZipEntry& Npz::entry(const std::string& array) const {
  const auto found = entries_.find(array);
  if (found != entries_.end()) return found->second;
  fail(Error::Code::invalid_argument, "'{}' has no array '{}'{}; it has: {}", name(), array,
       did_you_mean(array, order_), fmt::join(order_, ", "));
}

NpyHeader Npz::header(const std::string& array) const {
  const ZipEntry& e = entry(array);
  const std::string text = label(array);
  EntryReader reader(file_, e, text);
  return read_npy_header([&](std::span<u8> dst) { reader.read(dst); }, e.bytes, text);
}

Tensor Npz::read(const std::string& array) const {
  const ZipEntry& e = entry(array);
  const std::string text = label(array);
  EntryReader reader(file_, e, text);
  Tensor tensor = read_npy_stream([&](std::span<u8> dst) { reader.read(dst); }, e.bytes, text);
  reader.finish();
  return tensor;
}

namespace {

std::map<std::string, Tensor> read_all(const Npz& archive) {
  std::map<std::string, Tensor> arrays;
  u64 total = 0;
  for (const std::string& name : archive.arrays()) {
    total += static_cast<u64>(archive.header(name).type.bytes());
    if (total > max_array_bytes()) {
      fail(Error::Code::out_of_memory, "'{}': its arrays need more than the limit of {} bytes",
           archive.name(), max_array_bytes());
    }
  }
  for (const std::string& name : archive.arrays()) arrays.emplace(name, archive.read(name));
  return arrays;
}

void write_all(const std::filesystem::path& path,
               std::span<const std::pair<std::string, Tensor>> arrays) {
  AtomicFile file(path);
  std::vector<WrittenEntry> entries;
  std::set<std::string> names;
  for (const auto& [name, tensor] : arrays) {
    if (!names.insert(name).second) {
      fail(Error::Code::invalid_argument, "'{}': array '{}' appears twice", path.string(), name);
    }
    entries.push_back(write_entry(file, path, name, tensor));
  }
  if (entries.size() >= 0xffff) {
    fail(Error::Code::unsupported, "'{}': {} arrays, the limit is 65534", path.string(),
         entries.size());
  }
  write_directory(file, path, entries);
  file.commit();
}

}  // namespace

std::vector<std::string> npz_arrays(const std::filesystem::path& path) {
  return without_bad_alloc([&] { return Npz(path).arrays(); });
}

Tensor read_npz(const std::filesystem::path& path, const std::string& array) {
  return without_bad_alloc([&] { return Npz(path).read(array); });
}

std::map<std::string, Tensor> read_npz(const std::filesystem::path& path) {
  return without_bad_alloc([&] { return read_all(Npz(path)); });
}

void write_npz(const std::filesystem::path& path,
               std::span<const std::pair<std::string, Tensor>> arrays) {
  without_bad_alloc([&] { write_all(path, arrays); });
}

}  // namespace octet
