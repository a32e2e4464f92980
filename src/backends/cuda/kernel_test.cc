// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace octet::cuda {
namespace {

using ::testing::HasSubstr;

KernelSource with_zero_point(s64 zero_point) {
  KernelSource part{"epilogue", {}};
  part.set("ZP_Y", zero_point);
  return part;
}

TEST(KernelSource, PartsHaveConstantsOfTheirOwn) {
  KernelSource source{"fold", {}};
  source.add_part("reduce", with_zero_point(3));
  source.add_part("expand", with_zero_point(5));
  const std::string text = source.text();
  const size_t first = text.find("#define ZP_Y 3\n"), second = text.find("#define ZP_Y 5\n");
  ASSERT_NE(first, text.npos);
  ASSERT_NE(second, text.npos);
  const std::string between = text.substr(first, second - first);
  EXPECT_THAT(between, HasSubstr("namespace reduce {"));
  EXPECT_THAT(between, HasSubstr("#undef ZP_Y\n"));
  EXPECT_THAT(between, HasSubstr("#undef EPI_TABLE\n"));  // a default of the text's own
  EXPECT_THAT(text.substr(second), HasSubstr("namespace expand {"));
}

TEST(KernelSource, PartsBelongToItsKey) {
  KernelSource one{"fold", {}}, other = one;
  one.add_part("reduce", with_zero_point(3));
  other.add_part("reduce", with_zero_point(5));
  EXPECT_NE(one.key(), other.key());
  EXPECT_NE(one.key(), KernelSource({"fold", {}}).key());
}

}  // namespace
}  // namespace octet::cuda
