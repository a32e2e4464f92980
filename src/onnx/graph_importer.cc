// SPDX-License-Identifier: Apache-2.0
#include "onnx/graph_importer.h"

#include <algorithm>
#include <set>

#include "core/check.h"
#include "graph/op_traits.h"
#include "graph/verify.h"
#include "octet/closest.h"
#include "onnx/attribute_reader.h"
#include "onnx/attribute_values.h"
#include "onnx/declared.h"
#include "onnx/inputs.h"
#include "onnx/support.h"
#include "onnx/text.h"
#include "onnx/topology.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

using octet_onnx::NodeProto;
using octet_onnx::TensorProto;

constexpr size_t kMaxProblems = 100;

// False only while problems are collected: else the support check has thrown.
bool is_known(const FlatNode& node) {
  const bool known = is_constant_node(*node.proto) || op_of(*node.proto) != nullptr;
  return known && node.opsets->contains(canonical_domain(node.proto->domain()));
}

void trim(std::vector<ValueId>& ids) {
  while (!ids.empty() && ids.back() == kNoValue) ids.pop_back();
}

// Older opsets gave as attributes what are inputs in the canonical form: parse adds those. Other domains have one version.
int parsed_min(const OpDef& op) {
  return op.parse != nullptr && op.domain.empty() ? std::min(op.inputs.min, 1) : op.inputs.min;
}

// ONNX Runtime's operators are read as ONNX's; those of plugins name attributes as they like.
bool names_attributes_as_onnx(const OpDef& op) {
  return op.domain.empty() || op.domain == "com.microsoft";
}

void check_arity(const Node& node, int min_inputs) {
  const auto check = [&](std::span<const ValueId> ids, Arity arity, std::string_view what) {
    const auto has = static_cast<s64>(ids.size());
    if (has >= arity.min && (arity.max < 0 || has <= arity.max)) return;
    const std::string range = arity.max < 0 ? fmt::format("at least {}", arity.min)
                              : arity.max == arity.min
                                  ? fmt::format("{}", arity.min)
                                  : fmt::format("{}..{}", arity.min, arity.max);
    fail(Error::Code::invalid_model, "{} needs {} {}, has {}", node.op->name, range, what, has);
  };
  check(node.inputs, {min_inputs, node.op->inputs.max}, "inputs");
  check(node.outputs, node.op->outputs, "outputs");
}

}  // namespace

template <class Stage>
bool GraphImporter::attempt(Stage&& stage) {
  try {
    stage();
    return true;
  } catch (const Error& error) {
    // Of a body the first problem counts, as one of its node.
    std::vector<Error>* problems = parent_ == nullptr ? context_.options.problems : nullptr;
    if (problems == nullptr) throw;
    if (problems->size() < kMaxProblems) problems->push_back(error);
    return false;
  }
}

Graph GraphImporter::run() {
  graph_.name = clean_name(proto_.name());
  bool sound = declare_initializers();
  sound = attempt([&] { declare_inputs(); }) && sound;
  sound = attempt([&] { declare_node_outputs(); }) && sound;
  // A name that failed to be declared would be reported again by everyone who reads it.
  if (!sound) return {};
  std::vector<u32> order;
  if (!attempt([&] { order = sorted_nodes(); })) return {};
  for (u32 n : order) {
    if (is_known(nodes_[n])) attempt([&] { add_node(nodes_[n]); });
  }
  attempt([&] { bind_outputs(); });
  attempt([&] { note_declared(); });
  std::ranges::move(declared_, std::back_inserter(context_.info.declared));
  const auto* problems = context_.options.problems;
  if (problems == nullptr || problems->empty()) verify(graph_);
  return std::move(graph_);
}

Graph GraphImporter::run_body() {
  graph_.name = clean_name(proto_.name());
  declare_initializers();
  declare_body_inputs();
  declare_node_outputs();
  for (u32 n : sorted_nodes()) {
    // Listed already with all unsupported nodes; without it there is no body.
    if (!is_known(nodes_[n])) {
      fail(Error::Code::unsupported, "its body holds node {} ({}), which Octet lacks",
           quote_name(nodes_[n].name), quote_name(nodes_[n].proto->op_type()));
    }
    add_node(nodes_[n]);
  }
  bind_outputs();
  note_declared();
  remove_dead_nodes(graph_);
  lift_constants();
  drop_unread_captures();
  return std::move(graph_);
}

// Two things of one name break single assignment.
void GraphImporter::declare(const std::string& name, Symbol symbol, std::string_view what) {
  const auto [at, fresh] = symbols_.emplace(name, symbol);
  if (fresh) return;
  const auto words = [&](const Symbol& by, std::string_view otherwise) {
    return by.node == kNoNode ? std::string(otherwise)
                              : "node " + quote_name(nodes_[static_cast<size_t>(by.node)].name);
  };
  fail(Error::Code::invalid_model, "the value {} is produced twice: by {} and by {}",
       quote_name(name), words(at->second, "an input or initializer"), words(symbol, what));
}

std::string GraphImporter::checked_name(const std::string& name) {
  check_name_length(name);
  std::string clean = clean_name(name);
  if (clean != name)
    context_.info.warnings.push_back("the name " + quote_name(name) + " was cleaned");
  return clean;
}

bool GraphImporter::declare_initializers() {
  bool sound = true;
  for (TensorProto& proto : *proto_.mutable_initializer()) {
    sound &= attempt([&] {
      // Takes the payload out of `proto`: its name is read afterwards.
      Tensor tensor = context_.tensors.read(proto);
      declare_constant(proto.name(), std::move(tensor), "an initializer");
    });
  }
  for (auto& proto : *proto_.mutable_sparse_initializer()) {
    const std::string name = proto.values().name();
    sound &= attempt([&] {
      declare_constant(name, context_.tensors.read_sparse(proto), "a sparse initializer");
    });
  }
  return sound;
}

void GraphImporter::note_parameters(const Tensor& tensor) {
  if (tensor.dtype() == Dtype::s64 || tensor.dtype() == Dtype::boolean) return;
  context_.info.parameters += tensor.elements();
  context_.info.parameter_bytes += static_cast<s64>(tensor.bytes());
}

void GraphImporter::declare_constant(const std::string& name, Tensor tensor,
                                     std::string_view what) {
  if (name.empty()) fail(Error::Code::invalid_model, "{} has no name", what);
  // Declared before it is added, so that a second one is an error and not renamed.
  declare(name, {static_cast<ValueId>(graph_.value_count()), kNoNode}, what);
  note_parameters(tensor);
  graph_.add_constant(checked_name(name), std::move(tensor));
}

void GraphImporter::declare_inputs() {
  // Names of the model's own message, which outlives this: a file may list a million.
  std::unordered_set<std::string_view> seen;
  const auto count = static_cast<size_t>(proto_.input_size());
  seen.reserve(count);
  symbols_.reserve(symbols_.size() + count);
  graph_.inputs.reserve(count);
  std::set<std::string> given;
  for (const auto& [name, shape] : context_.options.input_shapes) given.insert(name);
  InputTypes types(context_.options.input_shapes, context_.info);
  for (const auto& proto : proto_.input()) {
    if (!seen.insert(proto.name()).second) {
      fail(Error::Code::invalid_model, "the graph input {} is listed twice",
           quote_name(proto.name()));
    }
    // An initializer of the same name is the input's default, which we take as the value.
    if (symbols_.contains(proto.name())) continue;
    if (proto.name().empty()) fail(Error::Code::invalid_model, "a graph input has no name");
    given.erase(proto.name());
    const ValueId id = graph_.add_value(checked_name(proto.name()), types.type_of(proto));
    declare(proto.name(), {id, kNoNode}, "a graph input");
    graph_.inputs.push_back(id);
  }
  if (!given.empty()) {
    std::vector<std::string> names;
    for (const ValueId id : graph_.inputs) names.push_back(graph_.value(id).name);
    fail(Error::Code::invalid_argument, "a shape is given for {}, which is no input of the model{}",
         quote_name(*given.begin()), did_you_mean(*given.begin(), names));
  }
}

void GraphImporter::declare_node_outputs() {
  symbols_.reserve(symbols_.size() + nodes_.size());
  node_names_.reserve(nodes_.size());
  for (size_t n = 0; n < nodes_.size(); ++n) {
    FlatNode& node = nodes_[n];
    for (const std::string& output : node.proto->output()) {
      if (output.empty()) continue;
      const Symbol symbol{static_cast<ValueId>(graph_.value_count()), static_cast<s32>(n)};
      declare(output, symbol, {});
      // Of what a body computes, each run may find another type.
      graph_.add_value(checked_name(output), parent_ == nullptr
                                                 ? TensorType{}
                                                 : TensorType{Dtype::f32, Shape::unknown()});
    }
  }
}

const GraphImporter::Symbol* GraphImporter::find(const std::string& name) {
  const auto at = symbols_.find(name);
  if (at != symbols_.end()) return &at->second;
  const Symbol* outer = parent_ == nullptr ? nullptr : parent_->find(name);
  return outer == nullptr ? nullptr : &capture(name, outer->id);
}

const GraphImporter::Symbol& GraphImporter::resolve(const std::string& name,
                                                    const FlatNode* reader) {
  if (const Symbol* symbol = find(name)) return *symbol;
  std::vector<std::string_view> names;
  for (const auto& [known, symbol] : symbols_) names.push_back(known);
  std::sort(names.begin(), names.end());
  const std::string_view near = nearest_name(name, names);
  fail(Error::Code::invalid_model, "{} reads {}, which nothing produces{}",
       reader == nullptr ? "the graph output list" : "node " + quote_name(reader->name),
       quote_name(name), near.empty() ? "" : "; the nearest name is " + quote_name(near));
}

std::vector<u32> GraphImporter::producers_for(const FlatNode& node) {
  std::vector<u32> producers;
  const auto depend = [&](const Symbol& symbol) {
    if (symbol.node != kNoNode) producers.push_back(static_cast<u32>(symbol.node));
  };
  for (const std::string& input : node.proto->input()) {
    if (!input.empty()) depend(resolve(input, &node));
  }
  for (const FlatBody& body : node.bodies) {
    // A name that nobody knows is reported where the body reads it.
    for (const std::string& name : free_names(body)) {
      if (const Symbol* symbol = find(name)) depend(*symbol);
    }
  }
  return producers;
}

std::vector<u32> GraphImporter::sorted_nodes() {
  std::vector<std::vector<u32>> depends_on;
  depends_on.reserve(nodes_.size());
  for (const FlatNode& node : nodes_) depends_on.push_back(producers_for(node));
  Order order = topological_order(depends_on);
  if (!order.cycle.empty()) fail_cycle(order.cycle);
  return std::move(order.nodes);
}

void GraphImporter::fail_cycle(const std::vector<u32>& cycle) const {
  constexpr size_t kShown = 10;
  std::string names;
  for (size_t i = 0; i < cycle.size() && i < kShown; ++i) {
    names += (i == 0 ? "" : " -> ") + quote_name(nodes_[cycle[i]].name);
  }
  if (cycle.size() > kShown) names += fmt::format(" -> ... ({} nodes)", cycle.size());
  fail(Error::Code::invalid_model, "the graph has a cycle: {} -> {}", names,
       quote_name(nodes_[cycle[0]].name));
}

void GraphImporter::add_node(FlatNode& flat) try {
  NodeProto& proto = *flat.proto;
  if (is_constant_node(proto)) {
    fold_constant(proto);
    return;
  }
  Node node;
  node.op = op_of(proto);
  node.name = unique_name(flat.name);
  node.origins = {clean_name(flat.name)};
  for (const std::string& input : proto.input()) node.inputs.push_back(id_of(input));
  for (const std::string& output : proto.output()) node.outputs.push_back(id_of(output));
  trim(node.inputs);
  trim(node.outputs);
  const Attrs bodies = add_bodies(flat, node);
  check_arity(node, parsed_min(*node.op));
  node.attrs = read_attributes(proto, context_.tensors);
  if (names_attributes_as_onnx(*node.op)) check_attribute_values(node.attrs);
  for (const auto& [name, value] : bodies.entries()) node.attrs.set(name, value);
  const std::string domain = canonical_domain(proto.domain());
  if ((is_quantize(node) || is_dequantize(node)) && node.input(2) == kNoValue)
    context_.info.default_zero_points.push_back(node.name);
  splice(std::move(node), static_cast<int>(flat.opsets->at(domain)));
} catch (Error& error) {
  error.add_context(fmt::format("importing node {} ({})", quote_name(flat.name),
                                quote_name(flat.proto->op_type())));
  throw;
}

ValueId GraphImporter::id_of(const std::string& name) const {
  return name.empty() ? kNoValue : symbols_.find(name)->second.id;
}

// Lets the operator bring the node to its canonical form, then puts the node and what it added into the graph.
void GraphImporter::splice(Node node, int opset) {
  std::vector<Node> before;
  std::vector<Node> after;
  check_float_attributes(node);  // `parse` makes constants of some
  if (node.op->parse != nullptr) {
    NodeParser parser(graph_, node, opset, before, after);
    node.op->parse(parser);
    if (parser.has_real_weights()) context_.info.real_weights.push_back(node.name);
    trim(node.inputs);
    check_arity(node, node.op->inputs.min);
  }
  for (Node& added : before) add_spliced(std::move(added));
  graph_.nodes.push_back(std::move(node));
  for (Node& added : after) add_spliced(std::move(added));
}

void GraphImporter::add_spliced(Node node) {
  node.name = unique_name(node.name);
  graph_.nodes.push_back(std::move(node));
}

std::string GraphImporter::unique_name(const std::string& wanted) {
  const std::string base = checked_name(wanted);
  if (node_names_.insert(base).second) return base;
  u64& n = name_counts_[base];
  for (;;) {
    std::string name = fmt::format("{}_{}", base, ++n);
    if (node_names_.insert(name).second) return name;
  }
}

void GraphImporter::fold_constant(NodeProto& proto) {
  Attrs attrs = read_attributes(proto, context_.tensors);
  if (proto.input_size() != 0 || proto.output_size() != 1 || attrs.entries().size() != 1) {
    fail(Error::Code::invalid_model,
         "Constant needs 0 inputs, 1 output and 1 attribute, has {}, {} and {}", proto.input_size(),
         proto.output_size(), attrs.entries().size());
  }
  Tensor tensor = constant_tensor(attrs);
  note_parameters(tensor);
  Value& constant = graph_.value(id_of(proto.output(0)));
  constant.type = tensor.type();
  constant.constant = std::move(tensor);
}

void GraphImporter::bind_outputs() {
  for (const auto& proto : proto_.output()) {
    graph_.outputs.push_back(resolve(proto.name(), nullptr).id);
  }
  if (graph_.outputs.empty()) fail(Error::Code::invalid_model, "the graph has no outputs");
}

void GraphImporter::note_declared() {
  const auto note = [&](const octet_onnx::ValueInfoProto& proto, bool is_output) {
    const auto at = symbols_.find(proto.name());
    if (at == symbols_.end()) return;
    auto declared = declared_type(proto, at->second.id);
    if (!declared) return;
    declared->is_output = is_output;
    declared_.push_back(std::move(*declared));
  };
  for (const auto& proto : proto_.input()) note(proto, false);
  for (const auto& proto : proto_.value_info()) note(proto, false);
  for (const auto& proto : proto_.output()) note(proto, true);
}

}  // namespace octet
