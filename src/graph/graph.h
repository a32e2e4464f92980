// SPDX-License-Identifier: Apache-2.0
// The IR of every stage between import and plan: a list of nodes in topological order over single-assignment values.
// It knows operators only by pointer; what they mean lies in ops/.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/types.h"
#include "graph/attrs.h"
#include "octet/precision.h"
#include "octet/tensor.h"

namespace octet {

struct OpDef;  // graph/op_def.h

using ValueId = u32;
// An omitted optional input, and a node that does not exist.
inline constexpr ValueId kNoValue = std::numeric_limits<ValueId>::max();

// Per tensor: real = scale * (q - zero_point).
struct QuantParams {
  f32 scale = 1.0f;
  s32 zero_point = 0;
  bool operator==(const QuantParams&) const = default;
};

struct Value {
  std::string name;  // unique in the graph
  TensorType type;   // dimensions may be Shape::kDynamic until plan time
  Tensor constant;   // set for weights and folded values
  std::optional<QuantParams>
      quant;  // of quantized activations; what computes are the nodes' attributes, to which verify() holds this
};

// In which precision a node runs, and why.
struct Decision {
  Precision precision = Precision::none;
  ReasonCode code = ReasonCode::none;
  std::string reason = {};  // one sentence for the user, about this very node
};

struct Node {
  const OpDef* op = nullptr;
  std::string name;
  std::vector<ValueId> inputs;  // kNoValue where an optional input is omitted
  std::vector<ValueId> outputs;
  Attrs attrs;
  std::vector<std::string> origins;  // the ONNX nodes inside it, in graph order
  Decision decision;

  ValueId input(size_t i) const { return i < inputs.size() ? inputs[i] : kNoValue; }
};

// Control flow nests graphs; deeper ones are refused before they can exhaust the stack.
inline constexpr int kMaxGraphDepth = 64;

class Graph {
 public:
  std::string name;
  std::vector<Node> nodes;      // topological order
  std::vector<ValueId> inputs;  // values that a run binds
  std::vector<ValueId> outputs;

  // Adds a value; a name in use gets a numeric suffix.
  ValueId add_value(std::string_view name, TensorType type);
  ValueId add_constant(std::string_view name, Tensor tensor);

  size_t value_count() const { return values_.size(); }
  Value& value(ValueId id) { return values_[id]; }
  const Value& value(ValueId id) const { return values_[id]; }
  bool is_constant(ValueId id) const {
    return id != kNoValue && static_cast<bool>(values_[id].constant);
  }
  // The constant tensor of a node's input, or null.
  const Tensor* constant_input(const Node& node, size_t i) const;
  ValueId find_value(std::string_view name) const;  // kNoValue when absent; linear

  // Gives a value another name; false (and no change) when the name is taken.
  bool rename(ValueId id, std::string_view name);
  // Drops values that no node, input or output refers to. Value ids change.
  void compact();

 private:
  std::vector<Value> values_;
  std::unordered_set<std::string> names_;
};

// Who produces and who reads each value; valid until the graph's node list changes. It is made in one go, in time linear
// in the graph: passes ask it, and never search the graph for each node.
class Uses {
 public:
  explicit Uses(const Graph& graph);
  // Index of the producing node, or -1 for constants and graph inputs.
  s32 producer(ValueId id) const { return producer_[id]; }
  // The nodes that read `id`, each once, in graph order.
  std::span<const u32> consumers(ValueId id) const {
    return {readers_.begin() + first_reader_[id], readers_.begin() + first_reader_[id + 1]};
  }
  bool is_output(ValueId id) const { return is_output_[id]; }
  // The only reader of `id`, when it has exactly one and is not a graph output; else -1.
  s32 only_consumer(ValueId id) const;

 private:
  std::vector<s32> producer_;
  std::vector<u32> readers_;       // of all values, value by value
  std::vector<u32> first_reader_;  // of each value, in readers_; one more for the end
  std::vector<bool> is_output_;
};

// Removes nodes whose outputs nobody reads, and constants nobody reads become empty. Returns the number of nodes removed.
size_t remove_dead_nodes(Graph& graph);

// Removes the nodes at the given (possibly unsorted) indices.
void erase_nodes(Graph& graph, std::vector<u32> indices);

}  // namespace octet
