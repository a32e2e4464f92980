// SPDX-License-Identifier: Apache-2.0
#include "preprocess/profile_json.h"

#include <algorithm>
#include <cmath>

#include "core/bounded_json.h"
#include "core/types.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostInputs = 10'000;
constexpr size_t kMostChannels = 64;
constexpr s64 kMostSamples = s64{1} << 50;
constexpr const char* kExpected = "what calibration saw of the inputs";

using Member = f64 ChannelProfile::*;
constexpr std::pair<const char*, Member> kMembers[] = {{"min", &ChannelProfile::min},
                                                       {"max", &ChannelProfile::max},
                                                       {"mean", &ChannelProfile::mean},
                                                       {"deviation", &ChannelProfile::deviation}};

InputProfile profile_of(const JsonFields& from) {
  InputProfile profile;
  profile.input = from.text("input");
  profile.samples = from.integer("samples", 0, kMostSamples);
  profile.interleaving = from.number(from.at("interleaving"), "interleaving");
  if (!(profile.interleaving >= 0 && profile.interleaving <= 1))
    from.wrong("'interleaving' is not from 0 to 1");
  const size_t channels = from.list("min").size();
  if (channels > kMostChannels) from.wrong("it has more than {} channels", kMostChannels);
  profile.channels.resize(channels);
  for (const auto& [name, member] : kMembers) {
    const Json& values = from.list(name);
    if (values.size() != channels)
      from.wrong("'{}' has {} numbers for {} channels", name, values.size(), channels);
    for (size_t c = 0; c < channels; ++c)
      profile.channels[c].*member = from.number(values[c], name);
  }
  for (const ChannelProfile& channel : profile.channels) {
    if (channel.min > channel.max || channel.deviation < 0)
      from.wrong("the numbers of a channel contradict each other");
  }
  return profile;
}

bool is_finite(const ChannelProfile& channel) {
  return std::ranges::all_of(
      kMembers, [&](const auto& entry) { return std::isfinite(channel.*entry.second); });
}

}  // namespace

Json profiles_json(const std::vector<InputProfile>& profiles) {
  Json list = Json::array();
  for (const InputProfile& profile : profiles) {
    Json entry = {{"input", profile.input},
                  {"samples", profile.samples},
                  {"interleaving", profile.interleaving}};
    for (const auto& [name, member] : kMembers) {
      Json values = Json::array();
      for (const ChannelProfile& channel : profile.channels) values.push_back(channel.*member);
      entry[name] = std::move(values);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

std::vector<InputProfile> profiles_from_json(const Json& list, const std::string& file) {
  if (!list.is_array() || list.size() > kMostInputs) {
    fail(Error::Code::invalid_argument, "{}: what calibration saw of the inputs is no list", file);
  }
  std::vector<InputProfile> profiles;
  for (size_t i = 0; i < list.size(); ++i) {
    const JsonFields fields{list[i], file, kExpected, fmt::format("input {}: ", i)};
    fields.check_object();
    profiles.push_back(profile_of(fields));
  }
  return profiles;
}

std::vector<InputProfile> fit_to_keep(std::vector<InputProfile> profiles) {
  for (const InputProfile& profile : profiles) {
    if (!std::ranges::all_of(profile.channels, is_finite)) return {};
  }
  return profiles;
}

}  // namespace octet
