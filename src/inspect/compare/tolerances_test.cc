// SPDX-License-Identifier: Apache-2.0
#include "octet/tolerances.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error_testing.h"

namespace octet {
namespace {

using test::expect_error;

const std::vector<std::string> kOutputs = {"logits", "boxes:0"};

TEST(Tolerances, UsualOnes) {
  const std::vector<Tolerance> found = parse_tolerances({}, kOutputs);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].absolute, 1e-5);
  EXPECT_EQ(found[1].relative, 1e-5);
  EXPECT_EQ(found[1].statistic, ErrorStatistic::elementwise);
  EXPECT_EQ(found[1].quantile, 0.99);
}

TEST(Tolerances, NamesCountMoreThanAll) {
  const std::vector<Tolerance> found = parse_tolerances(
      {{"boxes:0:0.5", "1e-3"}, {":0.25"}, {"logits:median", "max"}, {"boxes:0:1"}}, kOutputs);
  EXPECT_EQ(found[0].absolute, 1e-3);
  EXPECT_EQ(found[1].absolute, 0.5);
  EXPECT_EQ(found[0].relative, 0.25);
  EXPECT_EQ(found[1].relative, 0.25);
  EXPECT_EQ(found[0].statistic, ErrorStatistic::median);
  EXPECT_EQ(found[1].statistic, ErrorStatistic::max);
  EXPECT_EQ(found[0].quantile, 0.99);
  EXPECT_EQ(found[1].quantile, 1);
}

TEST(Tolerances, EverythingWrongAtOnce) {
  const ToleranceTexts texts = {{"logit:1", "-1", "inf", "logits:nan", "1e-3x", ""},
                                {"other:one"},
                                {"logits:maximum"},
                                {"1.5"}};
  expect_error([&] { parse_tolerances(texts, kOutputs); }, Error::Code::invalid_argument,
               {"10 of the tolerances are wrong",
                "logit:1: no such output; the outputs are logits, boxes:0; did you mean 'logits'?",
                "-1: '-1' is no finite number", "inf: 'inf' is no finite number",
                "logits:nan: 'nan' is no finite number", "'1e-3x' is no finite number",
                "'' is no finite number", "relative tolerance other:one: no such output",
                "other:one: 'one' is no finite number", "'maximum' is no statistic",
                "quantile 1.5: '1.5' is no number from 0 to 1"});
}

TEST(Tolerances, EitherIsEnough) {
  const Tolerance tolerance = {.absolute = 0.1, .relative = 0.01};
  EXPECT_TRUE(tolerance.passes(0.1, 5));
  EXPECT_TRUE(tolerance.passes(5, 0.01));
  EXPECT_FALSE(tolerance.passes(0.2, 0.02));
  EXPECT_FALSE(tolerance.passes(std::nan(""), std::nan("")));
}

}  // namespace
}  // namespace octet
