// SPDX-License-Identifier: Apache-2.0
#include "octet/closest.h"

#include <gtest/gtest.h>

#include <vector>

namespace octet {
namespace {

using Names = std::vector<std::string>;

TEST(Closest, SlipsOfTheKeyboard) {
  const Names commands = {"check", "build", "inspect", "run", "eval", "compare", "bench"};
  EXPECT_EQ(closest("bulid", commands), "build");
  EXPECT_EQ(closest("Build", commands), "build");
  EXPECT_EQ(closest("inspct", commands), "inspect");
  EXPECT_EQ(closest("runn", commands), "run");
  EXPECT_EQ(closest("optimize", commands), "");
  EXPECT_EQ(closest("", commands), "");
  EXPECT_EQ(closest("x", commands), "");
}

TEST(Closest, PartOfOneName) {
  const Names nodes = {"/layer1/conv1/Conv", "/layer1/conv2/Conv", "/head/MatMul"};
  EXPECT_EQ(closest("head", nodes), "/head/MatMul");
  EXPECT_EQ(closest("conv1", nodes), "/layer1/conv1/Conv");
  EXPECT_EQ(closest("layer1", nodes), "");  // two hold it
  EXPECT_EQ(closest("layer1/conv2/Conv", nodes), "/layer1/conv2/Conv");
}

TEST(Closest, NamesOfAnyLengthAreSurvived) {
  const Names names = {"", std::string(1000, 'a'), "b"};
  EXPECT_EQ(closest(std::string(1000, 'a'), names), "");
  EXPECT_EQ(closest("a", names), "");
  EXPECT_EQ(did_you_mean("a", names), "");
  EXPECT_EQ(did_you_mean("B", names), "; did you mean 'b'?");
}

}  // namespace
}  // namespace octet
