// SPDX-License-Identifier: Apache-2.0
#include "pipeline/choose_ranges.h"

#include <algorithm>
#include <cmath>
#include <exception>

#include "calibrate/range.h"
#include "core/check.h"
#include "core/glob.h"
#include "core/side_by_side.h"
#include "pipeline/automatic.h"
#include "pipeline/bodies.h"

namespace octet {
namespace {

std::vector<std::string> names_of(const FloatModel& model, std::span<const ValueId> values) {
  std::vector<std::string> names;
  for (ValueId id : values) names.push_back(model.place + model.graph->value(id).name);
  return names;
}

// Of the model and of the bodies in it.
std::vector<std::string> all_names(const FloatModel& model) {
  std::vector<std::string> names;
  for (const FloatModel* part : with_bodies(model)) {
    const auto own = names_of(*part, values_to_observe(*part->graph));
    names.insert(names.end(), own.begin(), own.end());
  }
  return names;
}

bool matches_any(const std::string& pattern, const std::vector<std::string>& names) {
  return std::ranges::any_of(names,
                             [&](const std::string& name) { return glob_matches(pattern, name); });
}

// The given range that counts for a tensor: a name before a pattern, a later pattern before an earlier one.
const GivenRange* range_for(std::span<const GivenRange> given, const std::string& name) {
  const GivenRange* found = nullptr;
  for (const GivenRange& range : given) {
    if (range.pattern == name) return &range;
    if (glob_matches(range.pattern, name)) found = &range;
  }
  return found;
}

Range by_hand(const GivenRange& given, const std::string& tensor, const Range* seen) {
  Range range{.tensor = tensor,
              .min = given.min,
              .max = given.max,
              .threshold = std::max(std::fabs(given.min), std::fabs(given.max)),
              .method = RangeRule::given};
  if (seen != nullptr) range.seen = seen->seen;
  return range;
}

void check_given(const FloatModel& model, std::span<const GivenRange> given,
                 const std::vector<std::string>& observed, std::vector<std::string>& notes) {
  std::vector<std::string> unknown, inside;
  for (const GivenRange& range : given) {
    if (matches_any(range.pattern, observed)) continue;
    const bool known = model.tensors != nullptr && matches_any(range.pattern, *model.tensors);
    (known ? inside : unknown).push_back(range.pattern);
  }
  if (!unknown.empty()) {
    fail_about("CalibrationOptions.ranges", Error::Code::invalid_argument,
               "ranges are given for {}, which match{} no tensor of the model",
               quoted_list(unknown), unknown.size() == 1 ? "es" : "");
  }
  if (!inside.empty()) {
    notes.push_back(
        fmt::format("the given ranges of {} have no use: these tensors lie inside fused layers or "
                    "need no codes",
                    quoted_list(inside)));
  }
}

void check_methods(const std::vector<TensorMethod>& methods,
                   const std::vector<std::string>& tensors) {
  std::vector<std::string> unknown;
  for (const TensorMethod& entry : methods) {
    if (!matches_any(entry.pattern, tensors)) unknown.push_back(entry.pattern);
  }
  if (unknown.empty()) return;
  fail_about("CalibrationOptions.methods", Error::Code::invalid_argument,
             "calibration methods are given for {}, which match{} none of the {} tensors that are "
             "calibrated",
             quoted_list(unknown), unknown.size() == 1 ? "es" : "", tensors.size());
}

// Nothing: none is asked for.
std::optional<RangeMethod> method_for(const CalibrationOptions& options,
                                      const std::string& tensor) {
  std::optional<RangeMethod> found = options.method;
  for (const TensorMethod& entry : options.methods) {
    if (glob_matches(entry.pattern, tensor)) found = entry.method;
  }
  return found;
}

// Masks of attention are infinite where nothing may be read, and a detector that finds nothing has no boxes to look at: such a tensor gets no
// range and stays real. NaN is an error still.
bool shows_no_range(const TensorObservation& observation) {
  const Histogram& seen = observation.histogram;
  return seen.nans() == 0 && (seen.infs() > 0 || seen.count() == 0);
}

// A range that follows from a histogram.
struct Estimate {
  size_t value;  // among the calibration's
  RangeMethod method;
  Range range = {};
  std::exception_ptr error = nullptr;
};

// Side by side. Throws the error of the first in their order, if any has one.
void estimate(std::vector<Estimate>& estimates, const Calibration& calibration,
              const std::vector<std::string>& names, int threads) {
  side_by_side(estimates.size(), threads, [&](size_t i) {
    Estimate& one = estimates[i];
    try {
      one.range = estimate_range(calibration.observations[one.value].histogram, one.method,
                                 names[one.value]);
    } catch (...) {
      one.error = std::current_exception();
    }
  });
  for (const Estimate& one : estimates) {
    if (one.error) std::rethrow_exception(one.error);
  }
}

}  // namespace

std::string quoted_list(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  if (names.size() > kShown) text += fmt::format(" and {} more", names.size() - kShown);
  return text;
}

void check_patterns(const FloatModel& model, const CalibrationOptions& options) {
  const std::vector<std::string> names = all_names(model);
  check_methods(options.methods, names);
  std::vector<std::string> told_later;
  check_given(model, options.ranges, names, told_later);
}

Ranges ranges_by_method(const FloatModel& model, const CalibrationOptions& options,
                        const StageOptions& stage) {
  const Calibration& calibration = *model.calibration;
  const bool is_body = !model.place.empty();
  const std::vector<std::string> names = names_of(model, calibration.values);
  Ranges ranges = model.ranges != nullptr ? *model.ranges : Ranges();
  std::vector<size_t> automatic;
  std::vector<Estimate> estimates;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto asked = method_for(options, names[i]);
    if (!asked && ranges.contains(calibration.values[i])) continue;
    if (shows_no_range(calibration.observations[i])) continue;
    RangeMethod method = asked.value_or(RangeRule::entropy);
    // Samples are tried on the whole model; a round of a body is no sample.
    if (is_body && method.rule == RangeRule::automatic) method = RangeRule::entropy;
    if (method.rule == RangeRule::automatic) {
      automatic.push_back(i);
    } else {
      estimates.push_back({i, method});
    }
  }
  estimate(estimates, calibration, names, stage.threads);
  for (Estimate& one : estimates) ranges[calibration.values[one.value]] = std::move(one.range);
  for (size_t i = 0; i < names.size(); ++i) {
    const auto range = ranges.find(calibration.values[i]);
    if (range != ranges.end()) range->second.seen = calibration.statistics[i];
  }
  if (automatic.empty()) return ranges;
  return with_automatic_ranges(model, std::move(ranges), automatic, stage);
}

bool reads_data(const CalibrationOptions& options) {
  return !options.data.empty() || options.samples != nullptr || options.observation != nullptr;
}

bool tries_samples(const CalibrationOptions& options) {
  const auto tries = [](const RangeMethod& method) { return method.rule == RangeRule::automatic; };
  return (options.method && tries(*options.method)) ||
         std::ranges::any_of(options.methods, tries, &TensorMethod::method);
}

bool is_given(const FloatModel& model, std::span<const GivenRange> given, ValueId id) {
  return range_for(given, model.place + model.graph->value(id).name) != nullptr;
}

void apply_given(const FloatModel& model, std::span<const GivenRange> given, Ranges& ranges,
                 std::vector<std::string>& notes) {
  if (given.empty()) return;
  const std::vector<ValueId> values = values_to_observe(*model.graph);
  if (model.place.empty()) check_given(model, given, all_names(model), notes);
  for (ValueId id : values) {
    const std::string name = model.place + model.graph->value(id).name;
    const GivenRange* range = range_for(given, name);
    if (range == nullptr) continue;
    const auto seen = ranges.find(id);
    ranges[id] = by_hand(*range, name, seen == ranges.end() ? nullptr : &seen->second);
  }
}

}  // namespace octet
