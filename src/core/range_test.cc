// SPDX-License-Identifier: Apache-2.0
#include "octet/range.h"

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

}  // namespace
}  // namespace octet::test
