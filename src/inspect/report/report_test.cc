// SPDX-License-Identifier: Apache-2.0
#include "octet/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

namespace octet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kHostile = "<script>alert(1)</script>\"'&\x1b[31m";

std::string hostile_page() {
  Inspection inspection;
  LayerInfo layer;
  layer.name = layer.op = layer.kernel = layer.reason = kHostile;
  layer.nodes = {kHostile};
  inspection.layers = {layer};
  const auto seen =
      std::make_shared<TensorStatistics>(TensorStatistics{0.5f, {8, 4, 0, 1, 0}, {}, {}});
  const std::vector<Range> ranges = {
      {.tensor = kHostile, .min = -1.0f, .max = 2.0f, .threshold = 1.5f, .seen = seen}};
  const std::vector<ValueError> errors = {
      {kHostile, kHostile, Precision::f32, 12.5, 0.5, 0.99, 10}};
  OutputComparer comparer(std::vector{kHostile});
  const float wrong[] = {1, 2};
  comparer.add("s", std::vector{Tensor(Dtype::f32, {2})},
               std::vector{Tensor::of<float>({2}, wrong)});
  ReportInput input{kHostile, {{kHostile, kHostile}}, inspection, ranges, errors};
  input.outputs = comparer.outputs();
  input.against = kHostile;
  return html_report(input);
}

TEST(Report, EscapesEveryName) {
  const std::string page = hostile_page();
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("\x1b")));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;?[31m"));
}

TEST(Report, HasACellForEachElement) {
  const std::string page = hostile_page();
  EXPECT_THAT(page, HasSubstr("data-r=\"0\" data-c=\"1\" data-mean=\"2\" data-largest=\"2\""));
  EXPECT_THAT(page, Not(HasSubstr("data-c=\"2\"")));
}

TEST(Report, LoadsNothing) {
  const std::string page = hostile_page();
  EXPECT_FALSE(std::regex_search(page, std::regex("(src|href)\\s*=|url\\(|@import|https?://")));
}

TEST(Report, DrawsThresholdAtItsPlace) {
  // Four used bins of 0.5 span 0..2 over 280 units: 1.5 lies at 210.
  EXPECT_THAT(hostile_page(), HasSubstr("class=\"cut\" x1=\"210.0\""));
}

LayerInfo layer_between(const std::string& name, std::vector<std::string> reads) {
  LayerInfo layer;
  layer.name = name;
  layer.op = "Add";
  layer.inputs = std::move(reads);
  layer.outputs = {name + ".y"};
  return layer;
}

size_t count_of(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Report, ASkipConnectionGoesBesideTheLayersThatItSkips) {
  Inspection inspection;
  inspection.layers = {layer_between("a", {}), layer_between("b", {"a.y"}),
                       layer_between("c", {"b.y", "a.y"}), layer_between("d", {"c.y"})};
  const std::string page = html_report({"m", {}, inspection, {}, {}});
  EXPECT_EQ(count_of(page, "class=\"edge skip\""), 1u);
  EXPECT_EQ(count_of(page, "class=\"edge\""), 3u);
}

TEST(Report, AdviceIsNotGivenByWhereErrorHasGathered) {
  Inspection inspection;
  inspection.layers = {layer_between("late", {})};
  const std::vector<ValueError> errors = {{"late.y", "late", Precision::int8, 3.0, 1, 0.9, 10}};
  const std::string page = html_report({"m", {}, inspection, {}, errors});
  EXPECT_THAT(page, Not(HasSubstr("would bring it nearer")));
}

TEST(Report, EmptyInspectionIsAPage) {
  const Inspection inspection;
  const std::string page = html_report({"m", {}, inspection, {}, {}});
  EXPECT_THAT(page, HasSubstr("0 of 0 (none)"));
  EXPECT_THAT(page, Not(HasSubstr("<h2>Ranges")));
}

}  // namespace
}  // namespace octet
