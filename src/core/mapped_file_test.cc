// SPDX-License-Identifier: Apache-2.0
#include "core/mapped_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>

#include "core/error_testing.h"
#include "core/folder_testing.h"

namespace octet {
namespace {

namespace fs = std::filesystem;

using test::expect_error;

class MappedFiles : public test::InFolder {
 protected:
  fs::path put(const std::string& text) const {
    std::ofstream(folder_ / "file", std::ios::binary) << text;
    return folder_ / "file";
  }
};

TEST_F(MappedFiles, HoldTheFileAndZerosBehindIt) {
  for (const size_t size : {size_t{0}, size_t{5}, size_t{4095}, size_t{4096}, size_t{10000}}) {
    const std::string text(size, 'a');
    const MappedFile file(put(text));
    ASSERT_EQ(file.size, size);
    EXPECT_EQ(std::memcmp(file.bytes.get(), text.data(), size), 0);
    for (size_t i = 0; i < 4096; ++i) ASSERT_EQ(file.bytes.get()[size + i], std::byte{0}) << size;
  }
}

TEST_F(MappedFiles, AnotherFileOfTheNameChangesNothing) {
  const fs::path path = put("first");
  const MappedFile file(path);
  std::ofstream(folder_ / "other") << "other";
  fs::rename(folder_ / "other", path);
  EXPECT_EQ(std::memcmp(file.bytes.get(), "first", 5), 0);
}

TEST_F(MappedFiles, WhatIsNoRegularFileIsRefused) {
  expect_error([&] { (void)MappedFile(folder_); }, Error::Code::io, {"not a regular file"});
  expect_error([&] { (void)MappedFile(folder_ / "none"); }, Error::Code::io, {"cannot open"});
}

}  // namespace
}  // namespace octet
