// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: synthetic pixels, test files and temporary folders.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error_testing.h"
#include "core/file.h"
#include "core/types.h"
#include "data/image.h"

namespace octet::test {

inline std::filesystem::path testdata(const std::string& name = "") {
  return std::filesystem::path(OCTET_SOURCE_DIR) / "src/data/testdata" / name;
}

inline std::vector<u8> testdata_bytes(const std::string& name) {
  return read_file(testdata(name), 1 << 20);
}

// The same bytes as pattern() in testdata/make_testdata.py.
inline Image make_pattern(int width, int height, int channels) {
  Image image{width, height, channels, {}};
  image.pixels.resize(static_cast<size_t>(width * height * channels));
  u32 state = 12345;
  for (size_t i = 0; i < image.pixels.size(); ++i) {
    state = state * 1664525u + 1013904223u;
    image.pixels[i] = static_cast<u8>(i * 7 / static_cast<size_t>(channels) + (state >> 24) / 3);
  }
  return image;
}

class TempFolder {
 public:
  TempFolder() {
    std::string name = ::testing::TempDir() + "octet_XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

  // Creates the folders on the way.
  std::filesystem::path write(const std::string& name, const std::vector<u8>& bytes) const {
    const std::filesystem::path path = path_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return path;
  }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    return write(name, std::vector<u8>(text.begin(), text.end()));
  }
  std::filesystem::path copy(const std::string& from, const std::string& name) const {
    return write(name, testdata_bytes(from));
  }

 private:
  std::filesystem::path path_;
};

}  // namespace octet::test
