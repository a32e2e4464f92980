// SPDX-License-Identifier: Apache-2.0
// What a plan carries comes back, is held against its engine, and is an error wherever it lies.
#include <gmock/gmock.h>

#include <random>

#include "core/error_testing.h"
#include "graph/text.h"
#include "octet/attachment.h"
#include "octet/refit.h"
#include "octet/tensorrt_plan.h"
#include "ops/registry.h"
#include "runtime/inside.h"
#include "runtime/model.h"

namespace octet::test {
namespace {

Engine engine() {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(
      R"(graph "g"(%x: f32[?,3,4], %n: f32[2]) {
  %y: f32[?,3,4] = Relu(%x) name "r"
  %m: f32[2] = Relu(%n) name "s"
  return %y, %m
})",
      find_op);
  return Inside::engine(std::move(model));
}

TensorRtPlan whole() {
  TensorRtPlan plan;
  plan.name = "net \"é\"";
  plan.max_batch = 7;
  plan.verbosity = 2;
  plan.refittable = true;
  plan.bindings = {{"in", "x", true, "Float", {-1, 3, 4}, 0.25f, 5, true},
                   {"n", "n", true, "Float", {2}},
                   {"out", "y", false, "Float", {-1, 3, 4}},
                   {"m", "m", false, "Float", {2}}};
  plan.profiles.resize(2);
  plan.profiles[0].shapes["in"] = {{{1, 3, 4}, {4, 3, 4}, {16, 3, 4}}};
  plan.profiles[0].values["n"] = {{{-5, 1}, {0, 1}, {int64_t{1} << 40, 1}}};
  plan.profiles[1].shapes["in"] = {{{20, 3, 4}, {20, 3, 4}, {20, 3, 4}}};
  plan.debug_tensors = {"t"};
  plan.tuning = "tuning";
  plan.refit_options = "{}";
  plan.plugins = R"([{"state_bytes":2}])";
  plan.rest = std::string("st\0model", 8);
  return plan;
}

std::optional<TensorRtPlan> parsed(const std::string& bytes) {
  return tensorrt_plan(std::as_bytes(std::span(bytes)));
}

// With the length of the text set right.
std::string edited(const std::string& from, const std::string& to) {
  std::string bytes = to_bytes(whole());
  const size_t at = bytes.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  bytes.replace(at, from.size(), to);
  u64 length = 0;
  std::memcpy(&length, bytes.data() + 8, sizeof length);
  length += to.size() - from.size();
  std::memcpy(bytes.data() + 8, &length, sizeof length);
  return bytes;
}

TEST(TensorRtPlan, ComesBack) {
  const std::string bytes = to_bytes(whole());
  const auto plan = parsed(bytes);
  ASSERT_TRUE(plan);
  EXPECT_EQ(to_bytes(*plan), bytes);
  EXPECT_EQ(plan->rest, whole().rest);
  EXPECT_EQ(plan->profiles[0].values, whole().profiles[0].values);
  check_plan(*plan, engine());
  EXPECT_FALSE(parsed("what another program wrote"));
  EXPECT_FALSE(parsed(""));
}

TEST(TensorRtPlan, IsHeldAgainstItsEngine) {
  const std::string whole_bytes = to_bytes(whole());
  const Engine own = with_attachment(engine(), std::as_bytes(std::span(whole_bytes)));
  ASSERT_TRUE(tensorrt_plan(own));
  const auto expect_damage = [](const std::string& from, const std::string& to,
                                const std::string& said) {
    const std::string bytes = edited(from, to);
    const Engine other = with_attachment(engine(), std::as_bytes(std::span(bytes)));
    expect_error([&] { tensorrt_plan(other); }, Error::Code::invalid_model, {"damaged", said});
  };
  expect_damage("\"dims\":[-1,3,4]", "\"dims\":[8,3,4]", "the sizes of 'in'");
  expect_damage("\"dims\":[-1,3,4]", "\"dims\":[-1,3,5]", "the sizes of 'in'");
  expect_damage("\"dims\":[2]", "\"dims\":[-1]", "the sizes of 'n'");
  expect_damage("\"dims\":[2]", "\"dims\":[]", "the sizes of 'n'");
  expect_damage("\"value\":\"n\"", "\"value\":\"m\"", "'n' is no value");
  expect_damage("\"input\":true", "\"input\":false", "'in' is no value");
  expect_damage("[[1,3,4],[4,3,4]", "[[5,3,4],[4,3,4]", "min <= opt <= max");
  expect_damage("[[1,3,4],[4,3,4]", "[[1,2,4],[4,3,4]", "2 to 3 at axis 1");
  expect_damage("[[1,3,4],[4,3,4]", "[[1,3],[4,3,4]", "equally many");
  expect_damage("{\"in\":[[20,3,4]", "{\"nobody\":[[20,3,4]", "no input has that name");
  expect_damage("[[-5,1],[0,1]", "[[5,1],[0,1]", "min <= opt <= max");
}

TEST(TensorRtPlan, NumbersBeyondTheirRangesAreOneError) {
  const std::pair<const char*, const char*> edits[] = {
      {"\"verbosity\":2", "\"verbosity\":3"},
      {"\"verbosity\":2", "\"verbosity\":-1"},
      {"\"max_batch\":7", "\"max_batch\":0"},
      {"\"max_batch\":7", "\"max_batch\":18446744073709551615"},
      {"\"implicit\":false", "\"implicit\":0"},
      {"\"scale\":0.25", "\"scale\":-1"},
      {"\"scale\":0.25", "\"scale\":1e300"},
      {"\"format\":5", "\"format\":4294967301"},
      {"\"dims\":[2]", "\"dims\":[2147483648]"},
      {"\"dims\":[2]", "\"dims\":[2.0]"},
      {"\"dims\":[2]", "\"dims\":[18446744073709551615]"},
      {"\"dims\":[2]", "\"dims\":[1,1,1,1,1,1,1,1,1]"},
      {"\"dims\":[2]", "\"dims\":{}"},
      {"[[20,3,4],", "[[-1,3,4],"},
      {"[[20,3,4],", "[[2147483648,3,4],"},
      {"[[20,3,4],[20,3,4],", "[[20,3,4],"},
      {"1099511627776", "1e40"},
      {"\"debug\":[\"t\"]", "\"debug\":[7]"},
      {"\"plugins\":[", "\"plugins\":7,\"other\":["},
      {"\"profiles\":[", "\"profiles\":[7,"},
      {"\"name\":\"n\"", "\"nome\":\"n\""},
  };
  for (const auto& [from, to] : edits) {
    const std::string bytes = edited(from, to);
    expect_error([&] { parsed(bytes); }, Error::Code::invalid_model, {"damaged"});
  }
}

// Every cut and some thousand flipped bytes: read, or one error.
TEST(TensorRtPlan, AnyDamageIsOneErrorOrAPlan) {
  const std::string bytes = to_bytes(whole());
  const auto survives = [](const std::string& damaged) {
    try {
      const Engine other = with_attachment(engine(), std::as_bytes(std::span(damaged)));
      tensorrt_plan(other);
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == Error::Code::invalid_model ||
                  error.code() == Error::Code::out_of_memory)
          << error.what();
    }
  };
  for (size_t cut = 0; cut < bytes.size(); ++cut) survives(bytes.substr(0, cut));
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = bytes;
    damaged[random() % damaged.size()] = static_cast<char>(random());
    survives(damaged);
  }
}

TEST(ProfileProblem, OfSizesAlone) {
  EXPECT_EQ(profile_problem({{{1}, {2}, {4}}}, Shape::unknown()), "");
  EXPECT_EQ(profile_problem({{{1, 3}, {2, 3}, {4, 3}}}, Shape{-1, 3}), "");
  EXPECT_EQ(profile_problem({}, Shape{}), "");
  EXPECT_EQ(profile_problem({{{4}, {2}, {1}}}, Shape::unknown()),
            "min 4, opt 2, max 1 at axis 0; expected min <= opt <= max");
  EXPECT_EQ(profile_problem({{{1}, {2}, {4}}}, Shape{-1, 3}), "1 sizes; the input is ?x3");
  EXPECT_EQ(profile_problem({{{-1}, {2}, {4}}}, Shape{-1}), "min -1 at axis 0");
  EXPECT_EQ(profile_problem({{{1}, {2}, {int64_t{1} << 31}}}, Shape{-1}),
            "max 2147483648 at axis 0");
  const std::vector<int64_t> many(4097, 1);
  EXPECT_EQ(order_problem({many, many, many}), "4097 sizes; expected 4096 at most");
}

TEST(RefitText, ComesBack) {
  CompileOptions options;
  options.plan.int8 = options.plan.f16 = options.plan.fastest = true;
  options.plan.constraints = {{"conv*", Precision::f32, true}, {"fc", Precision::int8, false}};
  options.plan.constraint_mode = ConstraintMode::obey;
  options.calibration.emplace().ranges = {{"a", -1.5f, 2.0f}};
  const auto cache = std::make_shared<CalibrationCache>();
  cache->scales = {{"x", 0.25f}};
  const CompileOptions again = refit_options(refit_text(options, cache));
  EXPECT_TRUE(again.plan.int8 && again.plan.f16 && again.plan.fastest && !again.plan.bf16);
  ASSERT_EQ(again.plan.constraints.size(), 2u);
  EXPECT_EQ(to_string(again.plan.constraints[0]), to_string(options.plan.constraints[0]));
  EXPECT_TRUE(again.plan.constraints[0].output);
  EXPECT_EQ(again.plan.constraint_mode, ConstraintMode::obey);
  EXPECT_EQ(again.calibration->ranges[0].max, 2.0f);
  EXPECT_EQ(again.calibration->cache->scales[0].scale, 0.25f);
  EXPECT_TRUE(again.calibration->cache_of_any_model);
  // Of elder builds.
  EXPECT_FALSE(refit_options(R"({"int8":true,"cache":"","details":"","ranges":[]})").plan.int8);
  for (const char* text :
       {"", "[]", "{}", R"({"cache":7})", R"({"cache":"","ranges":[[1,2,3]]})",
        R"({"cache":"","constraints":[["a","f99",true]]})", R"({"cache":"","mode":"often"})"})
    expect_error([&] { refit_options(text); }, Error::Code::invalid_model, {"damaged"});
}

}  // namespace
}  // namespace octet::test
