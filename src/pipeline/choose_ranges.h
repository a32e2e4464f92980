// SPDX-License-Identifier: Apache-2.0
// From what calibration saw, a cache kept, or the user gave, to the range of every tensor.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "calibrate/cache_details.h"
#include "pipeline/float_model.h"

namespace octet {

// Before the long work: throws Error(invalid_argument) listing the patterns of methods and of ranges by hand that match no tensor.
void check_patterns(const FloatModel& model, const CalibrationOptions& options);

// The ranges of what calibration saw, by the methods that the options ask for: entropy where they say nothing. Ranges that the model
// has, from a cache, stand where nothing is asked.
Ranges ranges_by_method(const FloatModel& model, const CalibrationOptions& options,
                        const StageOptions& stage);
// Whether ranges come from files or from samples of the caller.
bool reads_data(const CalibrationOptions& options);
// Whether a method is asked for that needs Calibration::tried_samples.
bool tries_samples(const CalibrationOptions& options);

// "'a', 'b' and 3 more".
std::string quoted_list(const std::vector<std::string>& names);

// Overrides `ranges` by what was given by hand. Throws listing every pattern that matches no tensor of the model; one that matches
// only tensors which the float passes took into others is told in `notes`.
void apply_given(const FloatModel& model, std::span<const GivenRange> given, Ranges& ranges,
                 std::vector<std::string>& notes);

// Whether a range by hand is one of the value's.
bool is_given(const FloatModel& model, std::span<const GivenRange> given, ValueId id);

// What a cache says of the model.
struct CachedCalibration {
  std::shared_ptr<Calibration> calibration;
  Ranges ranges;
};
// Throws Error(invalid_argument) where the cache was made for another model, unless `any_model`.
CachedCalibration read_cache(const FloatModel& model, const CalibrationCache& cache,
                             bool any_model);

// What read_cache() reads back.
CalibrationCache make_cache(const FloatModel& model);

}  // namespace octet
