// SPDX-License-Identifier: Apache-2.0
// A text file that lines are added to.
#pragma once

#include <filesystem>
#include <string_view>

namespace octet {

// A new or empty file gets `header` as its first line; one that begins with that line is continued. Error(invalid_argument) for any
// other, which is somebody else's; Error(io) for what is no regular file, or cannot be written.
class LineLog {
 public:
  LineLog(const std::filesystem::path& path, std::string_view header);
  ~LineLog();
  LineLog(const LineLog&) = delete;
  LineLog& operator=(const LineLog&) = delete;

  // Whole lines, each at the end of what others have written meanwhile. False where the system refuses: the file may end in a part of
  // it then.
  bool add(std::string_view line) noexcept;

 private:
  int fd_ = -1;
};

}  // namespace octet
