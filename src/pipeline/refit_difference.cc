// SPDX-License-Identifier: Apache-2.0
#include <map>
#include <string>
#include <utility>

#include "core/check.h"
#include "octet/refit.h"
#include "onnx/model_reader.h"
#include "onnx/text.h"

namespace octet {
namespace {

using octet_onnx::GraphProto;
using octet_onnx::NodeProto;
using octet_onnx::TensorProto;

// What a tensor is without its values.
std::string type_of(const TensorProto& tensor) {
  std::string text = fmt::format("type {} [", tensor.data_type());
  for (const s64 dim : tensor.dims()) text += fmt::format("{} ", dim);
  return text + "]";
}

std::map<std::string, std::string> weights_of(const GraphProto& graph) {
  std::map<std::string, std::string> found;
  for (const TensorProto& tensor : graph.initializer()) found[tensor.name()] = type_of(tensor);
  return found;
}

std::string weights_difference(const GraphProto& kept, const GraphProto& other) {
  const std::map<std::string, std::string> before = weights_of(kept), after = weights_of(other);
  for (const auto& [name, type] : before) {
    const auto found = after.find(name);
    if (found == after.end()) return fmt::format("it has no weights {}", quote_name(name));
    if (found->second != type)
      return fmt::format("its weights {} are of {}, and the engine's of {}", quote_name(name),
                         found->second, type);
  }
  for (const auto& entry : after) {
    if (!before.contains(entry.first))
      return fmt::format("the engine has no weights {}", quote_name(entry.first));
  }
  return {};
}

// A constant is a weight, too; a node's name says nothing.
std::string structure_of(NodeProto node) {
  node.clear_name();
  if (node.op_type() != "Constant") return node.SerializeAsString();
  for (octet_onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    const std::string type = attribute.has_t() ? type_of(attribute.t()) : std::string();
    const std::string name = attribute.name();
    attribute.Clear();
    attribute.set_name(name);
    attribute.set_s(type);
  }
  return node.SerializeAsString();
}

std::string nodes_difference(const GraphProto& kept, const GraphProto& other) {
  if (kept.node_size() != other.node_size())
    return fmt::format("it has {} nodes, and the engine's {}", other.node_size(), kept.node_size());
  for (int i = 0; i < kept.node_size(); ++i) {
    if (structure_of(kept.node(i)) != structure_of(other.node(i)))
      return fmt::format("node {} ({} {}) is another one", i, other.node(i).op_type(),
                         quote_name(other.node(i).name()));
  }
  return {};
}

std::string values_difference(const GraphProto& kept, const GraphProto& other) {
  const auto names = [](const auto& values) {
    std::string text;
    for (const auto& value : values) text += value.name() + "\n";
    return text;
  };
  // Elder models list their weights among the inputs.
  if (names(kept.input()) != names(other.input())) return "its inputs have other names";
  if (names(kept.output()) != names(other.output())) return "its outputs have other names";
  return {};
}

}  // namespace

std::string refit_difference(std::span<const std::byte> kept,
                             const std::filesystem::path& onnx_file) {
  const s64 max_bytes = default_max_bytes();
  const auto before = parse_model(kept, max_bytes);
  const auto after = parse_model(read_model_file(onnx_file, max_bytes), max_bytes);
  for (const auto& difference : {values_difference, weights_difference, nodes_difference}) {
    if (std::string found = difference(before.graph(), after.graph()); !found.empty()) return found;
  }
  return {};
}

}  // namespace octet
