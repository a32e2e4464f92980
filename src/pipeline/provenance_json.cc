// SPDX-License-Identifier: Apache-2.0
// Provenance as JSON. What comes from a file is untrusted: every field is checked, and one that is not known is an error, since what it
// asked of the build would be missing from the next.
#include <limits>
#include <set>

#include "core/bounded_json.h"
#include "core/memory.h"
#include "core/types.h"
#include "octet/provenance.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kProvenanceNesting = 4;
constexpr s64 kBytesPerProvenanceCharacter = 64;
constexpr const char* kProvenanceExpected = "what a build says of itself";
constexpr s64 kMostNumber = std::numeric_limits<s64>::max();

constexpr std::pair<const char*, std::string Provenance::*> kTexts[] = {
    {"octet", &Provenance::version},         {"compiler", &Provenance::compiler},
    {"model", &Provenance::model},           {"producer", &Provenance::producer},
    {"model_hash", &Provenance::model_hash}, {"methods", &Provenance::methods},
    {"device", &Provenance::device},         {"data_hash", &Provenance::data_hash},
    {"cache_hash", &Provenance::cache_hash}, {"ranges_hash", &Provenance::ranges_hash}};

constexpr std::pair<const char*, bool PrecisionPlan::*> kSwitches[] = {
    {"int8", &PrecisionPlan::int8},       {"simulate", &PrecisionPlan::simulate},
    {"f16", &PrecisionPlan::f16},         {"bf16", &PrecisionPlan::bf16},
    {"fastest", &PrecisionPlan::fastest}, {"fix_subnormals", &PrecisionPlan::fix_subnormals}};

// [["conv*", "int8"], ...]
Json constraints_list(const std::vector<PrecisionConstraint>& constraints, bool output) {
  Json list = Json::array();
  for (const PrecisionConstraint& one : constraints) {
    if (one.output == output) list.push_back({one.pattern, to_string(one.precision)});
  }
  return list;
}

void add_constraints(const PrecisionPlan& plan, Json& options) {
  if (plan.constraints.empty()) return;
  options["constraints"] = to_string(plan.constraint_mode);
  options["precisions"] = constraints_list(plan.constraints, false);
  options["output_types"] = constraints_list(plan.constraints, true);
}

Json options_json(const Provenance& from) {
  const PrecisionPlan& plan = from.plan;
  Json options = Json::object();
  for (const auto& [key, member] : kSwitches) {
    if (plan.*member) options[key] = true;
  }
  if (!from.equalize) options["equalize"] = false;
  if (!plan.target.empty()) options["target"] = plan.target;
  if (plan.accuracy_time) options["accuracy_time"] = *plan.accuracy_time;
  if (!plan.keep_float.empty()) options["keep_float"] = plan.keep_float;
  add_constraints(plan, options);
  if (!plan.rewrites.disabled_passes.empty())
    options["disabled_passes"] = plan.rewrites.disabled_passes;
  if (plan.rewrites.stop_after_rewrites >= 0)
    options["stop_after_rewrites"] = plan.rewrites.stop_after_rewrites;
  for (const auto& [input, shape] : from.input_shapes)
    options["shapes"][input] = std::vector<s64>(shape.begin(), shape.end());
  return options;
}

std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Fields that may be missing. What nobody asked for is not known.
class OptionalFields {
 public:
  explicit OptionalFields(const JsonFields& fields) : fields_(fields) { fields.check_object(); }

  const JsonFields& checked() const { return fields_; }
  bool has(const char* key) {
    known_.insert(key);
    return fields_.object.contains(key);
  }
  std::string text(const char* key) { return has(key) ? fields_.text(key) : std::string(); }
  s64 count(const char* key, s64 otherwise) {
    return has(key) ? fields_.integer(key, 0, kMostNumber) : otherwise;
  }
  bool flag(const char* key) {
    if (!has(key)) return false;
    const Json& value = fields_.at(key);
    if (!value.is_boolean()) fields_.wrong("'{}' is not true or false", key);
    return value.get<bool>();
  }
  std::vector<std::string> texts(const char* key) {
    std::vector<std::string> list;
    if (!has(key)) return list;
    for (const Json& value : fields_.list(key)) {
      if (!value.is_string()) fields_.wrong("'{}' holds something that is not a text", key);
      list.push_back(value.get<std::string>());
    }
    return list;
  }
  // An object, or null where there is none.
  const Json* object(const char* key) {
    if (!has(key)) return nullptr;
    if (!fields_.at(key).is_object()) fields_.wrong("'{}' is not an object", key);
    return &fields_.at(key);
  }

  void check_known() const {
    for (const auto& [key, value] : fields_.object.items()) {
      if (!known_.contains(key))
        fields_.wrong("'{}' is nothing that this program knows; is it of a newer one?", key);
    }
  }

 private:
  const JsonFields& fields_;
  std::set<std::string> known_;
};

void read_constraints(OptionalFields& from, const char* key, bool output, PrecisionPlan& plan) {
  if (!from.has(key)) return;
  for (const Json& entry : from.checked().list(key)) {
    const bool pair =
        entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string();
    const auto type = pair ? precision_from(entry[1].get<std::string>()) : std::nullopt;
    if (!type) from.checked().wrong("'{}' holds something that is no pattern and type", key);
    plan.constraints.push_back({entry[0].get<std::string>(), *type, output});
  }
}

Shape read_shape(const JsonFields& fields, const std::string& input, const Json& sizes) {
  Shape shape;
  const bool fits = sizes.is_array() && sizes.size() <= Shape::kMaxRank;
  if (!fits) fields.wrong("the shape of '{}' is no list of at most {}", input, Shape::kMaxRank);
  for (const Json& size : sizes) {
    if (!size.is_number_integer() || size.get<s64>() < 1)
      fields.wrong("the shape of '{}' has a size that is none", input);
    shape.push_back(size.get<s64>());
  }
  return shape;
}

void read_options(const JsonFields& fields, Provenance& into) {
  PrecisionPlan& plan = into.plan;
  OptionalFields from(fields);
  for (const auto& [key, member] : kSwitches) plan.*member = from.flag(key);
  into.equalize = !from.has("equalize") || from.flag("equalize");
  plan.target = from.text("target");
  if (from.has("accuracy_time")) {
    plan.accuracy_time = fields.number(fields.at("accuracy_time"), "accuracy_time");
    if (!(*plan.accuracy_time >= 0 && *plan.accuracy_time <= 1))
      fields.wrong("'accuracy_time' is no part of anything");
  }
  plan.keep_float = from.texts("keep_float");
  read_constraints(from, "precisions", false, plan);
  read_constraints(from, "output_types", true, plan);
  if (from.has("constraints")) {
    const auto mode = constraint_mode_from(fields.text("constraints"));
    if (!mode) fields.wrong("'constraints' is no mode");
    plan.constraint_mode = *mode;
  }
  plan.rewrites.disabled_passes = from.texts("disabled_passes");
  plan.rewrites.stop_after_rewrites = from.count("stop_after_rewrites", -1);
  if (const Json* shapes = from.object("shapes")) {
    for (const auto& [input, sizes] : shapes->items())
      into.input_shapes[input] = read_shape(fields, input, sizes);
  }
  from.check_known();
}

GivenRange read_range(const JsonFields& fields, const Json& entry) {
  if (!entry.is_array() || entry.size() != 3 || !entry[0].is_string())
    fields.wrong("'ranges' holds something that is no tensor with two numbers");
  return {entry[0].get<std::string>(), static_cast<f32>(fields.number(entry[1], "ranges")),
          static_cast<f32>(fields.number(entry[2], "ranges"))};
}

}  // namespace

std::string to_json(const Provenance& from) {
  OrderedJsonTree tree(Json::object());
  Json& object = tree.value;
  for (const auto& [key, member] : kTexts) {
    if (!(from.*member).empty()) object[key] = from.*member;
  }
  object["options"] = options_json(from);
  if (from.preprocess) object["preprocess"] = Json::parse(to_json(*from.preprocess));
  if (from.samples > 0) object["samples"] = from.samples;
  Json ranges = Json::array();
  for (const GivenRange& range : from.given)
    ranges.push_back({range.pattern, range.min, range.max});
  if (!ranges.empty()) object["ranges"] = std::move(ranges);
  return text_of(object);
}

Provenance provenance_from_json(std::string_view text, const std::string& name) {
  check_fits(static_cast<s64>(text.size()) * kBytesPerProvenanceCharacter,
             "the parsed text of " + name);
  const OrderedJsonTree tree = parse_bounded_json(text, name, kProvenanceNesting);
  const Json& json = tree.value;
  const JsonFields fields{json, name, kProvenanceExpected};
  OptionalFields from(fields);
  Provenance read;
  for (const auto& [key, member] : kTexts) read.*member = from.text(key);
  if (const Json* options = from.object("options"))
    read_options({*options, name, kProvenanceExpected, "options: "}, read);
  if (const Json* preprocess = from.object("preprocess"))
    read.preprocess = preprocess_from_json(text_of(*preprocess), name);
  read.samples = from.count("samples", 0);
  if (from.has("ranges")) {
    for (const Json& entry : fields.list("ranges")) read.given.push_back(read_range(fields, entry));
  }
  from.check_known();
  return read;
}

}  // namespace octet
