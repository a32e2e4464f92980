// SPDX-License-Identifier: Apache-2.0
#include "octet/export.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/check.h"
#include "core/memory.h"
#include "onnx/write.h"
#include "pipeline/export_form.h"
#include "pipeline/kept.h"
#include "runtime/inside.h"

namespace octet {
namespace {

constexpr std::array kTargets{std::pair{ExportTarget::onnxruntime, std::string_view("onnxruntime")},
                              std::pair{ExportTarget::openvino, std::string_view("openvino")},
                              std::pair{ExportTarget::tensorrt, std::string_view("tensorrt")}};

std::vector<std::byte> export_model(const Model& model, const ExportOptions& options,
                                    ExportReport& report) {
  const Graph graph = in_form_of(options.target, kept_graph(model), report);
  WrittenModel written = write_onnx(graph, {.producer_version = options.producer_version});
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
