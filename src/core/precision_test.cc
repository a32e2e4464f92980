// SPDX-License-Identifier: Apache-2.0
#include "octet/precision.h"

#include <gtest/gtest.h>

#include <set>

namespace octet {
namespace {

TEST(Precision, NamesReadBack) {
  std::set<std::string_view> names;
  for (int i = 1; i <= static_cast<int>(Precision::u2); ++i) {
    const auto precision = static_cast<Precision>(i);
    names.insert(to_string(precision));
    EXPECT_EQ(precision_from(to_string(precision)), precision);
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(Precision::u2));
  EXPECT_EQ(to_string(Precision::none), "");
  for (const char* unknown : {"", "int", "INT8", "float"})
    EXPECT_EQ(precision_from(unknown), std::nullopt) << unknown;
}

TEST(Precision, OfElementsThatAreNoCodes) {
  EXPECT_EQ(precision_of(Dtype::f32), Precision::f32);
  EXPECT_EQ(precision_of(Dtype::bf16), Precision::bf16);
  EXPECT_EQ(precision_of(Dtype::boolean), Precision::boolean);
  EXPECT_EQ(precision_of(Dtype::u2), Precision::u2);
  EXPECT_EQ(to_string(precision_of(Dtype::s8)), "s8");  // without a scale, unlike int8
}

TEST(ReasonCode, NamesReadBack) {
  for (int i = 1; i < kReasonCodeCount; ++i) {
    const auto code = static_cast<ReasonCode>(i);
    EXPECT_NE(to_string(code), "");
    EXPECT_EQ(reason_code_from(to_string(code)), code);
  }
  EXPECT_EQ(reason_code_from("channel_loss"), ReasonCode::channel_loss);
  for (const char* unknown : {"", "none", "Channel_loss"})
    EXPECT_EQ(reason_code_from(unknown), std::nullopt) << unknown;
}

}  // namespace
}  // namespace octet
