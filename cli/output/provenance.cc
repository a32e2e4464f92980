// SPDX-License-Identifier: Apache-2.0
#include "cli/output/provenance.h"

#include <fmt/format.h>

#include <map>

#include "cli/output/terminal.h"
#include "octet/json.h"

namespace octet::cli {

std::string quoted(const std::string& word) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,=+-";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

namespace {

using Json = nlohmann::ordered_json;

class CommandLine {
 public:
  explicit CommandLine(std::string begins) : text_(std::move(begins)) {}

  void flag(const char* name, bool given = true) {
    if (given) text_ += fmt::format(" {}", name);
  }
  void argument(const std::string& value) { text_ += " " + quoted(value); }
  void option(const std::string& name, const std::string& value) {
    text_ += fmt::format(" {} {}", name, quoted(value));
  }
  std::string take() && { return std::move(text_); }

 private:
  std::string text_;
};

void add_types(const PrecisionPlan& plan, CommandLine& line) {
  line.flag("--int8", plan.int8);
  line.flag("--fp16", plan.f16);
  line.flag("--bf16", plan.bf16);
  line.flag("--best", plan.fastest);
  if (!plan.target.empty()) line.option("--for", plan.target);
  line.flag("--fix-subnormals", plan.fix_subnormals);
  if (plan.accuracy_time) line.option("--favor", fmt::format("{:.10g}", *plan.accuracy_time * 100));
  for (const std::string& name : plan.keep_float) line.option("--keep-float", name);
  for (const PrecisionConstraint& one : plan.constraints)
    line.option(one.output ? "--output-type" : "--precision", to_string(one));
  if (!plan.constraints.empty() && plan.constraint_mode != ConstraintMode::prefer)
    line.option("--constraints", std::string(to_string(plan.constraint_mode)));
}

// The keys of the JSON are the names of the flags.
void add_preprocess(const Preprocess& preprocess, CommandLine& line) {
  Json keys = parsed(to_json(preprocess));
  if (keys.contains("letterbox")) {
    keys["letterbox"] =
        fmt::format("{}:{}:{}", keys["letterbox"].get<std::string>(), preprocess.letterbox_fill,
                    keys["letterbox_align"].get<std::string>());
  }
  if (keys.contains("resize_short")) keys["resize"] = keys["resize_short"];
  // What has no flag of its own: it is said above, or in a file.
  for (const char* key : {"letterbox_align", "letterbox_fill", "resize_short", "fit", "crop_share"})
    keys.erase(key);
  for (const auto& [key, value] : keys.items()) {
    std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    std::erase_if(text, [](char c) { return c == '[' || c == ']'; });
    line.option("--" + key, text);
  }
}

void add_ranges(const Provenance& from, CommandLine& line) {
  if (!from.data_hash.empty()) line.flag("--calib DATA");
  if (!from.cache_hash.empty()) line.flag("--calib-cache CACHE");
  if (const auto method = range_method(from)) {
    line.option("--calib-method", to_string(*method));
  } else {
    line.flag("--calib-method METHODS", !from.data_hash.empty());
  }
  line.flag("--ranges RANGES", !from.given.empty());
  line.flag("--equalize off", !from.equalize);
  line.flag("--device DEVICE", !from.device.empty() && !from.data_hash.empty());
}

void add_graph(const Provenance& from, CommandLine& line) {
  for (const auto& [input, shape] : from.input_shapes)
    line.option("--shape", input + ":" + to_string(shape));
  for (const std::string& pass : from.plan.rewrites.disabled_passes)
    line.option("--disable-pass", pass);
  if (from.plan.rewrites.stop_after_rewrites >= 0)
    line.option("--stop-after-rewrites", std::to_string(from.plan.rewrites.stop_after_rewrites));
}

void print_line(std::string_view title, const std::string& value) {
  if (!value.empty()) fmt::print("{:<12} {}\n", title, sanitize(value));
}

std::string hashed(const std::string& what, const std::string& hash) {
  return hash.empty() ? what : fmt::format("{} (hash {})", what, hash);
}

void print_making(const Provenance& from) {
  print_line("built by", fmt::format("octet {}, compiled by {}", from.version, from.compiler));
  print_line("command", build_command(from));
  print_line("model", hashed(from.model.empty() ? "ONNX" : from.model, from.model_hash));
  print_line("producer", from.producer);
  if (from.preprocess) print_line("images", to_json(*from.preprocess));
  if (from.samples > 0)
    print_line("data", hashed(fmt::format("{} samples", from.samples), from.data_hash));
  print_line("run by", from.device);
  if (!from.cache_hash.empty()) print_line("cache", hashed("scales", from.cache_hash));
  if (!from.methods.empty()) print_line("ranges", hashed("by " + from.methods, from.ranges_hash));
}

void print_decisions(const Inspection& inspection) {
  std::map<std::pair<std::string, std::string>, int64_t> counts;
  for (const NodePrecision& node : inspection.nodes)
    ++counts[{std::string(to_string(node.resolved)), std::string(to_string(node.reason_code))}];
  if (counts.empty()) return;
  fmt::print("\n");
  Table table({{"TYPE"}, {"REASON"}, {"NODES", true}});
  for (const auto& [decision, count] : counts)
    table.add({decision.first, decision.second, std::to_string(count)});
  table.print();
}

}  // namespace

std::string build_command(const Provenance& provenance) {
  CommandLine line("octet build");
  // A name of any model, which must not be taken for a flag.
  const std::string& model = provenance.model;
  line.argument(model.empty() ? "MODEL.onnx" : model.starts_with('-') ? "./" + model : model);
  add_types(provenance.plan, line);
  add_ranges(provenance, line);
  if (provenance.preprocess) add_preprocess(*provenance.preprocess, line);
  add_graph(provenance, line);
  return std::move(line).take();
}

void print_provenance(const Engine& engine, const Inspection& inspection) {
  print_line("engine", "hash " + engine_hash(engine));
  if (const auto from = provenance(engine)) {
    print_making(*from);
  } else {
    print_line("built by", "an octet whose engines did not say more");
  }
  print_decisions(inspection);
}

nlohmann::ordered_json provenance_json(const Engine& engine, const Inspection& inspection) {
  const auto from = provenance(engine);
  Json object = {{"engine_hash", engine_hash(engine)},
                 {"command", from ? Json(build_command(*from)) : nullptr},
                 {"provenance", from ? parsed(to_json(*from)) : nullptr}};
  object["decisions"] = Json::array();
  for (const NodePrecision& node : inspection.nodes) {
    object["decisions"].push_back({{"node", node.node},
                                   {"layer", node.layer},
                                   {"precision", to_string(node.resolved)},
                                   {"reason_code", to_string(node.reason_code)}});
  }
  return object;
}

}  // namespace octet::cli
