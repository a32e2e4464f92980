// SPDX-License-Identifier: Apache-2.0
#include "pipeline/equalization.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "core/check.h"
#include "pipeline/choose_ranges.h"
#include "precision/channel_classes.h"

namespace octet {
namespace {

bool is_finite(const Histogram& seen) {
  return seen.nans() == 0 && seen.infs() == 0 && seen.count() > 0;
}

// As if the channels had been multiplied. False, and nothing changed, where their values are not known.
bool scale(TensorObservation& seen, const std::vector<s8>& exponents) {
  if (seen.channels.channels() != exponents.size()) return false;
  ChannelPower power = seen.power;
  power.scale(exponents);
  const std::vector<f64> lows = power.minima(), highs = power.maxima();
  if (lows.size() != exponents.size()) return false;
  std::optional<Histogram> histogram =
      seen.channels.joined(exponents, static_cast<f32>(*std::ranges::min_element(lows)),
                           static_cast<f32>(*std::ranges::max_element(highs)));
  if (!histogram) return false;
  seen.histogram = *std::move(histogram);
  seen.power = std::move(power);
  return true;
}

// What a channel's statistics were before they were multiplied by 2^k; the histogram of all channels stays, which reaches no further then.
std::shared_ptr<const TensorStatistics> without(const TensorStatistics& seen,
                                                const std::vector<s8>& exponents) {
  auto plain = std::make_shared<TensorStatistics>(seen);
  // Power twice: it is of squares.
  for (auto* values : {&plain->channel_mean, &plain->channel_power, &plain->channel_power,
                       &plain->channel_min, &plain->channel_max}) {
    for (size_t c = 0; c < std::min(values->size(), exponents.size()); ++c)
      (*values)[c] = std::ldexp((*values)[c], -exponents[c]);
  }
  return plain;
}

}  // namespace

void fit_exponents(const FloatModel& model, const CalibrationOptions& options,
                   Calibration& calibration, Ranges& ranges) {
  if (calibration.exponents.empty()) return;
  if (!options.equalize) {
    fail_about("CalibrationOptions.equalize", Error::Code::invalid_argument,
               "{}: it was made of equalized channels, and equalization is off; calibrate again",
               options.cache->name);
  }
  std::unordered_set<ValueId> given;
  for (const auto& [id, own] : calibration.exponents) {
    if (is_given(model, options.ranges, id)) given.insert(id);
  }
  if (given.empty()) return;
  ChannelExponents rest = without_exponents(*model.graph, calibration.exponents, given);
  for (size_t i = 0; i < calibration.values.size(); ++i) {
    const ValueId id = calibration.values[i];
    const auto before = calibration.exponents.find(id), after = rest.find(id);
    if (before == calibration.exponents.end()) continue;
    std::vector<s8> taken = before->second;
    for (size_t c = 0; after != rest.end() && c < taken.size(); ++c)
      taken[c] = static_cast<s8>(taken[c] - after->second[c]);
    calibration.statistics[i] = without(*calibration.statistics[i], taken);
    const auto range = ranges.find(id);
    if (range != ranges.end()) range->second.seen = calibration.statistics[i];
  }
  calibration.exponents = std::move(rest);
}

std::vector<ValueId> values_to_equalize(const Graph& graph, std::span<const ValueId> values) {
  const ChannelClasses classes(graph);
  std::vector<ValueId> free;
  for (ValueId id : values) {
    for (size_t c = 0; c < classes.channels(id); ++c) {
      if (classes.is_fixed(classes.class_of(id, c))) continue;
      free.push_back(id);
      break;
    }
  }
  return free;
}

void equalize(const FloatModel& model, const CalibrationOptions& options, Calibration& calibration,
              int threads) {
  std::unordered_map<ValueId, ChannelFacts> facts;
  std::unordered_set<ValueId> fixed;
  for (size_t i = 0; i < calibration.values.size(); ++i) {
    const ValueId id = calibration.values[i];
    const TensorObservation& seen = calibration.observations[i];
    if (!is_finite(seen.histogram) || is_given(model, options.ranges, id)) fixed.insert(id);
    facts[id] = {seen.power.mean_squares(), seen.power.minima(), seen.power.maxima()};
  }
  ChannelExponents exponents = choose_exponents(*model.graph, facts, fixed, threads);
  for (size_t i = 0; i < calibration.values.size(); ++i) {
    const auto at = exponents.find(calibration.values[i]);
    if (at == exponents.end()) continue;
    OCTET_CHECK(scale(calibration.observations[i], at->second));
  }
  for (TensorObservation& seen : calibration.observations) seen.channels.clear();
  calibration.exponents = std::move(exponents);
}

}  // namespace octet
