// SPDX-License-Identifier: Apache-2.0
// What the tests of this folder share: synthetic pixels, test files, temporary folders, and one way to expect an error.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "calibrate/image.h"
#include "core/file.h"
#include "core/types.h"
#include "octet/error.h"

namespace octet::test {

inline std::filesystem::path testdata(const std::string& name = "") {
  return std::filesystem::path(OCTET_SOURCE_DIR) / "src/calibrate/testdata" / name;
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

// The call must throw Error with this code and every one of these texts in its message.
template <class F>
void expect_error(const F& call, Error::Code code, const std::vector<std::string>& texts) {
  try {
    call();
    ADD_FAILURE() << "no error; expected one that says: " << ::testing::PrintToString(texts);
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.code()), std::string(to_string(code))) << error.message();
    for (const std::string& text : texts) {
      EXPECT_THAT(error.message(), ::testing::HasSubstr(text));
    }
  }
}

// Runs a reader on damaged bytes: it may succeed or throw Error, but not one that blames us.
template <class F>
void expect_survives(const F& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_NE(error.code(), Error::Code::internal) << error.message();
  }
}

}  // namespace octet::test
