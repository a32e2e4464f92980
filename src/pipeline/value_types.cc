// SPDX-License-Identifier: Apache-2.0
#include "octet/value_types.h"

#include <fmt/format.h>

#include "core/memory.h"
#include "onnx/import.h"
#include "passes/infer_types.h"

namespace octet {
namespace {

std::vector<TensorInfo> types_of(std::span<const std::byte> onnx_model,
                                 const std::filesystem::path& weights_folder) {
  ImportOptions options;
  options.external_data_folder = weights_folder;
  Graph graph = import_onnx(onnx_model, options);
  infer_types(graph);
  forget_size_numbers(graph);
  std::vector<TensorInfo> types;
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (!value.name.empty()) types.push_back({value.name, value.type});
  }
  return types;
}

std::vector<TensorInfo> inputs_of_model(const Graph& graph) {
  std::vector<TensorInfo> types;
  for (const ValueId id : graph.inputs)
    types.push_back({graph.value(id).name, graph.value(id).type});
  return types;
}

}  // namespace

std::vector<TensorInfo> value_types(std::span<const std::byte> onnx_model,
                                    const std::filesystem::path& weights_folder) {
  try {
    return without_bad_alloc([&] { return types_of(onnx_model, weights_folder); });
  } catch (Error& error) {
    error.add_context(fmt::format("reading the values of a model of {} bytes", onnx_model.size()));
    throw;
  }
}

std::vector<TensorInfo> model_inputs(const std::filesystem::path& onnx_file) {
  try {
    return without_bad_alloc([&] { return inputs_of_model(import_onnx(onnx_file, {})); });
  } catch (Error& error) {
    error.add_context("reading the inputs of '" + onnx_file.string() + "'");
    throw;
  }
}

std::vector<TensorInfo> model_inputs(std::span<const std::byte> onnx_model,
                                     const std::filesystem::path& weights_folder) {
  ImportOptions options;
  options.external_data_folder = weights_folder;
  try {
    return without_bad_alloc([&] { return inputs_of_model(import_onnx(onnx_model, options)); });
  } catch (Error& error) {
    error.add_context(fmt::format("reading the inputs of a model of {} bytes", onnx_model.size()));
    throw;
  }
}

}  // namespace octet
