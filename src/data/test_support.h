// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: synthetic pixels, test files and temporary folders.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/error_testing.h"
#include "core/file.h"
#include "core/folder_testing.h"
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

class TempFolder : public TemporaryFolder {
 public:
  std::filesystem::path operator/(const std::string& name) const { return path() / name; }

  // Creates the folders on the way.
  std::filesystem::path write(const std::string& name, const std::vector<u8>& bytes) const {
    const std::filesystem::path file = path() / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return file;
  }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    return write(name, std::vector<u8>(text.begin(), text.end()));
  }
  std::filesystem::path copy(const std::string& from, const std::string& name) const {
    return write(name, testdata_bytes(from));
  }
};

}  // namespace octet::test
