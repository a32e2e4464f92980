// SPDX-License-Identifier: Apache-2.0
#include "passes/check_declared.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "core/check.h"
#include "graph/bodies.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "graph/propagate.h"
#include "ops/shared/control_flow.h"
#include "passes/infer_types.h"

namespace octet {
namespace {

constexpr f64 kFoldedSteps = 1 << 24;   // as for a plan
constexpr s64 kFoldedBytes = 64 << 10;  // of a value inside of a body

bool is_one(const Shape& shape) {
  return shape.rank() <= 1 && shape.is_static() && shape.elements() == 1;
}

bool sizes_fit(const Shape& declared, const Shape& computed) {
  // Exporters say of a scalar that it is a list of one: tf2onnx of the round's number.
  if (is_one(declared) && is_one(computed)) return true;
  if (declared.rank() != computed.rank()) return false;
  for (int d = 0; d < declared.rank(); ++d) {
    if (declared[d] >= 0 && computed[d] >= 0 && declared[d] != computed[d]) return false;
  }
  return true;
}

std::string words(const DeclaredType& declared) {
  if (declared.known && declared.shape)
    return to_string(TensorType{*declared.known, *declared.shape});
  if (declared.known) return std::string(dtype_name(*declared.known));
  return declared.dtype + (declared.shape ? " of " + to_string(*declared.shape) : "");
}

// What is said of one graph's values, by what both samples of sizes compute.
class Checker {
 public:
  Checker(const Graph& graph, const SampledTypes& types, bool sizes)
      : graph_(graph), uses_(graph), types_(types), sizes_(sizes) {}

  void check(const DeclaredType& declared) const {
    const TensorType computed = type_of(declared.id);
    if (computed.shape.is_unknown()) return;  // only a run tells, the element type too
    if (!declared.dtype.empty() && declared.known != computed.dtype)
      fail(Error::Code::invalid_model, "{}; export the model again",
           contradiction(declared, computed));
    const bool from_data = types_.first.from_data[declared.id];
    if (!declared.shape || from_data || !sizes_) return;
    if (sizes_fit(*declared.shape, computed.shape)) return;
    fail_about("CompileOptions.input_shapes", Error::Code::invalid_model,
               "{}; export the model again, or give the shapes of its inputs, which overrule this",
               contradiction(declared, computed));
  }

 private:
  TensorType type_of(ValueId id) const {
    return either_type(types_.first.types[id], types_.second.types[id]);
  }

  std::string contradiction(const DeclaredType& declared, const TensorType& computed) const {
    const Value& value = graph_.value(declared.id);
    const s32 producer = uses_.producer(declared.id);
    return fmt::format("the file declares {} '{}' as {}, but {} gives {}",
                       declared.is_output ? "output" : "value", value.name, words(declared),
                       producer < 0 ? "it" : describe(graph_.nodes[static_cast<size_t>(producer)]),
                       to_string(computed));
  }

  const Graph& graph_;
  const Uses uses_;
  const SampledTypes& types_;
  bool sizes_;
};

// The main graph and the bodies in it, from outside inwards.
class Walk {
 public:
  Walk(std::span<const DeclaredType> declared, bool sizes) : sizes_(sizes) {
    for (const DeclaredType& type : declared) of_graph_[type.body.get()].push_back(&type);
  }

  // `key` is the graph as the declarations name it.
  void check(const Graph& graph, const SampledTypes& types, const Graph* key) {
    if (const auto own = of_graph_.find(key); own != of_graph_.end()) {
      const Checker checker(graph, types, sizes_);
      for (const DeclaredType* type : own->second) checker.check(*type);
      of_graph_.erase(own);
    }
    for (const Node& node : graph.nodes) {
      if (of_graph_.empty()) return;
      if (has_body(node)) check_bodies(node, types);
    }
  }

 private:
  void check_bodies(const Node& node, const SampledTypes& types) {
    for (const auto& [name, body] : bodies_of(node)) {
      const std::optional<SampledTypes> inside = types_in(*body, node, types);
      if (!inside) continue;
      try {
        check(*body, *inside, body.get());
      } catch (Error& error) {
        error.add_context(fmt::format("in '{}' of {}", name, describe(node)));
        throw;
      }
    }
  }

  // Nothing where the body does not fit what it is given: of the branches of an If only the one that is taken has to.
  std::optional<SampledTypes> types_in(const Graph& body, const Node& node,
                                       const SampledTypes& types) {
    try {
      return SampledTypes{propagate_body(body, node, types.first, 5),
                          propagate_body(body, node, types.second, 7)};
    } catch (const Error&) {
      return {};
    }
  }

  Propagated propagate_body(const Graph& body, const Node& node, const Propagated& around,
                            s64 sample) {
    const auto types_of = [&](std::span<const ValueId> ids) {
      std::vector<TensorType> types;
      for (ValueId id : ids) {
        types.push_back(id == kNoValue ? TensorType{} : around.types[id]);
        if (id != kNoValue && around.from_data[id]) types.back().shape = Shape::unknown();
      }
      return types;
    };
    const std::vector<TensorType> inputs = types_of(node.inputs);
    const std::vector<TensorType> inside = types_inside(node, inputs, types_of(node.outputs));
    std::vector<Tensor> known(inside.size());
    const size_t captures = node.inputs.size() - first_capture(node);
    OCTET_CHECK(captures <= known.size());
    for (size_t i = 0; i < captures; ++i)
      known[known.size() - captures + i] = around.known[node.inputs[first_capture(node) + i]];
    return propagate(body, inside, known,
                     {.sample = sample,
                      .fold_bytes = kFoldedBytes,
                      .keep_dequantize = true,
                      .keep_products = true,
                      .budget = &budget_});
  }

  std::map<const Graph*, std::vector<const DeclaredType*>> of_graph_;  // not yet checked
  bool sizes_;
  FoldingBudget budget_{kFoldedSteps};  // of all bodies
};

}  // namespace

void check_declared(Graph& graph, std::span<const DeclaredType> declared, bool sizes) {
  if (declared.empty()) return;
  FoldingBudget budget(kFoldedSteps);
  const SampledTypes types = infer_types(graph, {.keep_dequantize = true, .budget = &budget});
  Walk(declared, sizes).check(graph, types, nullptr);
}

}  // namespace octet
