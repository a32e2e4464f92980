// SPDX-License-Identifier: Apache-2.0
// "-" in place of a file: standard input is read whole into memory, and then is a file like others; an output goes to standard output,
// and what would stand there goes to standard error.
#pragma once

#include <filesystem>
#include <string>

#include "octet/input.h"

namespace octet::cli {

// The file to read for what the user wrote: itself, or for "-" what standard input holds, which is read once: a second "-" is the same
// file. Throws Error(out_of_memory) where it passes the limit, Error(io) where it cannot be read.
std::filesystem::path readable(const std::filesystem::path& path);
bool is_standard_input(const std::filesystem::path& path);
// The text with the name of that file as the user knows it.
std::string with_known_names(std::string text);

inline bool is_dash(const std::filesystem::path& path) { return path == "-"; }

// From now on standard output belongs to write_standard_output() alone. Throws Error(invalid_argument) where it is a terminal.
void take_standard_output(const std::string& flag);
// Copies a whole file there.
void write_standard_output(const std::filesystem::path& file);

// A file that lives as long as this object, in a folder that nobody else may enter.
class ScratchFile {
 public:
  ScratchFile();
  ~ScratchFile();
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  const std::filesystem::path& path() const { return file_; }

 private:
  std::filesystem::path folder_;
  std::filesystem::path file_;
};

}  // namespace octet::cli
