// SPDX-License-Identifier: Apache-2.0
// What the forms of operators write into: names that are unique, nodes, initializers.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"
#include "onnx/onnx.pb.h"

namespace octet {

class ModelWriter {
 public:
  using Names = std::vector<std::string>;

  ModelWriter(const Graph& graph, s64 opset);

  const Graph& graph() const { return graph_; }
  s64 opset() const { return opset_; }
  std::string name_of(ValueId id) const {
    return id == kNoValue ? std::string() : graph_.value(id).name;
  }
  Names names_of(const std::vector<ValueId>& ids) const;
  // A name for a value that only the file has.
  std::string fresh_value(const std::string& wanted) { return fresh(values_, wanted); }
  // An f32 scalar under a fresh name.
  std::string scalar(const std::string& wanted, f32 value);
  // The same value for ints, of shape [n].
  std::string ints(const std::string& wanted, const std::vector<s64>& values);

  struct Call {
    std::string op;
    std::string name;
    Names inputs;
    Names outputs;
    Attrs attrs = {};
    std::string domain = "";
  };
  void add(const Call& call);
  // From here on, nodes are noted as such that stay real.
  void keep_float(bool keep) { keeps_ = keep; }
  const Names& kept_float() const { return kept_float_; }
  const Names& exact() const { return exact_; }
  void add_constants();
  void add_interface();
  octet_onnx::GraphProto take() { return std::move(proto_); }

 private:
  static std::string fresh(std::unordered_set<std::string>& taken, const std::string& wanted);
  void add_tensor(const std::string& name, const Tensor& tensor);

  const Graph& graph_;
  const s64 opset_;
  octet_onnx::GraphProto proto_;
  std::unordered_set<std::string> values_;
  std::unordered_set<std::string> nodes_;
  bool keeps_ = false;
  Names kept_float_;
  Names exact_;
};

// One node in standard operators.
void write_node(ModelWriter& writer, const Node& node);
// The oldest opset that has these operators.
s64 opset_of(const Graph& graph, const Node& node);
// Why standard operators cannot stand for the node; empty where they can.
std::string unwritable(const Graph& graph, const Node& node);

}  // namespace octet
