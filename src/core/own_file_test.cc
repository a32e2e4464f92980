// SPDX-License-Identifier: Apache-2.0
#include "core/own_file.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace octet {
namespace {

TEST(OwnFile, IsTheProgramThatHoldsThisCode) {
  EXPECT_EQ(own_file(), std::filesystem::read_symlink("/proc/self/exe").string());
}

// The loader knows a program by the name that it was called by, which may be of another folder than this one.
TEST(OwnFile, DoesNotDependOnTheWorkingDirectory) {
  const std::string before = own_file();
  const std::filesystem::path folder = std::filesystem::current_path();
  std::filesystem::current_path("/");
  EXPECT_EQ(own_file(), before);
  std::filesystem::current_path(folder);
}

}  // namespace
}  // namespace octet
