// SPDX-License-Identifier: Apache-2.0
// What a long search has measured, kept in a file line by line, so that it goes on where it ended.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "cli/output/outputs.h"
#include "octet/line_log.h"

namespace octet::cli {

class Journal {
 public:
  // Without a file it keeps nothing. Error(invalid_argument) for a file that is no journal, with the line that is wrong. A last line that
  // ends in the middle is left out: so a journal ends whose writer was killed.
  explicit Journal(const Output& output);

  std::optional<double> recall(const std::string& key) const;
  void record(const std::string& key, double value);
  // Of those that the file held.
  size_t recalled() const { return recalled_; }

 private:
  void read(const std::filesystem::path& path);

  std::map<std::string, double> values_;
  mutable size_t recalled_ = 0;
  std::unique_ptr<LineLog> log_;
};

}  // namespace octet::cli
