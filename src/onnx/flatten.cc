// SPDX-License-Identifier: Apache-2.0
#include "onnx/flatten.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/check.h"
#include "core/memory.h"
#include "graph/graph.h"
#include "onnx/text.h"

namespace octet {
namespace {

using octet_onnx::AttributeProto;
using octet_onnx::FunctionProto;
using octet_onnx::GraphProto;
using octet_onnx::NodeProto;

constexpr int kMaxDepth = 100;
constexpr s64 kMaxNodes = 5'000'000;
// A small file may not take minutes: so many nodes, and this many for each node that the file itself holds.
constexpr s64 kFreeNodes = 200'000;
constexpr s64 kGrowth = 4;
constexpr size_t kMaxBytes = size_t{1} << 30;  // of the copies, names with their prefixes included
constexpr s64 kBytesForByte = 2;               // of memory: names are kept by nodes and values

using FunctionKey = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

template <class Proto>
FunctionKey key_of(const Proto& proto, const std::string& name) {
  return {canonical_domain(proto.domain()), name, proto.overload()};
}

struct Function {
  const FunctionProto* proto = nullptr;
  const Opsets* opsets = nullptr;
  s64 nodes = -1;  // after expansion; -1: not measured
  int depth = 0;
  bool open = false;  // being measured
};

std::string node_name(const NodeProto& node, size_t index) {
  return node.name().empty() ? fmt::format("{}_{}", node.op_type(), index) : node.name();
}

// What the attributes of a function are for one call: the caller's, then the defaults.
class AttributeValues {
 public:
  AttributeValues(const NodeProto& call, const FunctionProto& function) {
    for (const AttributeProto& given : call.attribute()) values_.emplace(given.name(), &given);
    for (const AttributeProto& otherwise : function.attribute_proto()) {
      values_.emplace(otherwise.name(), &otherwise);
    }
  }

  const AttributeProto* find(const std::string& name) const {
    const auto at = values_.find(name);
    return at == values_.end() ? nullptr : at->second;
  }

 private:
  std::unordered_map<std::string_view, const AttributeProto*> values_;
};

auto& attributes_of(NodeProto& node) { return *node.mutable_attribute(); }
auto& attributes_of(const NodeProto& node) { return node.attribute(); }
auto& nodes_of(AttributeProto& attribute) { return *attribute.mutable_g()->mutable_node(); }
auto& nodes_of(const AttributeProto& attribute) { return attribute.g().node(); }

// Calls `visit` for each node in the bodies of `node`, but not for those inside of them.
template <class Node, class Visit>
void for_each_inner(Node& node, const Visit& visit) {
  for (auto& attribute : attributes_of(node)) {
    if (!attribute.has_g()) continue;
    for (auto& inner : nodes_of(attribute)) visit(inner);
  }
}

// A name that comes twice would stand for two values.
void check_names(const FunctionProto& proto) {
  for (const auto* names : {&proto.input(), &proto.output()}) {
    std::unordered_set<std::string_view> seen;
    for (const std::string& name : *names) {
      if (seen.insert(name).second) continue;
      fail(Error::Code::invalid_model, "model-local function {} has two {} of the name {}",
           quote_name(proto.name()), names == &proto.input() ? "inputs" : "outputs",
           quote_name(name));
    }
  }
}

// The model's own functions. Before any is expanded, all calls are measured: none is recursive, too deep, or of too many nodes.
class Functions {
 public:
  explicit Functions(s64 most_nodes) : most_nodes_(most_nodes) {}

  void add(const FunctionProto& proto, const Opsets& opsets) {
    check_names(proto);
    const Function function{.proto = &proto, .opsets = &opsets};
    if (!functions_.emplace(key_of(proto, proto.name()), function).second) {
      fail(Error::Code::invalid_model, "model-local function {} is defined twice",
           quote_name(proto.name()));
    }
  }

  const Function* find(const NodeProto& node) const {
    if (functions_.empty()) return nullptr;
    const auto at = functions_.find(key_of(node, node.op_type()));
    return at == functions_.end() ? nullptr : &at->second;
  }

  void measure_all(const GraphProto& graph) {
    s64 total = 0;
    for (const NodeProto& node : graph.node()) total += measure(node, 1);
    limit(total);
  }

 private:
  Function* found(const NodeProto& node) { return const_cast<Function*>(find(node)); }

  void limit(s64 nodes) const {
    if (nodes > most_nodes_) {
      fail(Error::Code::unsupported,
           "the model expands to more than {} nodes through its functions", most_nodes_);
    }
  }

  [[noreturn]] static void too_deep(const std::string& name) {
    fail(Error::Code::unsupported, "model-local functions call each other more than {} deep, at {}",
         kMaxDepth, name);
  }

  // How deep the functions go that `node` calls, itself or in a body; they are measured.
  int call_depth(const NodeProto& node) const {
    const Function* callee = find(node);
    int depth = callee != nullptr ? callee->depth + 1 : 0;
    for_each_inner(node,
                   [&](const NodeProto& inner) { depth = std::max(depth, call_depth(inner)); });
    return depth;
  }

  // Nodes that `node` becomes.
  s64 measure(const NodeProto& node, int depth) {
    Function* function = found(node);
    if (function == nullptr) {
      s64 total = 1;
      for_each_inner(node, [&](const NodeProto& inner) {
        total += measure(inner, depth);
        limit(total);
      });
      return total;
    }
    const std::string name = quote_name(node.op_type());
    if (function->open) fail(Error::Code::invalid_model, "recursive model-local function {}", name);
    if (function->nodes < 0) {
      if (depth > kMaxDepth) too_deep(name);
      function->open = true;
      s64 total = 0;
      for (const NodeProto& inner : function->proto->node()) {
        total += measure(inner, depth + 1);
        limit(total);
        function->depth = std::max(function->depth, call_depth(inner));
      }
      function->open = false;
      function->nodes = total;
    }
    if (depth + function->depth > kMaxDepth) too_deep(name);
    return function->nodes;
  }

  s64 most_nodes_;
  std::map<FunctionKey, Function> functions_;
};

// What the names inside of a function are outside of it, for one call.
class CallNames {
 public:
  CallNames(const NodeProto& call, const FunctionProto& function, const std::string& prefix)
      : prefix_(prefix) {
    for (int i = 0; i < function.input_size(); ++i) {
      outside_[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    }
  }

  // The outside name of an input that is an output as well: it needs a copy to get that output's.
  std::optional<std::string> bind_output(const std::string& inside, const std::string& outside) {
    const auto [at, fresh] = outside_.emplace(inside, outside);
    return fresh ? std::nullopt : std::optional(at->second);
  }

  // A body sees the names around it, so all of its own names move with them.
  void rename_all(NodeProto& node) const {
    for (std::string& input : *node.mutable_input()) rename(input);
    for (std::string& output : *node.mutable_output()) rename(output);
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) rename_all(*attribute.mutable_g());
    }
  }

 private:
  void rename_all(GraphProto& graph) const {
    for (auto& tensor : *graph.mutable_initializer()) rename(*tensor.mutable_name());
    for (auto& tensor : *graph.mutable_sparse_initializer()) {
      rename(*tensor.mutable_values()->mutable_name());
    }
    for (auto& input : *graph.mutable_input()) rename(*input.mutable_name());
    for (auto& output : *graph.mutable_output()) rename(*output.mutable_name());
    for (NodeProto& node : *graph.mutable_node()) rename_all(node);
  }

  void rename(std::string& name) const {
    if (name.empty()) return;
    const auto at = outside_.find(name);
    name = at != outside_.end() ? at->second : prefix_ + "/" + name;
  }

  const std::string& prefix_;  // of names that nothing outside has
  std::unordered_map<std::string, std::string> outside_;
};

// RepeatedPtrField::Add counts an element before it has memory for it, and would free what is not there.
void append(google::protobuf::RepeatedPtrField<AttributeProto>& list, AttributeProto value) {
  auto element = std::make_unique<AttributeProto>(std::move(value));
  list.Reserve(list.size() + 1);
  list.AddAllocated(element.release());
}

// Attributes that refer to the function's own take the caller's value, else the default, else go away.
void bind_attributes(NodeProto& node, const AttributeValues& values) {
  google::protobuf::RepeatedPtrField<AttributeProto> bound;
  for (AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.ref_attr_name().empty()) {
      append(bound, std::move(attribute));
      continue;
    }
    const AttributeProto* value = values.find(attribute.ref_attr_name());
    if (value == nullptr) continue;
    AttributeProto copy = *value;
    copy.set_name(attribute.name());
    append(bound, std::move(copy));
  }
  node.mutable_attribute()->Swap(&bound);
  for_each_inner(node, [&](NodeProto& inner) { bind_attributes(inner, values); });
}

size_t names_in(const NodeProto& node) {
  size_t names = static_cast<size_t>(node.input_size() + node.output_size()) + 1;
  for_each_inner(node, [&](const NodeProto& inner) { names += names_in(inner); });
  return names;
}

s64 most_nodes(const octet_onnx::ModelProto& model) {
  s64 in_file = model.graph().node_size();
  for (const FunctionProto& proto : model.functions()) in_file += proto.node_size();
  return std::min(kMaxNodes, kFreeNodes + kGrowth * in_file);
}

class Flattener {
 public:
  Flattener(octet_onnx::ModelProto& model, FlatGraph& flat)
      : model_(model), flat_(flat), functions_(most_nodes(model)) {}

  void run() {
    flat_.opsets.push_back(read_opsets(model_.opset_import()));
    for (const FunctionProto& proto : model_.functions()) {
      flat_.opsets.push_back(read_opsets(proto.opset_import()));
      functions_.add(proto, flat_.opsets.back());
    }
    functions_.measure_all(model_.graph());
    add_all(*model_.mutable_graph(), {&flat_.opsets[0], "", 0}, flat_.nodes);
  }

 private:
  // Where nodes stand.
  struct Place {
    const Opsets* opsets;
    std::string prefix;  // of node names
    int depth;           // graphs around this one
  };

  void add_all(GraphProto& graph, const Place& place, std::vector<FlatNode>& out) {
    size_t index = 0;
    for (NodeProto& node : *graph.mutable_node()) {
      std::string name = place.prefix + node_name(node, index++);
      charge(name.size(), name);
      add(node, {place.opsets, std::move(name), place.depth}, out);
    }
  }

  // `place.prefix` is the node's whole name.
  void add(NodeProto& node, const Place& place, std::vector<FlatNode>& out) {
    if (const Function* function = functions_.find(node)) {
      expand(node, *function, place, out);
      return;
    }
    FlatNode flat{&node, place.opsets, place.prefix, {}};
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      if (place.depth + 1 >= kMaxGraphDepth) {
        fail(Error::Code::unsupported, "graphs are nested deeper than {}, at node {}",
             kMaxGraphDepth, quote_name(place.prefix));
      }
      FlatBody body{attribute.name(), attribute.mutable_g(), {}};
      const std::string prefix = place.prefix + "/" + attribute.name() + "/";
      add_all(*body.proto, {place.opsets, prefix, place.depth + 1}, body.nodes);
      flat.bodies.push_back(std::move(body));
    }
    out.push_back(std::move(flat));
  }

  void expand(const NodeProto& call, const Function& function, const Place& place,
              std::vector<FlatNode>& out) {
    const std::string& prefix = place.prefix;
    const FunctionProto& proto = *function.proto;
    if (call.input_size() > proto.input_size() || call.output_size() > proto.output_size()) {
      fail(Error::Code::invalid_model,
           "node {} calls function {} with {} inputs and {} outputs, it has {} and {}",
           quote_name(prefix), quote_name(proto.name()), call.input_size(), call.output_size(),
           proto.input_size(), proto.output_size());
    }
    CallNames names(call, proto, prefix);
    for (int i = 0; i < proto.output_size() && i < call.output_size(); ++i) {
      if (call.output(i).empty()) continue;
      const auto input = names.bind_output(proto.output(i), call.output(i));
      if (input) add_copy(*input, call.output(i), prefix + "/" + proto.output(i), out);
    }
    const AttributeValues attributes(call, proto);
    size_t index = 0;
    for (const NodeProto& inner : proto.node()) {
      std::string name = prefix + "/" + node_name(inner, index++);
      charge(name.size() + inner.ByteSizeLong() + names_in(inner) * prefix.size(), name);
      flat_.expanded.push_back(inner);
      NodeProto& copy = flat_.expanded.back();
      names.rename_all(copy);
      bind_attributes(copy, attributes);
      add(copy, {function.opsets, std::move(name), place.depth}, out);
    }
  }

  void add_copy(const std::string& input, const std::string& output, const std::string& name,
                std::vector<FlatNode>& out) {
    NodeProto& copy = flat_.expanded.emplace_back();
    copy.set_op_type("Identity");
    copy.add_input(input);
    copy.add_output(output);
    out.push_back({&copy, &flat_.opsets[0], name, {}});
  }

  // Asked before bytes are taken for a node of this whole name.
  void charge(size_t bytes, const std::string& name) {
    check_name_length(name);
    bytes_ += bytes;
    if (bytes_ > kMaxBytes) {
      fail(Error::Code::unsupported,
           "the model's functions and bodies expand to more than {} bytes of nodes", kMaxBytes);
    }
    check_fits(kBytesForByte * static_cast<s64>(bytes_),
               "expanding the model's functions and bodies");
  }

  octet_onnx::ModelProto& model_;
  FlatGraph& flat_;
  Functions functions_;
  size_t bytes_ = 0;
};

}  // namespace

std::string canonical_domain(const std::string& domain) {
  return domain == "ai.onnx" ? "" : domain;
}

Opsets read_opsets(
    const google::protobuf::RepeatedPtrField<octet_onnx::OperatorSetIdProto>& imports) {
  Opsets opsets;
  for (const auto& import : imports) {
    const auto [at, fresh] = opsets.emplace(canonical_domain(import.domain()), import.version());
    if (!fresh && at->second != import.version()) {
      fail(Error::Code::invalid_model, "domain {} is imported with opsets {} and {}",
           quote_name(import.domain()), at->second, import.version());
    }
  }
  return opsets;
}

FlatGraph flatten(octet_onnx::ModelProto& model) {
  FlatGraph flat;
  Flattener(model, flat).run();
  return flat;
}

}  // namespace octet
