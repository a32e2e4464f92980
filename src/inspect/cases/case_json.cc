// SPDX-License-Identifier: Apache-2.0
#include "inspect/cases/case_json.h"

#include "core/bounded_json.h"
#include "core/memory.h"
#include "core/types.h"
#include "inspect/json.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kCaseFormat = "octet-case";
constexpr s64 kCaseVersion = 1;
constexpr int kCaseNesting = 6;
constexpr s64 kBytesPerCaseCharacter = 64;
constexpr const char* kCaseExpected = "what octet bundle writes";

Json decisions_json(const std::vector<CaseDecision>& decisions) {
  Json list = Json::array();
  for (const CaseDecision& one : decisions) {
    list.push_back({{"node", one.node},
                    {"layer", one.layer},
                    {"precision", one.precision},
                    {"reason_code", one.reason_code}});
  }
  return list;
}

Json kernels_json(const Case& from) {
  Json list = Json::array();
  for (const auto& [layer, kernel] : from.kernels)
    list.push_back({{"layer", layer}, {"kernel", kernel}});
  return list;
}

std::vector<std::string> names_of_runs(const Case& from) {
  std::vector<std::string> names;
  for (const CaseRun& run : from.runs) names.push_back(run.name);
  return names;
}

std::vector<std::string> read_texts(const JsonFields& fields, const char* key) {
  std::vector<std::string> texts;
  for (const Json& value : fields.list(key)) {
    if (!value.is_string()) fields.wrong("'{}' holds something that is not a text", key);
    texts.push_back(value.get<std::string>());
  }
  return texts;
}

// Each object of a list, by `read`.
template <class Read>
void read_each(const JsonFields& fields, const char* key, const Read& read) {
  const Json& list = fields.list(key);
  for (size_t i = 0; i < list.size(); ++i) {
    const JsonFields entry{list[i], fields.file, fields.expected, fmt::format("{} {}: ", key, i)};
    entry.check_object();
    read(entry);
  }
}

CaseFiles read_files(const JsonFields& fields) {
  CaseFiles files;
  const JsonFields entries{fields.at("files"), fields.file, fields.expected, "files: "};
  entries.check_object();
  for (const auto& [name, hash] : entries.object.items()) files[name] = entries.text(name.c_str());
  return files;
}

}  // namespace

std::string write_case_json(const Case& from, const CaseFiles& files) {
  Json object = {
      {"format", kCaseFormat},     {"version", kCaseVersion},    {"octet", from.version},
      {"compiler", from.compiler}, {"device", from.device.name}, {"chip", from.device.chip},
      {"isa", from.device.level},  {"commands", from.commands},  {"engine_hash", from.engine_hash}};
  if (from.provenance) object["provenance"] = Json::parse(to_json(*from.provenance));
  object["inputs"] = from.inputs;
  object["outputs"] = from.outputs;
  object["runs"] = names_of_runs(from);
  object["files"] = files;
  object["kernels"] = kernels_json(from);
  object["decisions"] = decisions_json(from.decisions);
  return object.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void read_case_json(std::string_view text, const std::string& name, Case& into, CaseFiles& files) {
  check_fits(static_cast<s64>(text.size()) * kBytesPerCaseCharacter, "the parsed text of " + name);
  const OrderedJsonTree tree = parse_bounded_json(text, name, kCaseNesting);
  const Json& json = tree.value;
  const JsonFields fields{json, name, kCaseExpected};
  fields.check_object();
  if (fields.text("format") != kCaseFormat) fields.wrong("'format' is not {}", kCaseFormat);
  fields.integer("version", kCaseVersion, kCaseVersion);
  into.version = fields.text("octet");
  into.compiler = fields.text("compiler");
  into.device = {fields.text("device"), fields.text("chip"), fields.text("isa")};
  into.commands = read_texts(fields, "commands");
  into.engine_hash = fields.text("engine_hash");
  if (json.contains("provenance"))
    into.provenance = provenance_from_json(json_text(json["provenance"]), name);
  into.inputs = read_texts(fields, "inputs");
  into.outputs = read_texts(fields, "outputs");
  for (std::string& run : read_texts(fields, "runs"))
    into.runs.push_back({.name = std::move(run), .inputs = {}, .outputs = {}});
  files = read_files(fields);
  read_each(fields, "kernels", [&](const JsonFields& entry) {
    into.kernels.emplace_back(entry.text("layer"), entry.text("kernel"));
  });
  read_each(fields, "decisions", [&](const JsonFields& entry) {
    into.decisions.push_back({entry.text("node"), entry.text("layer"), entry.text("precision"),
                              entry.text("reason_code")});
  });
}

}  // namespace octet
