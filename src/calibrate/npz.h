// SPDX-License-Identifier: Apache-2.0
// NumPy's .npz archives: named arrays in one zip file.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "calibrate/npy.h"
#include "calibrate/zip_directory.h"
#include "core/file.h"

namespace octet {

// An open archive. Reading is safe from several threads.
class Npz {
 public:
  explicit Npz(const std::filesystem::path& path);

  const std::string& name() const { return file_.name(); }
  std::vector<std::string> arrays() const;  // in the archive's order
  bool has(const std::string& array) const;
  NpyHeader header(const std::string& array) const;
  Tensor read(const std::string& array) const;

 private:
  const ZipEntry& entry(const std::string& array) const;
  std::string label(const std::string& array) const;  // "file.npz:array", for errors

  File file_;
  std::map<std::string, ZipEntry> entries_;
  std::vector<std::string> order_;
};

std::map<std::string, Tensor> read_npz(const std::filesystem::path& path);

// Uncompressed and atomic, as numpy.savez. Throws Error(unsupported) past 4 GiB.
void write_npz(const std::filesystem::path& path,
               std::span<const std::pair<std::string, Tensor>> arrays);

}  // namespace octet
