// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "backends/backends.h"
#include "core/check.h"
#include "core/content_hash.h"
#include "inspect/explain/layers.h"
#include "inspect/json.h"
#include "inspect/tensorrt/formats.h"
#include "inspect/tensorrt/layers.h"
#include "inspect/tensorrt/text.h"
#include "octet/tensorrt_inspector.h"
#include "runtime/inside.h"
#include "runtime/staged.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

// What can be planned without data, then every other node.
std::vector<TensorRtLayer> staged_layers(const Graph& graph, std::span<const Shape> shapes,
                                         const Target& target) {
  const Stage stage = make_stage(graph, first_start(graph, shapes));
  std::vector<TensorRtLayer> layers;
  if (!stage.planned.outputs.empty()) {
    std::vector<Shape> planned;
    for (ValueId id : stage.planned.inputs) planned.push_back(stage.planned.value(id).type.shape);
    layers = tensorrt_layers(make_plan(stage.planned, planned, target));
  }
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    if (stage.reasons[n].empty()) continue;
    const Node& node = graph.nodes[n];
    layers.push_back(
        tensorrt_layer(graph, node, layer_outside_plans(graph, node, stage.reasons[n])));
  }
  make_names_unique(layers);
  return layers;
}

std::vector<TensorRtLayer> layers_for(const Graph& graph, std::span<const Shape> shapes,
                                      const Target& target) {
  try {
    return tensorrt_layers(make_plan(graph, shapes, target));
  } catch (const NeedsData&) {
    return staged_layers(graph, shapes, target);
  }
}

std::string suffix_of(size_t profile) {
  return profile == 0 ? "" : fmt::format(" [profile {}]", profile);
}

std::string tactic_value(const std::string& kernel) {
  ContentHash hash;
  hash.add(std::as_bytes(std::span(kernel)));
  return fmt::format("0x{:016x}", kernel.empty() ? 0 : hash.digest().low);
}

// The model's nodes, as TensorRT 8.6 and later list them; 0x1e stands between.
std::string metadata_of(const LayerInfo& info) {
  std::string text;
  for (const std::string& node : info.nodes)
    text += (text.empty() ? "" : "\x1e") + ("[ONNX Layer: " + node + "]");
  return text;
}

Json dims_of(const Shape& shape) {
  Json dims = Json::array();
  for (const int64_t dim : shape) dims.push_back(dim < 0 ? -1 : dim);
  return dims;
}

Json shapes_of(const InspectorProfile& profile, size_t input, const Shape& otherwise) {
  const auto at = [&](const std::vector<Shape>& shapes, const Shape& absent) {
    return dims_of(input < shapes.size() ? shapes[input] : absent);
  };
  const Shape& opt = input < profile.opt.size() ? profile.opt[input] : otherwise;
  return {{"MinShape", at(profile.min, opt)},
          {"OptShape", dims_of(opt)},
          {"MaxShape", at(profile.max, opt)}};
}

// Schema 11 ends all texts alike.
std::string format_text(const TensorRtFormat& format) {
  const bool ends = format.text.find("format") != std::string::npos;
  return fmt::format("{}{} ({})", format.text, ends ? "" : " format", format.name);
}

class Writer {
 public:
  Writer(const Engine& engine, const InspectorOptions& options)
      : options_(options), graph_(Inside::model(engine).graph) {
    if (options.has_context) return;
    for (ValueId id = 0; id < graph_.value_count(); ++id)
      declared_.emplace(graph_.value(id).name, graph_.value(id).type.shape);
  }

  Json layer(const TensorRtLayer& layer, size_t profile) const {
    Json object = {{"Name", layer.name}, {"LayerType", layer.kind.type}};
    object["Inputs"] = tensors(layer.inputs, profile);
    object["Outputs"] = tensors(layer.outputs, profile);
    object.update(layer.kind.parameters);
    const bool reformat = layer.kind.type == "Reformat" || layer.kind.type == "NoOp";
    if (!reformat) object["TacticName"] = layer.info.kernel;
    object["TacticValue"] = tactic_value(layer.info.kernel);
    object["StreamId"] = 0;
    object["Metadata"] = metadata_of(layer.info);
    object["OctetLayer"] = layer.info.name;
    object["OctetPrecision"] = to_string(layer.info.precision);
    object["OctetReason"] = layer.info.reason;
    return object;
  }

  Json bindings(const Engine& engine) const {
    const bool old = options_.schema == 10;
    Json list = Json::array();
    for (size_t p = 0; p < (old ? options_.profiles.size() : 1); ++p) {
      const std::vector<TensorInfo> inputs = engine.inputs();
      for (size_t i = 0; i < inputs.size(); ++i)
        list.push_back(old ? Json(inputs[i].name + suffix_of(p)) : input(inputs[i], i));
      for (const TensorInfo& info : engine.outputs())
        list.push_back(old ? Json(info.name + suffix_of(p)) : io_tensor(info, "Output"));
    }
    return list;
  }

 private:
  Json io_tensor(const TensorInfo& info, std::string_view mode) const {
    return {{"Name", info.name},
            {"IOMode", mode},
            {"DataType", tensorrt_type_name(info.type.dtype)},
            {"Dimensions", dims_of(info.type.shape)},
            {"Location", "Device"},
            {"IsShapeInferenceIO", false},
            {"ProfileInfo", Json::array()}};
  }

  Json input(const TensorInfo& info, size_t index) const {
    Json object = io_tensor(info, "Input");
    const TensorRtFormat format = tensorrt_format(info.type, Layout::linear, false);
    for (const InspectorProfile& profile : options_.profiles) {
      Json entry = shapes_of(profile, index, info.type.shape);
      entry["Format"] = format_text(format);
      object["ProfileInfo"].push_back(std::move(entry));
    }
    return object;
  }

  Json tensors(std::span<const TensorRtTensor> tensors, size_t profile) const {
    Json list = Json::array();
    for (const TensorRtTensor& tensor : tensors) list.push_back(described(tensor, profile));
    return list;
  }

  Json described(const TensorRtTensor& tensor, size_t profile) const {
    const auto declared = declared_.find(tensor.name);
    const Shape& shape = declared == declared_.end() ? tensor.type.shape : declared->second;
    Json object = {{"Name", tensor.name + suffix_of(profile)},
                   {"Location", tensor.on_host ? "Host" : "Device"},
                   {"Dimensions", dims_of(shape)}};
    const TensorRtFormat format = tensorrt_format(tensor.type, tensor.layout, tensor.codes);
    if (options_.schema == 10) {
      object["Format/Datatype"] = format.text;
      return object;
    }
    object["Format"] = format_text(format);
    object["DataType"] = tensor.codes ? "Int8" : tensorrt_type_name(tensor.type.dtype);
    return object;
  }

  const InspectorOptions& options_;
  const Graph& graph_;
  std::map<std::string, Shape> declared_;  // by value, where there is no context
};

}  // namespace

struct EngineInspector::Impl {
  struct Layer {
    std::string name;
    std::string type;
    Json object;  // or the name alone
  };

  InspectorVerbosity verbosity = InspectorVerbosity::detailed;
  const char* bindings_key = "Bindings";
  std::vector<Layer> layers;
  Json bindings;
};

EngineInspector::~EngineInspector() = default;
EngineInspector::EngineInspector(EngineInspector&&) noexcept = default;
EngineInspector& EngineInspector::operator=(EngineInspector&&) noexcept = default;

EngineInspector::EngineInspector(const Engine& engine, const InspectorOptions& given) {
  if (given.schema != 10 && given.schema != 11)
    fail(Error::Code::invalid_argument, "the inspector's schema is {}, expected 10 or 11",
         given.schema);
  InspectorOptions options = given;
  if (options.profiles.empty()) options.profiles.push_back({sample_shapes(engine)});
  auto impl = std::make_unique<Impl>();
  impl->verbosity = options.verbosity;
  if (options.schema == 11) impl->bindings_key = "I/O Tensors";
  const Writer writer(engine, options);
  const Target target = make_target(options.device, options.threads, options.tuning);
  for (size_t p = 0; p < options.profiles.size(); ++p) {
    for (TensorRtLayer& layer :
         layers_for(Inside::model(engine).graph, options.profiles[p].opt, target)) {
      layer.name += suffix_of(p);
      Json object = options.verbosity == InspectorVerbosity::detailed ? writer.layer(layer, p)
                                                                      : Json(layer.name);
      impl->layers.push_back({layer.name, layer.kind.type, std::move(object)});
    }
  }
  impl->bindings = writer.bindings(engine);
  impl_ = std::move(impl);
}

size_t EngineInspector::layer_count() const { return impl_->layers.size(); }

const std::string& EngineInspector::layer_name(size_t layer) const {
  return impl_->layers.at(layer).name;
}

const std::string& EngineInspector::layer_type(size_t layer) const {
  return impl_->layers.at(layer).type;
}

std::string EngineInspector::layer_information(size_t layer, InspectorFormat format) const {
  if (impl_->verbosity == InspectorVerbosity::none) return {};
  const Json& object = impl_->layers.at(layer).object;
  return format == InspectorFormat::json ? inspector_json(object) : inspector_line(object);
}

std::string EngineInspector::engine_information(InspectorFormat format) const {
  if (impl_->verbosity == InspectorVerbosity::none) return {};
  const bool json = format == InspectorFormat::json;
  std::string text = json ? "{\"Layers\": [" : "Layers:\n";
  for (size_t i = 0; i < layer_count(); ++i) {
    if (json && i > 0) text += impl_->layers[i].object.is_string() ? "\n," : ",";
    text += layer_information(i, format);
    if (!json) text += "\n";
  }
  if (!json) {
    text += "\nBindings:\n";
    for (const Json& binding : impl_->bindings)
      text += (binding.is_string() ? binding : binding["Name"]).get<std::string>() + "\n";
    return text;
  }
  text += fmt::format("],\n\"{}\": [", impl_->bindings_key);
  for (size_t i = 0; i < impl_->bindings.size(); ++i)
    text += (i > 0 ? "\n," : "") + inspector_json(impl_->bindings[i]);
  return text + "\n]}\n";
}

}  // namespace octet
