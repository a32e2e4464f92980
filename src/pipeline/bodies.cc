// SPDX-License-Identifier: Apache-2.0
#include "pipeline/bodies.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "graph/bodies.h"
#include "graph/node_types.h"
#include "graph/op_traits.h"
#include "graph/verify.h"
#include "ops/attributes/bodies.h"
#include "ops/shared/control_flow.h"
#include "passes/infer_types.h"

namespace octet {
namespace {

// More are left as they are: each costs its own walk through all passes.
constexpr size_t kMostBodies = 256;

// Other operators of our own compute with reals: Interpolate.
bool computes_codes(const Node& node) { return node.op->traits->codes != CodeMeaning::unknown; }

// As BodyRuns asks: a Gemm too, which only the passes make a product of codes.
bool is_product(const Node& node) { return node.op->traits->macs != nullptr; }

// Whether a node of the graph, or of a body in it, is such.
bool any_inside(const Graph& graph, bool (*is_such)(const Node&)) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    if (is_such(node)) return true;
    return std::ranges::any_of(
        bodies_of(node), [&](const NamedBody& body) { return any_inside(*body.graph, is_such); });
  });
}

// Constants that bodies capture become their own: weights are seen as such, and packed once.
void give_constants(Graph& graph, Node& node, std::vector<Graph>& bodies) {
  const size_t first = first_capture(node);
  const std::vector<ValueId> outer = node.inputs;
  const auto stays = [&](size_t i) { return i < first || !graph.is_constant(outer[i]); };
  for (Graph& body : bodies) {
    // Captures are the last inputs of both.
    const std::vector<ValueId> inner = std::exchange(body.inputs, {});
    for (size_t at = 0; at < inner.size(); ++at) {
      const size_t from_end = inner.size() - at;
      if (from_end > outer.size() || stays(outer.size() - from_end)) {
        body.inputs.push_back(inner[at]);
        continue;
      }
      Value& value = body.value(inner[at]);
      value.constant = graph.value(outer[outer.size() - from_end]).constant;
      value.type = value.constant.type();
    }
  }
  node.inputs.clear();
  for (size_t i = 0; i < outer.size(); ++i) {
    if (stays(i)) node.inputs.push_back(outer[i]);
  }
  const auto given = static_cast<s64>(outer.size() - node.inputs.size());
  if (given > 0 && has_attribute<&ScanAttributes::captures>(node))
    set_attribute<&ScanAttributes::captures>(node.attrs,
                                             attribute_of<&ScanAttributes::captures>(node) - given);
}

// False where a type is not known.
bool give_types(const Graph& graph, const Node& node, std::vector<Graph>& bodies) {
  const std::vector<TensorType> types =
      types_inside(node, types_of(graph, node.inputs), types_of(graph, node.outputs));
  for (Graph& body : bodies) {
    if (types.size() != body.inputs.size()) return false;
    for (size_t i = 0; i < types.size(); ++i) {
      if (types[i].shape.is_unknown()) return false;
      body.value(body.inputs[i]).type = types[i];
    }
  }
  return true;
}

class Optimizer {
 public:
  Optimizer(Graph& graph, const PassOptions& options, const FloatModel& outer,
            std::vector<std::string>& notes)
      : graph_(graph), options_(options), outer_(outer), notes_(notes) {}

  std::vector<FloatBody> run() {
    bool typed = false;
    for (Node& node : graph_.nodes) {
      if (!has_body(node) || !multiplies(node) || found_.size() >= kMostBodies) continue;
      if (!typed) infer_types(graph_);
      typed = true;
      visit(node);
    }
    return std::move(found_);
  }

 private:
  static bool multiplies(const Node& node) {
    return std::ranges::any_of(bodies_of(node), [&](const NamedBody& body) {
      return any_inside(*body.graph, is_product) || any_inside(*body.graph, computes_codes);
    });
  }

  void visit(Node& node) {
    const std::vector<NamedBody> given = bodies_of(node);
    std::vector<Graph> bodies;
    for (const NamedBody& body : given) bodies.push_back(*body.graph);
    give_constants(graph_, node, bodies);
    const bool typed = give_types(graph_, node, bodies);
    if (!typed) note(node, "the types of what it is given are not known before the run");
    for (size_t i = 0; i < bodies.size(); ++i) {
      const std::string_view name = given[i].name;
      const auto plain = std::make_shared<const Graph>(bodies[i]);
      set_body(node, name, typed ? optimized(node, name, std::move(bodies[i]), plain) : plain);
    }
  }

  GraphPtr optimized(const Node& node, std::string_view name, Graph body, const GraphPtr& plain) {
    auto model = std::make_shared<FloatModel>();
    model->place = fmt::format("{}{}.{}/", outer_.place, node.name, name);
    model->carries_qdq = outer_.carries_qdq;
    model->weight_codes = outer_.weight_codes;
    const std::vector<TensorType> given = types_of(body, body.inputs);
    try {
      run_passes(body, float_passes(), options_, nullptr);
      if (types_of(body, body.inputs) != given)
        fail(Error::Code::unsupported, "it works for one size alone");
      model->bodies = optimize_bodies(body, options_, *model, notes_);
    } catch (const Error& error) {
      if (error.code() == Error::Code::cancelled) throw;
      note(node, error.message());
      return plain;
    }
    model->graph = std::make_shared<const Graph>(std::move(body));
    found_.push_back({model});
    return model->graph;
  }

  void note(const Node& node, const std::string& why) {
    notes_.push_back(fmt::format("the body of {} stays in f32: {}", describe(node), why));
  }

  Graph& graph_;
  const PassOptions& options_;
  const FloatModel& outer_;
  std::vector<std::string>& notes_;
  std::vector<FloatBody> found_;
};

}  // namespace

std::vector<FloatBody> optimize_bodies(Graph& graph, const PassOptions& options,
                                       const FloatModel& outer, std::vector<std::string>& notes) {
  std::vector<FloatBody> bodies = Optimizer(graph, options, outer, notes).run();
  if (!bodies.empty()) verify(graph);
  return bodies;
}

std::vector<FloatBody> changed_bodies(const FloatModel& model,
                                      const std::function<void(FloatModel&)>& change) {
  std::vector<FloatBody> changed;
  for (const FloatBody& body : model.bodies) {
    auto copy = std::make_shared<FloatModel>(*body.model);
    copy->bodies = changed_bodies(*copy, change);
    change(*copy);
    changed.push_back({std::move(copy)});
  }
  return changed;
}

std::vector<const FloatModel*> with_bodies(const FloatModel& model) {
  std::vector<const FloatModel*> all = {&model};
  for (const FloatBody& body : model.bodies) {
    const auto inner = with_bodies(*body.model);
    all.insert(all.end(), inner.begin(), inner.end());
  }
  return all;
}

void replace_body(Graph& graph, const Graph* body, GraphPtr by) {
  for (Node& node : graph.nodes) {
    for (const NamedBody& own : bodies_of(node)) {
      if (own.graph.get() == body) set_body(node, own.name, by);
    }
  }
}

}  // namespace octet
