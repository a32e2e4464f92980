// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>

#include "core/bounded_json.h"
#include "core/check.h"
#include "plugin/library.h"
#include "preprocess/profile_json.h"

namespace octet {
namespace {

using nlohmann::json;

// Deep nesting is refused before it can exhaust the stack, and many values before they exhaust the memory: a character of text
// becomes dozens of bytes.
constexpr int kMaxDepth = 16;
constexpr int kMaxValues = 100'000;
// A model may have more nodes than that; then what was asked of them is not kept.
constexpr size_t kMaxRequests = 40'000;
// The same of tensors and what calibration clipped of them.
constexpr size_t kMaxClipped = 20'000;

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

using Member = Precision NodeRequest::*;

// {"int8": ["conv1", ...]}, sorted: what is read is written equal.
json nodes_json(const std::vector<NodeRequest>& nodes, Member member) {
  std::map<std::string, std::set<std::string>> names;
  for (const NodeRequest& node : nodes) {
    if (node.*member != Precision::none)
      names[std::string(to_string(node.*member))].insert(node.node);
  }
  return names;
}

json constraints_json(const AskedPrecisions& asked) {
  json types = json::array(), results = json::array();
  for (const PrecisionConstraint& constraint : asked.constraints)
    (constraint.output ? results : types).push_back(to_string(constraint));
  return {{"mode", to_string(asked.mode)},
          {"types", std::move(types)},
          {"results", std::move(results)},
          {"nodes", nodes_json(asked.nodes, &NodeRequest::precision)},
          {"node_results", nodes_json(asked.nodes, &NodeRequest::output)}};
}

// Adds to the entry of each node what the object says of it.
class NodeReader {
 public:
  void read(const json& object, Member member) {
    for (const auto& [type, names] : object.items()) {
      const auto precision = precision_from(type);
      if (!precision) fail(Error::Code::invalid_model, "manifest: '{}' is no type", type);
      for (const json& name : names) {
        const auto text = name.get<std::string>();
        const auto [at, fresh] = index_.try_emplace(text, nodes_.size());
        if (fresh) nodes_.push_back({.node = text});
        nodes_[at->second].*member = *precision;
      }
    }
  }
  std::vector<NodeRequest> take() { return std::move(nodes_); }

 private:
  std::vector<NodeRequest> nodes_;
  std::unordered_map<std::string, size_t> index_;
};

void read_list(const json& list, bool output, std::vector<PrecisionConstraint>& constraints) {
  for (const json& text : list) {
    const auto entry = text.get<std::string>();
    const size_t colon = entry.rfind(':');
    const auto precision =
        colon == std::string::npos ? std::nullopt : precision_from(entry.substr(colon + 1));
    if (!precision) fail(Error::Code::invalid_model, "manifest: '{}' is no constraint", entry);
    constraints.push_back({entry.substr(0, colon), *precision, output});
  }
}

AskedPrecisions read_constraints(const json& object) {
  AskedPrecisions asked;
  const auto mode = constraint_mode_from(object.at("mode").get<std::string>());
  if (!mode) fail(Error::Code::invalid_model, "manifest: no mode of constraints");
  asked.mode = *mode;
  read_list(object.at("types"), false, asked.constraints);
  read_list(object.at("results"), true, asked.constraints);
  NodeReader nodes;
  nodes.read(object.at("nodes"), &NodeRequest::precision);
  nodes.read(object.at("node_results"), &NodeRequest::output);
  asked.nodes = nodes.take();
  return asked;
}

std::vector<PluginUse> plugins_of(const json& manifest) {
  std::vector<PluginUse> uses;
  if (!manifest.contains("plugins")) return uses;
  for (const json& use : manifest["plugins"]) {
    uses.push_back({use.at("plugin").get<std::string>(), use.at("version").get<std::string>(),
                    use.at("operator").get<std::string>(), use.at("operator_version").get<u32>(),
                    use.at("declaration").get<std::string>()});
  }
  return uses;
}

std::vector<InputProfile> profiles_of(const json& manifest) {
  if (!manifest.contains("calibrated_inputs")) return {};
  const OrderedJsonTree own{nlohmann::ordered_json(manifest.at("calibrated_inputs"))};
  try {
    return profiles_from_json(own.value, "manifest");
  } catch (const Error& error) {
    fail(Error::Code::invalid_model, "{}", error.message());
  }
}

EqualizedValues equalized_of(const json& manifest) {
  EqualizedValues equalized;
  if (!manifest.contains("equalized")) return equalized;
  for (const auto& [name, exponents] : manifest["equalized"].items())
    equalized.emplace(name, exponents_from(exponents.get<std::string>()));
  return equalized;
}

std::map<std::string, f64> clipped_of(const json& manifest) {
  std::map<std::string, f64> clipped;
  if (!manifest.contains("calibration_clipped")) return clipped;
  for (const auto& [name, share] : manifest["calibration_clipped"].items()) {
    const auto part = share.get<f64>();
    if (!(part >= 0 && part <= 1))
      fail(Error::Code::invalid_model, "manifest: {} of tensor '{}' clipped", part, name);
    clipped.emplace(name, part);
  }
  return clipped;
}

s64 attached_in(const json& manifest) {
  const s64 attached = manifest.value("attachment_bytes", s64{0});
  if (attached < 0) fail(Error::Code::invalid_model, "manifest: {} bytes attached", attached);
  return attached;
}

}  // namespace

std::string write_manifest(const Model& model) {
  JsonTree<json> tree(json::object());
  json& manifest = tree.value;
  manifest["source"] = model.source;
  manifest["producer"] = model.producer;
  manifest["range_method"] = model.range_method;
  manifest["calibration_samples"] = model.calibration_samples;
  json plugins = json::array();
  for (const PluginUse& use : used_plugins(model.graph)) {
    plugins.push_back({{"plugin", use.plugin},
                       {"version", use.version},
                       {"operator", use.op},
                       {"operator_version", use.op_version},
                       {"declaration", use.declaration}});
  }
  if (!plugins.empty()) manifest["plugins"] = std::move(plugins);
  if (!model.calibrated_inputs.empty())
    manifest["calibrated_inputs"] = json(profiles_json(model.calibrated_inputs));
  if (model.calibration_clipped.size() <= kMaxClipped) {
    for (const auto& [name, share] : model.calibration_clipped)
      manifest["calibration_clipped"][name] = share;
  }
  for (const auto& [name, exponents] : model.equalized)
    manifest["equalized"][name] = exponents_text(exponents);
  if (model.preprocess) manifest["preprocess"] = json::parse(to_json(*model.preprocess));
  const AskedPrecisions& asked = model.constraints;
  if (!asked.constraints.empty() && asked.nodes.size() + asked.constraints.size() <= kMaxRequests)
    manifest["constraints"] = constraints_json(asked);
  // One text, however much it holds: it is parsed where it is asked for.
  if (!model.provenance.empty()) manifest["provenance"] = model.provenance;
  if (model.attachment) manifest["attachment_bytes"] = model.attachment.bytes();
  // Names come from untrusted models: bytes that are not UTF-8 are replaced rather than refused.
  return manifest.dump(-1, ' ', false, json::error_handler_t::replace);
}

s64 read_manifest(std::string_view text, Model& model) {
  try {
    const JsonTree<json> tree(parse_bounded(text));
    const json& manifest = tree.value;
    model.source = manifest.at("source").get<std::string>();
    model.producer = manifest.at("producer").get<std::string>();
    model.range_method = manifest.at("range_method").get<std::string>();
    model.calibration_samples = manifest.at("calibration_samples").get<s64>();
    if (manifest.contains("constraints"))
      model.constraints = read_constraints(manifest["constraints"]);
    model.provenance = manifest.value("provenance", std::string());
    check_plugins(plugins_of(manifest));
    model.calibrated_inputs = profiles_of(manifest);
    model.equalized = equalized_of(manifest);
    model.calibration_clipped = clipped_of(manifest);
    if (manifest.contains("preprocess")) {
      JsonTree<json> own(manifest["preprocess"]);
      json& preprocess = own.value;
      // Engines that say nothing of it are older than the turning of images: theirs were never turned.
      if (preprocess.is_object() && !preprocess.contains("orientation"))
        preprocess["orientation"] = "stored";
      model.preprocess = preprocess_from_json(preprocess.dump(), "the engine's manifest");
    }
    return attached_in(manifest);
  } catch (const json::exception& error) {
    fail(Error::Code::invalid_model, "manifest: {}", error.what());
  }
}

s64 attached_bytes(std::string_view text) {
  try {
    return attached_in(JsonTree<json>(parse_bounded(text)).value);
  } catch (const json::exception& error) {
    fail(Error::Code::invalid_model, "manifest: {}", error.what());
  }
}

}  // namespace octet
