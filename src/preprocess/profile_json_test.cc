// SPDX-License-Identifier: Apache-2.0
#include "preprocess/profile_json.h"

#include <limits>

#include "core/error_testing.h"
#include "core/types.h"

namespace octet::test {
namespace {

using Json = nlohmann::ordered_json;

const InputProfile kSeen{"x", 3, {{-1, 2.5, 0.1, 0.2}, {0, 0, 0, 0}}, 0.25};

TEST(Profiles, ReadBackEqual) {
  const Json json = Json::parse(profiles_json({kSeen, {}}).dump());
  EXPECT_EQ(profiles_from_json(json, "f"), (std::vector<InputProfile>{kSeen, {}}));
}

TEST(Profiles, EveryFieldIsChecked) {
  const auto refuse = [](const char* key, const Json& value) {
    Json json = profiles_json({kSeen});
    json[0][key] = value;
    expect_error([&] { profiles_from_json(json, "f"); }, Error::Code::invalid_argument, {"f"});
  };
  for (const char* key : {"input", "samples", "interleaving", "min", "max", "mean", "deviation"}) {
    refuse(key, nullptr);
    refuse(key, Json::object());
  }
  refuse("samples", -1);
  refuse("samples", 1e300);
  refuse("interleaving", 2);
  refuse("interleaving", -0.1);
  refuse("mean", Json::array({1}));
  refuse("min", Json::array({3, 0}));
  refuse("deviation", Json::array({-1, 0}));
  refuse("max", Json::array({"2", 0}));
  refuse("max", Json::array({std::numeric_limits<f64>::infinity(), 0}));
  refuse("min", std::vector<int>(65));
  for (const Json& list : {Json(), Json(3), Json::object(), Json::array({1})})
    expect_error([&] { profiles_from_json(list, "f"); }, Error::Code::invalid_argument, {"f"});
}

TEST(Profiles, WhatIsNotFiniteIsNotKept) {
  EXPECT_EQ(fit_to_keep({kSeen}).size(), 1u);
  InputProfile other = kSeen;
  other.channels[1].max = std::numeric_limits<f64>::infinity();
  EXPECT_TRUE(fit_to_keep({kSeen, other}).empty());
}

}  // namespace
}  // namespace octet::test
