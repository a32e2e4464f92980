// SPDX-License-Identifier: Apache-2.0
#include "octet/refit.h"

#include "core/bounded_json.h"
#include "core/memory.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kRefitDepth = 4;
// What a parsed number takes for each byte of its text, at most.
constexpr s64 kRefitParsedBytes = 12;

struct RefitReader : JsonFields {
  bool flag(const char* key) const {
    if (!object.contains(key)) return false;  // of plans of elder builds
    if (!at(key).is_boolean()) wrong("'{}' is neither true nor false", key);
    return at(key).get<bool>();
  }

  std::string text_if_any(const char* key) const {
    return object.contains(key) ? text(key) : std::string();
  }

  std::string words(const Json& value) const {
    if (!value.is_string()) wrong("a name is no text");
    return value.get<std::string>();
  }

  // The entries of a list that elder builds may lack, each a list of `parts`.
  std::vector<Json> rows(const char* key, size_t parts) const {
    std::vector<Json> found;
    if (!object.contains(key)) return found;
    for (const Json& value : list(key)) {
      if (!value.is_array() || value.size() != parts) wrong("'{}' is of other entries", key);
      found.push_back(value);
    }
    return found;
  }

  f32 single(const Json& value) const { return static_cast<f32>(number(value, "ranges")); }
};

void read_constraints(const RefitReader& reader, PrecisionPlan& plan) {
  for (const Json& row : reader.rows("constraints", 3)) {
    const std::optional<Precision> precision = precision_from(reader.words(row[1]));
    if (!precision || !row[2].is_boolean()) reader.wrong("a constraint is of no type");
    plan.constraints.push_back({reader.words(row[0]), *precision, row[2].get<bool>()});
  }
  if (!reader.object.contains("mode")) return;
  const std::optional<ConstraintMode> mode = constraint_mode_from(reader.text("mode"));
  if (!mode) reader.wrong("'mode' is none");
  plan.constraint_mode = *mode;
}

CompileOptions read_options(const RefitReader& reader) {
  reader.check_object();
  CompileOptions options;
  CalibrationOptions calibration;
  if (const std::string text = reader.text("cache"); !text.empty()) {
    auto cache =
        std::make_shared<CalibrationCache>(parse_calibration_cache(text, "the plan's calibration"));
    cache->details = reader.text("details");
    calibration.cache = cache;
    calibration.cache_of_any_model = true;  // weights change, and with them what it was made for
  }
  for (const Json& row : reader.rows("ranges", 3))
    calibration.ranges.push_back(
        {reader.words(row[0]), reader.single(row[1]), reader.single(row[2])});
  const bool has_ranges = calibration.cache != nullptr || !calibration.ranges.empty();
  options.plan.int8 = reader.flag("int8") && has_ranges;
  if (options.plan.int8) options.calibration = calibration;
  options.plan.f16 = reader.flag("f16");
  options.plan.bf16 = reader.flag("bf16");
  options.plan.fastest = reader.flag("fastest");
  options.plan.target = reader.text_if_any("target");
  options.plan.fix_subnormals = reader.flag("subnormals");
  read_constraints(reader, options.plan);
  return options;
}

}  // namespace

std::string refit_text(const CompileOptions& options,
                       const std::shared_ptr<const CalibrationCache>& cache) {
  Json ranges = Json::array(), constraints = Json::array();
  if (options.plan.int8 && options.calibration) {
    for (const GivenRange& range : options.calibration->ranges)
      ranges.push_back({range.pattern, range.min, range.max});
  }
  for (const PrecisionConstraint& constraint : options.plan.constraints)
    constraints.push_back({constraint.pattern, to_string(constraint.precision), constraint.output});
  const Json all = {{"int8", options.plan.int8},
                    {"f16", options.plan.f16},
                    {"bf16", options.plan.bf16},
                    {"fastest", options.plan.fastest},
                    {"target", options.plan.target},
                    {"subnormals", options.plan.fix_subnormals},
                    {"cache", cache == nullptr ? "" : to_text(*cache)},
                    {"details", cache == nullptr ? "" : cache->details},
                    {"ranges", ranges},
                    {"constraints", constraints},
                    {"mode", to_string(options.plan.constraint_mode)}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

CompileOptions refit_options(const std::string& text) {
  check_fits(static_cast<s64>(text.size()) * kRefitParsedBytes, "what a plan says of its build");
  try {
    const std::string file = "the plan";
    const OrderedJsonTree tree = parse_bounded_json(text, file, kRefitDepth);
    return read_options({{tree.value, file, "what a build keeps for a refit"}});
  } catch (const Error& error) {
    fail(Error::Code::invalid_model, "what the plan says of its build is damaged: {}",
         error.message());
  }
}

}  // namespace octet
