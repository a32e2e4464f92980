// SPDX-License-Identifier: Apache-2.0
// The bytes of one entry of a zip archive.
#pragma once

#include <zlib.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "data/zip_directory.h"

namespace octet {

// Unpacks in order, and checks length and CRC when all has been handed out. What it is given lives longer; `label` names the entry in
// errors.
class ZipEntryReader {
 public:
  ZipEntryReader(const File& file, const ZipEntry& entry, const std::string& label);
  ~ZipEntryReader();
  ZipEntryReader(const ZipEntryReader&) = delete;
  ZipEntryReader& operator=(const ZipEntryReader&) = delete;

  // Fills `dst`, or throws Error(invalid_argument) where the entry has fewer bytes left.
  void read(std::span<u8> dst);
  // Throws the same for bytes that nobody read, or a wrong CRC.
  void finish();

 private:
  [[noreturn]] void damaged(std::string_view why) const;
  void refill();
  bool inflate_into(std::span<u8> dst);

  const File& file_;
  const ZipEntry& entry_;
  const std::string& label_;
  std::vector<u8> buffer_;
  z_stream stream_{};
  u64 consumed_ = 0;
  u64 produced_ = 0;
  u32 crc_ = 0;
};

}  // namespace octet
