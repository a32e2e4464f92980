// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "backends/cuda/families/conv_mma/spec.h"
#include "backends/cuda/families/gather/spec.h"
#include "octet/error.h"

namespace octet::cuda {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

conv_mma::Spec valid_spec() {
  conv_mma::Spec spec{};
  spec.window.cin = 64;
  spec.x_access = 16, spec.y_access = 16;
  spec.tiles_n = 8, spec.bk = 64, spec.stages = 4;
  spec.at.x.row = s64{1} << 40;
  spec.end.clamp_hi = bits_of(std::numeric_limits<f32>::infinity());
  return spec;
}

TEST(KernelSource, HoldsEveryFieldOfASpec) {
  const KernelSource source = source_of("conv_mma", valid_spec());
  EXPECT_THAT(source.constants, Contains("window.cin=64"));
  EXPECT_THAT(source.constants, Contains("at.x.row=1099511627776"));
  EXPECT_THAT(source.constants, Contains("end.clamp_hi=0x7f800000u"));
  conv_mma::Spec other = valid_spec();
  other.end.sum_hi = 1;
  EXPECT_NE(source.key(), source_of("conv_mma", other).key());
}

TEST(KernelSource, HoldsWhatAListHas) {
  gather::Spec spec{};
  append(spec.axes, {.size = 7, .stride = s64{1} << 40});
  const KernelSource source = source_of("gather", spec);
  EXPECT_THAT(source.constants, Contains("axes.count=1"));
  EXPECT_THAT(source.constants, Contains("axes.at[0].stride=1099511627776"));
  EXPECT_THAT(source.constants, Not(Contains(HasSubstr("axes.at[1]"))));
  EXPECT_THAT(source.text(), HasSubstr("s.axes.at[0].size = decltype(s.axes.at[0].size){7};"));
}

TEST(KernelSource, HoldsFunctionsOfTheNode) {
  KernelSource source = source_of("conv_mma", valid_spec()), other = source;
  source.functions = {{"f32 element(f32 a)", "math_exp(a)"}};
  other.functions = {{"f32 element(f32 a)", "math_log(a)"}};
  EXPECT_NE(source.key(), other.key());
  const std::string text = source.text();
  const size_t words = text.find("f32 math_exp("), made = text.find("struct Made {"),
               function = text.find("f32 element(f32 a) { return math_exp(a); }");
  ASSERT_NE(words, text.npos);
  ASSERT_NE(function, text.npos);
  EXPECT_LT(words, made);
  EXPECT_LT(made, function);
}

TEST(KernelSource, BringsWhatItsFilesInclude) {
  const std::string text = source_of("conv_mma", valid_spec()).text();
  const std::string mark = "#line 1 \"backends/cuda/device/epilogue.h\"\n";
  const size_t header = text.find(mark), made = text.find("struct Made {"),
               kernel = text.find("octet_kernel(");
  ASSERT_NE(header, text.npos);
  EXPECT_EQ(text.find(mark, header + 1), text.npos);  // once
  EXPECT_LT(header, made);
  EXPECT_LT(made, kernel);
  EXPECT_THAT(text, HasSubstr("s.window.cin = decltype(s.window.cin){64};"));
}

TEST(KernelSource, RefusesWhatItsFamilyRefuses) {
  conv_mma::Spec spec = valid_spec();
  spec.stages = 1;
  try {
    source_of("conv_mma", spec);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::internal);
    EXPECT_THAT(error.what(), HasSubstr("one stage is loaded while another is multiplied"));
  }
}

}  // namespace
}  // namespace octet::cuda
