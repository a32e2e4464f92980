// SPDX-License-Identifier: Apache-2.0
#include "refit_options.h"

#include <nlohmann/json.hpp>

#include "onnx_text.h"

namespace octet_trt {

using nlohmann::json;

std::string to_text(const RefitOptions& options) {
  json ranges = json::array();
  for (const octet::GivenRange& range : options.ranges)
    ranges.push_back({range.pattern, range.min, range.max});
  const json all = {
      {"int8", options.int8},   {"f16", options.halves.f16},        {"bf16", options.halves.bf16},
      {"cache", options.cache}, {"details", options.cache_details}, {"ranges", ranges}};
  return all.dump(-1, ' ', false, json::error_handler_t::replace);
}

octet::CompileOptions compile_options(const std::string& text, int threads) {
  const json all = json::parse(text);
  octet::CompileOptions options;
  options.threads = threads;
  octet::CalibrationOptions calibration;
  if (const std::string cache = all.at("cache"); !cache.empty()) {
    auto parsed = std::make_shared<octet::CalibrationCache>(
        octet::parse_calibration_cache(cache, "the plan's calibration"));
    parsed->details = all.at("details");
    calibration.cache = parsed;
    calibration.cache_of_any_model =
        true;  // weights change, and with them what the cache was made for
  }
  for (const json& range : all.at("ranges"))
    calibration.ranges.push_back({range.at(0), range.at(1), range.at(2)});
  const bool has_ranges = calibration.cache != nullptr || !calibration.ranges.empty();
  options.plan.int8 = all.at("int8").get<bool>() && has_ranges;
  if (options.plan.int8) options.calibration = calibration;
  options.plan.f16 = all.value("f16", false);  // plans of elder builds have no such types
  options.plan.bf16 = all.value("bf16", false);
  return options;
}

bool has_files(std::string_view model) {
  for (const std::string& tensor : read_onnx(model).initializers) {
    const OnnxTensor read = read_tensor(tensor);
    if (read.raw.empty() && read.type.shape.elements() > 0) return true;
  }
  return false;
}

}  // namespace octet_trt
