// SPDX-License-Identifier: Apache-2.0
// An open .npz archive: named arrays in one zip file.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/file.h"
#include "data/npy.h"
#include "data/zip_directory.h"

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

}  // namespace octet
