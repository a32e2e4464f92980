// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest.h"

#include <nlohmann/json.hpp>

#include "core/check.h"

namespace octet {
namespace {

using nlohmann::json;

// Deep nesting is refused before it can exhaust the stack, and many values before they exhaust the memory: a character of text
// becomes dozens of bytes.
constexpr int kMaxDepth = 16;
constexpr int kMaxValues = 10'000;

json parse_bounded(std::string_view text) {
  int values = 0;
  return json::parse(text.begin(), text.end(), [&](int depth, json::parse_event_t, json&) {
    if (depth > kMaxDepth)
      fail(Error::Code::invalid_model, "manifest: nested deeper than {}", kMaxDepth);
    if (++values > kMaxValues)
      fail(Error::Code::invalid_model, "manifest: more than {} values", kMaxValues);
    return true;
  });
}

}  // namespace

std::string write_manifest(const Model& model) {
  json manifest = json::object();
  manifest["source"] = model.source;
  manifest["producer"] = model.producer;
  manifest["range_method"] = model.range_method;
  manifest["calibration_samples"] = model.calibration_samples;
  if (model.preprocess) manifest["preprocess"] = json::parse(to_json(*model.preprocess));
  // Names come from untrusted models: bytes that are not UTF-8 are replaced rather than refused.
  return manifest.dump(-1, ' ', false, json::error_handler_t::replace);
}

void read_manifest(std::string_view text, Model& model) {
  try {
    const json manifest = parse_bounded(text);
    model.source = manifest.at("source").get<std::string>();
    model.producer = manifest.at("producer").get<std::string>();
    model.range_method = manifest.at("range_method").get<std::string>();
    model.calibration_samples = manifest.at("calibration_samples").get<s64>();
    if (manifest.contains("preprocess")) {
      model.preprocess =
          preprocess_from_json(manifest["preprocess"].dump(), "the engine's manifest");
    }
  } catch (const json::exception& error) {
    fail(Error::Code::invalid_model, "manifest: {}", error.what());
  }
}

}  // namespace octet
