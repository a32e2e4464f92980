// SPDX-License-Identifier: Apache-2.0
#include "core/glob.h"

#include <gtest/gtest.h>

#include <string>

namespace octet::test {
namespace {

TEST(Glob, Matches) {
  EXPECT_TRUE(glob_matches("conv1", "conv1"));
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("/layer?/*", "/layer1/conv/Conv"));
  EXPECT_TRUE(glob_matches("*a*b*", "xxaxxbxx"));
  EXPECT_TRUE(glob_matches("*.codes", "a.codes.codes"));
  EXPECT_TRUE(glob_matches("x[0]", "x[0]"));
  EXPECT_TRUE(glob_matches("**", "anything"));
}

TEST(Glob, DoesNotMatch) {
  EXPECT_FALSE(glob_matches("", "a"));
  EXPECT_FALSE(glob_matches("conv", "conv1"));
  EXPECT_FALSE(glob_matches("?", ""));
  EXPECT_FALSE(glob_matches("*a", "ab"));
  EXPECT_FALSE(glob_matches("a*b*c", "abab"));
}

// The naive search takes exponential time here.
TEST(Glob, ManyStarsEnd) {
  std::string pattern;
  for (int i = 0; i < 200; ++i) pattern += "a*";
  EXPECT_FALSE(glob_matches(pattern + "b", std::string(20000, 'a')));
}

}  // namespace
}  // namespace octet::test
