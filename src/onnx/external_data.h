// SPDX-License-Identifier: Apache-2.0
// Weights kept beside the model. Nothing outside the model's folder is ever opened.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/content_hash.h"
#include "core/descriptor.h"
#include "core/types.h"

namespace octet {

// Where one tensor's bytes lie; from TensorProto.external_data.
struct ExternalSlice {
  std::string location;
  s64 offset = 0;
  s64 length = -1;       // -1: not given, what the tensor needs
  std::string checksum;  // SHA-1 of the whole file in hexadecimal digits; empty: not given
};

class ExternalData {
 public:
  // `folder` empty: the model came as bytes, any external tensor is an error. `root`: see ImportOptions.
  ExternalData(std::filesystem::path folder, std::filesystem::path root)
      : folder_(std::move(folder)), root_(std::move(root)) {}
  ExternalData(const ExternalData&) = delete;
  ExternalData& operator=(const ExternalData&) = delete;

  // Opens every location, checking all path rules; throws one Error that lists all missing files.
  void open_all(const std::vector<std::string>& locations);
  // Reads exactly `bytes` bytes into `dst` after checking the slice against the file's size.
  void read(const ExternalSlice& slice, s64 bytes, std::byte* dst);
  // Fails unless the slice holds exactly `bytes` bytes. Called before the tensor is allocated.
  void check(const ExternalSlice& slice, s64 bytes);
  // Of all that was read, in that order.
  ContentDigest digest() const { return hash_.digest(); }

 private:
  struct File {
    Descriptor descriptor = {};
    s64 size = 0;
    std::string sha1 = {};  // empty until somebody asks
  };
  void check_sum(const ExternalSlice& slice);
  // Returns false when the file does not exist.
  bool open(const std::string& location);
  File open_beneath(const std::filesystem::path& folder, const std::string& relative,
                    const std::string& location) const;

  std::filesystem::path folder_;
  std::filesystem::path root_;
  std::map<std::string, File> files_;
  ContentHash hash_;
};

}  // namespace octet
