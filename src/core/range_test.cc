// SPDX-License-Identifier: Apache-2.0
#include "octet/range.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/error_testing.h"

namespace octet::test {
namespace {

TEST(RangeMethod, TextsComeBack) {
  for (const char* text : {"entropy", "minmax", "mse", "tensorrt", "auto", "percentile:99.99",
                           "percentile:100", "legacy:0.999,0.8"}) {
    EXPECT_EQ(to_string(parse_range_method(text)), text);
  }
  EXPECT_EQ(parse_range_method("percentile"), parse_range_method("percentile:99.99"));
  EXPECT_EQ(parse_range_method("percentile:99.99%"), parse_range_method("percentile:99.99"));
  EXPECT_EQ(parse_range_method("percentile:50"), RangeMethod(RangeRule::percentile, 50));
  EXPECT_EQ(parse_range_method("legacy:0.5,1"), RangeMethod(RangeRule::legacy, 0.5, 1));
}

TEST(RangeMethod, WhatCannotBeMeantIsRefusedWithTheForms) {
  for (const char* text : {"", "kl", "given", "cache", "entropy:3", "percentile:", "percentile:0",
                           "percentile:100.1", "percentile:nan", "percentile:99x", "legacy",
                           "legacy:0.5", "legacy:0.5,2", "legacy:0,0.5", "legacy:0.5,0.5,0.5"}) {
    expect_error([&] { parse_range_method(text); }, Error::Code::invalid_argument,
                 {"percentile:P", text});
  }
}

// A fraction keeps next to nothing, and every network would be a random one.
TEST(RangeMethod, PercentilesThatWereMeantAsFractionsAreRefused) {
  const auto refuse = [](double value, const std::vector<std::string>& says) {
    expect_error([&] { parse_range_method(fmt::format("percentile:{}", value)); },
                 Error::Code::invalid_argument, says);
    expect_error(
        [&] {
          check_range_method({RangeRule::percentile, value});
        },
        Error::Code::invalid_argument, says);
  };
  refuse(0.9999, {"a fraction", "percentile:99.99 is probably meant"});
  refuse(0.999, {"percentile:99.9 is probably meant"});
  refuse(1, {"percentile:100 is probably meant"});
  for (const double value : {1.5, 9.99, 49.9}) refuse(value, {"more than half of all values"});
  for (const double value : {50.0, 99.9999, 100.0})
    check_range_method({RangeRule::percentile, value});
  expect_error(
      [] {
        check_range_method({RangeRule::legacy, 1.5, 0.5});
      },
      Error::Code::invalid_argument, {"out of range"});
}

}  // namespace
}  // namespace octet::test
