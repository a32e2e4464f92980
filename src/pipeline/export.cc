// SPDX-License-Identifier: Apache-2.0
#include "octet/export.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/channel_exponent.h"
#include "core/check.h"
#include "core/memory.h"
#include "onnx/write.h"
#include "pipeline/export_form.h"
#include "pipeline/kept.h"
#include "runtime/equalized.h"
#include "runtime/inside.h"

namespace octet {
namespace {

constexpr std::array kTargets{std::pair{ExportTarget::onnxruntime, std::string_view("onnxruntime")},
                              std::pair{ExportTarget::openvino, std::string_view("openvino")},
                              std::pair{ExportTarget::tensorrt, std::string_view("tensorrt")}};

// "b.equalized", and "b.equalized.codes" of what is made of it.
std::string marked(std::string name) {
  size_t at = name.size();
  for (const std::string_view tail : {".codes", ".dequantized"}) {
    if (name.ends_with(tail)) at = name.size() - tail.size();
  }
  return name.insert(at, kEqualizedMark);
}

// A model in other hands says that these are not the network's numbers, by their names, and to this program what they are.
std::vector<std::string> marked_equalized(const EqualizedValues& equalized, Graph& graph) {
  EqualizedValues found;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const auto at = equalized.find(graph.value(id).name);
    if (at == equalized.end()) continue;
    std::string name = marked(network_name(equalized, at->first));
    while (name != at->first && !graph.rename(id, name)) name = marked(name);
    if (graph.value(id).type.dtype == Dtype::f32) found.emplace(std::move(name), at->second);
  }
  return equalized_lines(found);
}

std::vector<std::byte> export_model(const Model& model, const ExportOptions& options,
                                    ExportReport& report) {
  Graph graph = in_form_of(options.target, kept_graph(model), report);
  std::vector<std::string> equalized = marked_equalized(model.equalized, graph);
  WrittenModel written = write_onnx(
      graph, {.producer_version = options.producer_version, .equalized = std::move(equalized)});
  report.opset = written.opset;
  report.nodes = written.nodes;
  report.kept_float = std::move(written.kept_float);
  return std::move(written.bytes);
}

}  // namespace

std::string_view to_string(ExportTarget target) {
  return std::ranges::find(kTargets, target, &decltype(kTargets)::value_type::first)->second;
}

std::optional<ExportTarget> export_target_from(std::string_view name) {
  const auto at = std::ranges::find(kTargets, name, &decltype(kTargets)::value_type::second);
  return at == kTargets.end() ? std::nullopt : std::optional(at->first);
}

std::vector<std::byte> export_onnx(const Engine& engine, const ExportOptions& options,
                                   ExportReport* report) {
  ExportReport local;
  ExportReport& out = report != nullptr ? *report : local;
  out = {};
  return without_bad_alloc([&] { return export_model(Inside::model(engine), options, out); });
}

}  // namespace octet
