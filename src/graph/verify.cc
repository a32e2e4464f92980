// SPDX-License-Identifier: Apache-2.0
#include "graph/verify.h"

#include <algorithm>

#include "core/check.h"
#include "graph/op_traits.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;
constexpr auto kInput = [] { return std::string_view("a graph input"); };
constexpr auto kOutput = [] { return std::string_view("a graph output"); };

class Verifier {
 public:
  Verifier(const Graph& graph, int depth)
      : graph_(graph), depth_(depth), defined_(graph.value_count(), false) {}

  void run() {
    for (ValueId id = 0; id < graph_.value_count(); ++id) check_constant(id);
    for (ValueId id : graph_.inputs) {
      in_range(id, kInput);
      define(id, kInput);
    }
    for (const Node& node : graph_.nodes) check_node(node);
    for (ValueId id : graph_.outputs) {
      in_range(id, kOutput);
      if (!defined_[id]) {
        fail(kInvalid, "graph output '{}' is never produced", graph_.value(id).name);
      }
    }
  }

 private:
  // `what` puts the place into words when there is something to say: nodes are many, and verified after each pass.
  template <class Words>
  void in_range(ValueId id, const Words& what) const {
    if (id < graph_.value_count()) return;
    fail(kInvalid, "{} refers to value {} of {}", what(), id, graph_.value_count());
  }

  template <class Words>
  void define(ValueId id, const Words& what) {
    if (defined_[id]) {
      fail(kInvalid, "value '{}' has two producers, the second is {}", graph_.value(id).name,
           what());
    }
    defined_[id] = true;
  }

  void check_constant(ValueId id) {
    const Value& value = graph_.value(id);
    if (!value.constant) return;
    if (value.constant.type() != value.type) {
      fail(kInvalid, "constant '{}' is declared {} but holds {}", value.name, to_string(value.type),
           to_string(value.constant.type()));
    }
    defined_[id] = true;
  }

  static void check_arity(const Node& node, const char* what, size_t count, const Arity& arity) {
    const bool enough = count >= static_cast<size_t>(arity.min);
    const bool bounded = arity.max < 0 || count <= static_cast<size_t>(arity.max);
    if (enough && bounded) return;
    const std::string limit = arity.max < 0 ? "or more" : ".." + std::to_string(arity.max);
    fail(kInvalid, "{} needs {}{} {}, has {}", describe(node), arity.min, limit, what, count);
  }

  void check_node(const Node& node) {
    if (node.op == nullptr) fail(kInvalid, "node '{}' has no operator", node.name);
    check_arity(node, "inputs", node.inputs.size(), node.op->inputs);
    check_arity(node, "outputs", node.outputs.size(), node.op->outputs);
    try {
      check_runnable(node);
    } catch (Error& error) {
      error.add_context(describe(node));
      throw;
    }
    if (node.outputs.size() == 1 && node.op->outputs.max == 1 && node.outputs[0] == kNoValue)
      fail(kInvalid, "{}: its only output is omitted", describe(node));
    const auto this_node = [&] { return describe(node); };
    for (ValueId id : node.inputs) {
      if (id == kNoValue) continue;
      in_range(id, this_node);
      if (!defined_[id]) {
        fail(kInvalid, "{} reads '{}' before it is produced", describe(node),
             graph_.value(id).name);
      }
    }
    for (ValueId id : node.outputs) {
      if (id == kNoValue) continue;
      in_range(id, this_node);
      define(id, this_node);
    }
    if (node.op->traits->verify != nullptr) node.op->traits->verify(graph_, node);
    for (const auto& [key, value] : node.attrs.entries()) {
      if (const GraphPtr* body = std::get_if<GraphPtr>(&value)) check_body(node, key, *body);
    }
  }

  void check_body(const Node& node, const std::string& key, const GraphPtr& body) const try {
    if (body == nullptr) fail(kInvalid, "the body is missing");
    if (depth_ + 1 >= kMaxGraphDepth) {
      fail(kInvalid, "graphs are nested deeper than {}", kMaxGraphDepth);
    }
    Verifier(*body, depth_ + 1).run();
  } catch (Error& error) {
    error.add_context("in '" + key + "' of " + describe(node));
    throw;
  }

  const Graph& graph_;
  int depth_;
  std::vector<bool> defined_;
};

}  // namespace

void verify(const Graph& graph) { Verifier(graph, 0).run(); }

}  // namespace octet
