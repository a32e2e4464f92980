// SPDX-License-Identifier: Apache-2.0
#include "octet/constraints.h"

#include <gtest/gtest.h>

#include "octet/error.h"

namespace octet {
namespace {

TEST(Constraints, TheTypeStandsBehindTheLastColon) {
  const auto list = parse_constraints("conv1:int8, a:b:0 : fp32 ,/head/*:float", false);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].pattern, "conv1");
  EXPECT_EQ(list[0].precision, Precision::int8);
  EXPECT_EQ(list[1].pattern, "a:b:0");
  EXPECT_EQ(list[1].precision, Precision::f32);
  EXPECT_EQ(to_string(list[2]), "/head/*:f32");
  EXPECT_FALSE(list[0].output);
  EXPECT_TRUE(parse_constraints("x:f32", true)[0].output);
}

TEST(Constraints, AllThatIsWrongIsOneError) {
  try {
    parse_constraints("a:int8,b,:f32,c:int9,", false);
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string& said = error.message();
    EXPECT_EQ(error.code(), Error::Code::invalid_argument);
    EXPECT_NE(said.find("4 of 5 precision constraints are wrong"), std::string::npos) << said;
    EXPECT_NE(said.find("'c:int9': 'int9' is no type of layers; did you mean 'int8'?"),
              std::string::npos)
        << said;
    EXPECT_NE(said.find("'b' is no PATTERN:TYPE"), std::string::npos) << said;
  }
}

TEST(Constraints, LongListsAndEntriesAreRefused) {
  std::string many;
  for (int i = 0; i < 10'001; ++i) many += "a:f32,";
  EXPECT_THROW(parse_constraints(many, false), Error);
  EXPECT_THROW(parse_constraints(std::string(5000, 'x') + ":f32", false), Error);
}

TEST(Constraints, AskingForNothingIsNoViolation) {
  NodePrecision node;
  node.resolved = Precision::f32;
  EXPECT_FALSE(node.violated());
  node.requested = Precision::int8;
  EXPECT_TRUE(node.violated());
  node.resolved = Precision::int8;
  EXPECT_FALSE(node.violated());
  node.requested_output = Precision::f32;
  node.resolved_output = Precision::int8;
  EXPECT_TRUE(node.violated());
}

}  // namespace
}  // namespace octet
