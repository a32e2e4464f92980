// SPDX-License-Identifier: Apache-2.0
#include "data/pixel_map.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace octet {
namespace {

// Resampling takes a little of the extremes; rounding adds a little.
constexpr f64 kNear = 0.02;
// One photo may have no white in it; several have.
constexpr s64 kSeveralSamples = 4;
constexpr f64 kCoveredByOne = 0.9;
constexpr f64 kCoveredBySeveral = 0.7;

f64 value_of(const std::vector<f32>& values, size_t channel, f64 absent) {
  if (values.empty()) return absent;
  return static_cast<f64>(values.size() == 1 ? values[0]
                                             : values[std::min(channel, values.size() - 1)]);
}

Preprocess numbers(f32 scale, std::vector<f32> mean = {}, std::vector<f32> std = {},
                   Preprocess::Color color = Preprocess::Color::rgb) {
  Preprocess made;
  made.scale = scale;
  made.mean = std::move(mean);
  made.std = std::move(std);
  made.color = color;
  return made;
}

struct Family {
  const char* name;
  Preprocess preprocess;
};

const std::vector<Family>& families() {
  using enum Preprocess::Color;
  static const std::vector<Family> all = {
      {"pixels from 0 to 255", numbers(1)},
      {"pixels from 0 to 1", numbers(255)},
      {"pixels from -1 to 1", numbers(127.5f, {1})},
      {"ImageNet's mean and std", find_preprocess_preset("torchvision")->preprocess},
      {"CLIP's mean and std", find_preprocess_preset("clip")->preprocess},
      {"CIFAR-10's mean and std",
       numbers(255, {0.4914f, 0.4822f, 0.4465f}, {0.2470f, 0.2435f, 0.2616f})},
      {"BGR less the means of Caffe's models", find_preprocess_preset("caffe")->preprocess},
      {"BGR less 104, 117, 123", numbers(1, {104, 117, 123}, {}, bgr)},
      {"less 127, by 128", numbers(1, {127}, {128})},
  };
  return all;
}

}  // namespace

PixelMap map_of(const Preprocess& p, size_t channels, std::string name) {
  PixelMap map{std::move(name), p, {}, {}};
  for (size_t c = 0; c < channels; ++c) {
    const f64 std = value_of(p.std, c, 1);
    map.factor.push_back(1 / (static_cast<f64>(p.scale) * std));
    map.offset.push_back(-value_of(p.mean, c, 0) / std);
  }
  return map;
}

std::vector<PixelMap> family_maps(size_t channels) {
  std::vector<PixelMap> maps;
  for (const Family& family : families()) {
    const bool fits = channels == 3 || (family.preprocess.mean.size() < 2 &&
                                        family.preprocess.color == Preprocess::Color::rgb);
    if (fits) maps.push_back(map_of(family.preprocess, channels, family.name));
  }
  return maps;
}

PixelMap reversed(PixelMap map) {
  std::ranges::reverse(map.factor);
  std::ranges::reverse(map.offset);
  return map;
}

f64 excess(const InputProfile& seen, const PixelMap& map) {
  f64 most = 0;
  for (size_t c = 0; c < map.channels(); ++c) {
    const ChannelProfile& channel = seen.channels[c];
    const f64 beyond = std::max(map.low(c) - channel.min, channel.max - map.high(c));
    most = std::max(most, beyond / map.span(c));
  }
  return most;
}

f64 coverage(const InputProfile& seen, const PixelMap& map) {
  f64 least = std::numeric_limits<f64>::infinity();
  for (size_t c = 0; c < map.channels(); ++c)
    least = std::min(least, (seen.channels[c].max - seen.channels[c].min) / map.span(c));
  return least;
}

f64 distance(const InputProfile& seen, const PixelMap& map) {
  f64 most = 0;
  for (size_t c = 0; c < map.channels(); ++c) {
    const f64 low = std::abs(seen.channels[c].min - map.low(c));
    most =
        std::max(most, std::max(low, std::abs(seen.channels[c].max - map.high(c))) / map.span(c));
  }
  return most;
}

f64 distance(const PixelMap& a, const PixelMap& b) {
  f64 most = 0;
  for (size_t c = 0; c < a.channels(); ++c) {
    const f64 low = std::abs(a.low(c) - b.low(c));
    most = std::max(most, std::max(low, std::abs(a.high(c) - b.high(c))) / b.span(c));
  }
  return most;
}

bool are_made_by(const InputProfile& seen, const PixelMap& map) {
  const f64 wanted = seen.samples < kSeveralSamples ? kCoveredByOne : kCoveredBySeveral;
  return excess(seen, map) <= kNear && coverage(seen, map) >= wanted;
}

const PixelMap* maker_of(const InputProfile& seen, std::span<const PixelMap> maps) {
  const PixelMap* best = nullptr;
  for (const PixelMap& map : maps) {
    if (!are_made_by(seen, map)) continue;
    if (best == nullptr || distance(seen, map) + 1e-3 < distance(seen, *best)) best = &map;
  }
  return best;
}

ChannelMap between(const PixelMap& from, const PixelMap& to) {
  ChannelMap map{{}, {}};
  for (size_t c = 0; c < from.channels(); ++c) {
    const f64 factor = to.factor[c] / from.factor[c];
    map.factor.push_back(factor);
    map.offset.push_back(to.offset[c] - from.offset[c] * factor);
  }
  return map;
}

PreprocessChange change_to(const PixelMap& map, const InputHistory& history) {
  const Preprocess& p = map.numbers;
  PreprocessChange change{p.scale, p.mean, p.std, std::nullopt};
  if (p.color == Preprocess::Color::bgr) change.color = p.color;
  // What is not said stays: a mean and a std that are to go are said.
  for (const auto* present : {&history.applied, &history.remembered}) {
    if (!*present) continue;
    if (change.mean.empty() && !(*present)->mean.empty()) change.mean = {0};
    if (change.std.empty() && !(*present)->std.empty()) change.std = {1};
  }
  return change;
}

}  // namespace octet
