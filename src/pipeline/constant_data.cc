// SPDX-License-Identifier: Apache-2.0
#include "pipeline/constant_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/check.h"
#include "data/preprocess.h"
#include "precision/roles.h"

namespace octet {
namespace {

constexpr const char* kField = "CalibrationOptions.constant_data";
constexpr const char* kRemedy =
    "ranges found on such data say nothing of others: give data as the network will get it";

bool is_state(const std::string& input, const CalibrationOptions& options) {
  return std::ranges::any_of(options.states,
                             [&](const StateLink& link) { return link.input == input; });
}

// One number for each sample is no signal, whatever it is.
bool is_judged(const InputSummary& input) {
  return input.samples > 0 && !input.mean.empty() && input.largest.elements() > 1;
}

bool is_constant(const InputSummary& input) { return is_judged(input) && input.min == input.max; }

bool is_image(const TensorInfo& input) {
  return is_real(input.type) && image_channel_axis(input.type.shape) >= 0;
}

[[noreturn]] void refuse(const InputSummary& input) {
  fail_about(kField, Error::Code::invalid_argument,
             "calibration data: input '{}' is {:.6g} everywhere, in all of {} sample{}; {}",
             input.input, input.min, input.samples, input.samples == 1 ? "" : "s", kRemedy);
}

}  // namespace

void check_inputs_change(std::span<const TensorInfo> inputs, std::span<const InputSummary> seen,
                         const CalibrationOptions& options) {
  if (options.constant_data) return;
  const InputSummary* first = nullptr;
  bool some_change = false;
  for (size_t i = 0; i < std::min(inputs.size(), seen.size()); ++i) {
    if (is_state(inputs[i].name, options)) continue;
    if (!is_constant(seen[i])) {
      some_change = true;
      continue;
    }
    if (is_image(inputs[i])) refuse(seen[i]);
    if (first == nullptr) first = &seen[i];
  }
  if (first != nullptr && !some_change) refuse(*first);
}

std::string constant_values(const Graph& graph, std::span<const ValueId> values,
                            std::span<const TensorObservation> observations,
                            const CalibrationOptions& options) {
  size_t computed = 0, constant = 0, first = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const Histogram& seen = observations[i].histogram;
    if (std::ranges::find(graph.inputs, values[i]) != graph.inputs.end() || seen.count() == 0)
      continue;
    ++computed;
    if (seen.min() != seen.max() || seen.infs() > 0) continue;
    if (constant++ == 0) first = i;
  }
  if (constant == 0) return {};
  const std::string example = fmt::format("'{}' is {:.6g}", graph.value(values[first]).name,
                                          f64{observations[first].histogram.min()});
  if (constant == computed && computed > 1 && !options.constant_data) {
    fail_about(kField, Error::Code::invalid_argument,
               "calibration data: none of the {} values that the network computes changes, first "
               "{} in all samples; {}",
               computed, example, kRemedy);
  }
  return fmt::format(
      "{} of {} values that the network computes never change over the calibration data, first "
      "{} everywhere: their ranges are those of one number",
      constant, computed, example);
}

}  // namespace octet
