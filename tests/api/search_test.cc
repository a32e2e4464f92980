// SPDX-License-Identifier: Apache-2.0
// A search whose measurements are done apart: what one machine makes of them, whoever measured what.
#include "octet/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <stop_token>
#include <string>

#include "octet/npz.h"
#include "octet/sensitivity.h"

namespace {

namespace fs = std::filesystem;
using octet::Error;
using octet::OutputsOfSamples;
using octet::SearchOptions;
using octet::SearchResult;
using octet::SearchStep;
using octet::SearchSteps;
using octet::SourceModel;
using octet::Tensor;
using Known = std::map<std::string, double>;
using Kind = SearchStep::Kind;

const fs::path kDigitsFolder = fs::path(OCTET_SOURCE_DIR) / "examples/digits";

// Images of the digits from the first on, all in one batch.
Tensor images(const char* part, size_t first, int64_t count) {
  const Tensor all = octet::read_npz(kDigitsFolder / "digits.npz", part);
  Tensor some(octet::Dtype::f32, {count, 1, 8, 8});
  const auto from = all.as<uint8_t>();
  const auto to = some.mutable_as<float>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(from[first * 64 + i]) / 16.0f;
  return some;
}

SourceModel source() {
  octet::CompileOptions options;
  options.plan.int8 = true;
  options.calibration.emplace().samples = [done = false](std::vector<Tensor>& inputs) mutable {
    inputs = {images("train_images", 0, 40)};
    return !std::exchange(done, true);
  };
  return SourceModel::read(kDigitsFolder / "digits.onnx", options);
}

// Minus the greatest difference of a logit.
double closeness(OutputsOfSamples truth, OutputsOfSamples got) {
  float most = 0;
  for (size_t s = 0; s < got.size(); ++s) {
    const auto x = got[s][0].as<float>(), y = truth[s][0].as<float>();
    for (size_t i = 0; i < x.size(); ++i) most = std::max(most, std::fabs(x[i] - y[i]));
  }
  return -most;
}

SearchOptions options_over(Known& known) {
  SearchOptions options;
  options.plan.int8 = true;
  for (size_t i = 0; i < 12; ++i) options.samples.push_back({images("test_images", i, 1)});
  options.metric = {"closeness", "", [](auto, OutputsOfSamples truth, OutputsOfSamples got) {
                      return closeness(truth, got);
                    }};
  options.effort = 3;
  options.recall = [&known](const std::string& key) -> std::optional<double> {
    const auto at = known.find(key);
    return at == known.end() ? std::nullopt : std::optional(at->second);
  };
  options.record = [&known](const std::string& key, double value) { known[key] = value; };
  return options;
}

SearchOptions fastest(Known& known) {
  SearchOptions options = options_over(known);
  options.goal.least_value = -0.05;
  return options;
}

TEST(SearchSteps, GiveWhatOneMachineMakesOfThem) {
  const SourceModel model = source();
  Known known;
  const SearchOptions options = fastest(known);
  SearchSteps first(model, options), second(source(), options);
  size_t steps = 0;
  for (auto lacking = first.lacking(4); !lacking.empty(); lacking = first.lacking(4)) {
    EXPECT_LE(lacking.size(), 4u);
    // By another, and what is guessed first.
    for (auto step = lacking.rbegin(); step != lacking.rend(); ++step, ++steps)
      (steps % 2 == 0 ? first : second).measure(*step);
    ASSERT_LT(steps, 400u);
  }
  EXPECT_GT(steps, 12u);
  const Known measured = known;
  const SearchResult result = octet::search(model, options);
  EXPECT_EQ(known, measured);
  EXPECT_TRUE(result.met);
  EXPECT_TRUE(result.verified);
  // What one machine measures by itself is among it, but for times; so much that it is no other search.
  Known alone;
  octet::search(model, fastest(alone));
  size_t same = 0;
  for (const auto& [key, value] : alone) {
    const auto at = known.find(key);
    if (at == known.end() || key.find("_us") != key.npos) continue;
    EXPECT_EQ(at->second, value) << key;
    ++same;
  }
  EXPECT_GT(same, 12u);
}

TEST(SearchSteps, TheFirstIsWhatTheSearchDoesNext) {
  Known known;
  SearchSteps steps(source(), fastest(known));
  const auto one = steps.lacking(1);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].kind, Kind::value);
  EXPECT_FALSE(one[0].trial.int8);
  EXPECT_TRUE(known.empty());  // nothing was measured
  // Who works alone takes the rank as a whole, others its parts, and the ranges of other methods beside them.
  size_t parts = 0, values = 0;
  for (const SearchStep& step : steps.lacking(100)) {
    parts += step.kind == Kind::rank_part ? 1 : 0;
    values += step.kind == Kind::value ? 1 : 0;
    EXPECT_NE(step.kind, Kind::rank);
  }
  EXPECT_EQ(parts, static_cast<size_t>(SearchSteps::kRankParts));
  EXPECT_GE(values, 5u);
  steps.measure(one[0]);
  steps.measure(steps.lacking(1)[0]);
  EXPECT_EQ(steps.lacking(1)[0].kind, Kind::rank);
}

TEST(SearchSteps, AStopEndsThem) {
  Known known;
  std::stop_source stop;
  int64_t told = 0;
  SearchOptions options = fastest(known);
  options.monitor.stop = stop.get_token();
  options.monitor.report = [&told](const octet::Progress&) { return ++told > 0; };
  SearchSteps steps(source(), options);
  // Up to the rank and beyond, where search() has a best so far.
  for (bool ranked = false; !ranked;) {
    const int64_t before = told;
    const auto next = steps.lacking(1);
    EXPECT_EQ(told, before);
    ASSERT_FALSE(next.empty());
    steps.measure(next[0]);
    EXPECT_GT(told, before);
    ranked = next[0].kind == Kind::rank;
  }
  ASSERT_FALSE(steps.lacking(1).empty());
  stop.request_stop();
  try {
    steps.lacking(1);
    ADD_FAILURE() << "a stop has not ended it";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::cancelled);
  }
}

TEST(SearchSteps, OptionsAreChecked) {
  Known known;
  SearchOptions options = options_over(known);
  EXPECT_THROW(SearchSteps(source(), options), Error);  // no goal
  options.goal.most_drop = 1;
  options.samples.clear();
  EXPECT_THROW(SearchSteps(source(), options), Error);
}

octet::SensitivityOptions part_of(int part, int parts) {
  octet::SensitivityOptions options;
  options.plan.int8 = true;
  options.samples.push_back({images("test_images", 0, 1)});
  options.times = false;
  options.part = part;
  options.parts = parts;
  return options;
}

TEST(Sensitivity, APartReportsItsOwnLayers) {
  const SourceModel model = source();
  for (int part = 0; part < 20; ++part) {  // the last ones have no layer
    octet::Progress last;
    auto options = part_of(part, 20);
    std::set<std::string> tried;
    options.record = [&tried](const std::string& key, double) { tried.insert(key); };
    options.monitor.report = [&last](const octet::Progress& now) {
      if (now.stage == "layers") last = now;
      return true;
    };
    octet::sensitivity(model, options);
    EXPECT_EQ(last.done, last.total) << part;
    EXPECT_EQ(static_cast<size_t>(last.total), tried.size()) << part;
  }
}

TEST(Sensitivity, PartsAreChecked) {
  const SourceModel model = source();
  const auto said = [&](int part, int parts) -> std::string {
    try {
      octet::sensitivity(model, part_of(part, parts));
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_THAT(said(9, 8), testing::HasSubstr("part 9 of the layers: expected one from 0 to 7"));
  EXPECT_THAT(said(-1, 8), testing::HasSubstr("part -1 of the layers: expected one from 0 to 7"));
  EXPECT_THAT(said(0, 0), testing::HasSubstr("0 parts of the layers: expected at least 1"));
}

}  // namespace
