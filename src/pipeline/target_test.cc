// SPDX-License-Identifier: Apache-2.0
#include "pipeline/target.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/error_testing.h"

namespace octet {
namespace {

PrecisionPlan fastest_on(const std::string& target) {
  PrecisionPlan plan;
  plan.fastest = true;
  plan.target = target;
  return plan;
}

FloatTypes types_on(const std::string& target) {
  return float_types(with_target(fastest_on(target)));
}

TEST(BuildTarget, EveryNameIsTakenAsItIs) {
  for (const std::string& name : build_targets()) {
    const std::string target = with_target(fastest_on(name)).target;
    EXPECT_TRUE(target == name || name == "cpu") << target;
  }
}

TEST(BuildTarget, ThisMachineGetsItsName) {
  const std::string name = with_target(fastest_on("")).target;
  EXPECT_EQ(with_target(fastest_on("cpu")).target, name);
  EXPECT_EQ(std::ranges::count(build_targets(), name), 1) << name;
}

TEST(BuildTarget, DecidesTheTypes) {
  const FloatTypes gpu = types_on("cuda:sm90"), tiles = types_on("cpu:amx"),
                   plain = types_on("cpu:vnni");
  EXPECT_TRUE(gpu.f16 && gpu.bf16 && !gpu.products_only);
  EXPECT_TRUE(!tiles.f16 && tiles.bf16 && tiles.products_only);
  EXPECT_TRUE(!plain.f16 && !plain.bf16);
}

TEST(BuildTarget, TypesThatAreNamedGoFirst) {
  PrecisionPlan plan = fastest_on("cuda");
  plan.bf16 = true;
  const FloatTypes types = float_types(with_target(plan));
  EXPECT_TRUE(!types.f16 && types.bf16 && !types.products_only);
}

TEST(BuildTarget, NothingIsDecidedByIt) {
  PrecisionPlan plan;
  plan.target = "cuda";
  test::expect_error([&] { with_target(plan); }, Error::Code::invalid_argument, {"no use"});
  test::expect_error([] { with_target(fastest_on("cuda:gtx")); }, Error::Code::invalid_argument,
                     {"cuda:gtx", "cuda:sm90"});
}

}  // namespace
}  // namespace octet
