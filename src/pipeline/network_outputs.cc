// SPDX-License-Identifier: Apache-2.0
#include "pipeline/network_outputs.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "graph/op_def.h"
#include "onnx/write.h"
#include "ops/registry.h"
#include "ops/shared/dtypes.h"
#include "runtime/equalized.h"

namespace octet {
namespace {

using octet_onnx::GraphProto;
using octet_onnx::ModelProto;

EqualizedValues equalized_values(const ModelProto& model) {
  std::vector<std::string> lines;
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() != kEqualizedKey) continue;
    std::string_view rest = entry.value();
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      if (end > 0) lines.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return equalized_from(lines);
}

std::unordered_set<std::string> names_in(const GraphProto& graph) {
  std::unordered_set<std::string> names;
  for (const auto& node : graph.node()) names.insert(node.output().begin(), node.output().end());
  for (const auto& input : graph.input()) names.insert(input.name());
  for (const auto& weights : graph.initializer()) names.insert(weights.name());
  return names;
}

// 2^-k of each channel, of values [N, C, H, W].
void add_factors(GraphProto& graph, const std::string& name, const std::vector<s8>& exponents) {
  auto& factors = *graph.add_initializer();
  factors.set_name(name);
  factors.set_data_type(dtype_to_onnx(Dtype::f32));
  for (const s64 dim : {s64{1}, static_cast<s64>(exponents.size()), s64{1}, s64{1}})
    factors.add_dims(dim);
  for (const s8 exponent : exponents) factors.add_float_data(std::ldexp(1.0f, -exponent));
}

}  // namespace

void add_network_values(ModelProto& model, const std::vector<std::string>& tensors) {
  const EqualizedValues equalized = equalized_values(model);
  if (equalized.empty()) return;
  GraphProto& graph = *model.mutable_graph();
  std::unordered_set<std::string> names = names_in(graph);
  const std::unordered_set<std::string> wanted(tensors.begin(), tensors.end());
  for (const auto& [name, exponents] : equalized) {
    const std::string plain = network_name(equalized, name);
    if (!names.contains(name) || !wanted.contains(plain) || !names.insert(plain).second) continue;
    std::string factors = plain + ".factors";
    while (!names.insert(factors).second) factors += '_';
    add_factors(graph, factors, exponents);
    auto& node = *graph.add_node();
    node.set_op_type(std::string(find_op("Mul")->name));
    node.add_input(name);
    node.add_input(factors);
    node.add_output(plain);
  }
}

}  // namespace octet
