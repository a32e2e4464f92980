// SPDX-License-Identifier: Apache-2.0
#include "octet/value_types.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "core/check.h"
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

using Integers = std::vector<std::optional<s64>>;

s64 integer_at(const Tensor& tensor, s64 i) {
  const auto at = static_cast<size_t>(i);
  return tensor.dtype() == Dtype::s32 ? tensor.as<s32>()[at] : tensor.as<s64>()[at];
}

// What all samples agree in does not depend on what was sampled.
Integers integers_of(const Graph& graph, const SampledTypes& samples, ValueId id) {
  const TensorType& type = graph.value(id).type;
  if (type.dtype != Dtype::s32 && type.dtype != Dtype::s64)
    fail(Error::Code::invalid_argument, "value '{}' is {}, no integers of 32 or 64 bits",
         graph.value(id).name, to_string(type));
  if (!type.shape.is_static()) return {};
  Integers integers(static_cast<size_t>(type.shape.elements()));
  const Tensor &first = samples.first.known[id], &second = samples.second.known[id];
  if (!first || !second) return integers;
  for (s64 i = 0; i < std::ssize(integers); ++i) {
    const s64 number = integer_at(first, i);
    const bool far = std::ranges::all_of(samples.far, [&](const Propagated& sample) {
      return !sample.known[id] || integer_at(sample.known[id], i) == number;
    });
    if (far && number == integer_at(second, i)) integers[static_cast<size_t>(i)] = number;
  }
  return integers;
}

std::vector<Integers> integers_of(std::span<const std::byte> onnx_model,
                                  std::span<const std::string> names,
                                  const ImportOptions& options) {
  Graph graph = import_onnx(onnx_model, options);
  const SampledTypes samples = infer_types(graph);
  std::unordered_map<std::string_view, ValueId> ids;
  for (ValueId id = 0; id < graph.value_count(); ++id) ids.emplace(graph.value(id).name, id);
  std::vector<Integers> all;
  for (const std::string& name : names) {
    const auto at = ids.find(name);
    if (at == ids.end()) fail(Error::Code::invalid_argument, "the model has no value '{}'", name);
    all.push_back(integers_of(graph, samples, at->second));
  }
  return all;
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

std::vector<std::vector<std::optional<int64_t>>> value_integers(
    std::span<const std::byte> onnx_model, std::span<const std::string> names,
    const std::filesystem::path& weights_folder) {
  ImportOptions options;
  options.external_data_folder = weights_folder;
  try {
    return without_bad_alloc([&] { return integers_of(onnx_model, names, options); });
  } catch (Error& error) {
    error.add_context(fmt::format("reading integers of a model of {} bytes", onnx_model.size()));
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
