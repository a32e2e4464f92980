// SPDX-License-Identifier: Apache-2.0
#include "data/zip_entry.h"

#include <algorithm>

#include "core/check.h"

namespace octet {
namespace {

constexpr size_t kEntryChunkBytes = 64 << 10;

}  // namespace

ZipEntryReader::ZipEntryReader(const File& file, const ZipEntry& entry, const std::string& label)
    : file_(file), entry_(entry), label_(label), buffer_(kEntryChunkBytes) {
  // Negative window bits: raw deflate without a zlib header.
  if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) {
    fail(Error::Code::out_of_memory, "'{}': out of memory", label);
  }
}

ZipEntryReader::~ZipEntryReader() { inflateEnd(&stream_); }

void ZipEntryReader::read(std::span<u8> dst) {
  if (dst.size() > entry_.bytes - produced_) damaged("ends too early");
  while (!dst.empty()) {
    const size_t n = std::min(dst.size(), kEntryChunkBytes);  // keeps zlib's 32-bit counts in range
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

void ZipEntryReader::finish() {
  if (produced_ != entry_.bytes) damaged("has data beyond its end");
  u8 extra = 0;
  if (entry_.deflated && inflate_into({&extra, 1})) {
    damaged("unpacks to more bytes than it declares");
  }
  if (crc_ != entry_.crc) damaged("fails its CRC check");
}

void ZipEntryReader::damaged(std::string_view why) const {
  fail(Error::Code::invalid_argument, "'{}' {}; the file is damaged, save it again", label_, why);
}

// Does nothing when all input has been handed over: the last of it may still be inside zlib.
void ZipEntryReader::refill() {
  const size_t n =
      static_cast<size_t>(std::min<u64>(kEntryChunkBytes, entry_.packed_bytes - consumed_));
  if (n == 0 || stream_.avail_in > 0) return;
  file_.read_at(entry_.data_offset + consumed_, std::span(buffer_).first(n));
  consumed_ += n;
  stream_.next_in = buffer_.data();
  stream_.avail_in = static_cast<uInt>(n);
}

// Unpacks until `dst` is full (true) or the stream has ended (false).
bool ZipEntryReader::inflate_into(std::span<u8> dst) {
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

}  // namespace octet
