// SPDX-License-Identifier: Apache-2.0
#include "octet/nan_trace.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "core/check.h"
#include "graph/graph.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "inspect/compare/taps.h"
#include "ops/shared/dtypes.h"
#include "runtime/inside.h"
#include "runtime/model.h"

namespace octet {
namespace {

bool is_code_dtype(Dtype dtype) {
  return dtype == Dtype::u8 || dtype == Dtype::s8 || dtype == Dtype::u16 || dtype == Dtype::s16;
}

bool is_function(const Node& node) { return node.op->traits->function_of_reals != nullptr; }

// Calls f with each element of a real tensor, as f64.
template <class F>
void for_reals(const Tensor& tensor, const F& f) {
  if (!tensor || !is_real(tensor.dtype())) return;
  visit_real(tensor.dtype(), [&]<class T>() {
    for (const T x : tensor.as<T>()) f(static_cast<f64>(static_cast<Wide<T>>(x)));
  });
}

struct Counted {
  s64 count = 0;
  s64 first = -1;
};

template <class Test>
Counted count_of(const Tensor& tensor, const Test& test) {
  Counted counted;
  s64 at = 0;
  for_reals(tensor, [&](f64 x) {
    if (test(x) && counted.count++ == 0) counted.first = at;
    ++at;
  });
  return counted;
}

Counted nans(const Tensor& tensor) {
  return count_of(tensor, [](f64 x) { return std::isnan(x); });
}
Counted infinities(const Tensor& tensor) {
  return count_of(tensor, [](f64 x) { return std::isinf(x); });
}

std::vector<int64_t> index_of(const Shape& shape, s64 element) {
  std::vector<int64_t> index(static_cast<size_t>(shape.rank()));
  for (int i = shape.rank() - 1; i >= 0; --i) {
    index[static_cast<size_t>(i)] = element % shape[i];
    element /= shape[i];
  }
  return index;
}

// Values of a run: inputs of the engine, and what layers compute.
using Values = std::unordered_map<ValueId, Tensor>;

class Tracer {
 public:
  Tracer(const Graph& graph, const Values& values) : graph_(graph), values_(values) {}

  NanTrace trace() {
    for (const ValueId id : graph_.inputs) look_at(nullptr, id, values_.at(id));
    for (const Node& node : graph_.nodes) {
      for (const ValueId id : node.outputs) {
        if (const auto value = values_.find(id); value != values_.end())
          look_at(&node, id, value->second);
      }
      look_at_codes(node);
    }
    return std::move(trace_);
  }

 private:
  // `node`: null for inputs of the engine.
  void look_at(const Node* node, ValueId id, const Tensor& tensor) {
    const Counted nan = nans(tensor), infinite = infinities(tensor);
    if (nan.count > 0 && !trace_.nan) trace_.nan = origin(node, id, tensor, nans);
    if (infinite.count > 0 && !trace_.infinity)
      trace_.infinity = origin(node, id, tensor, infinities);
  }

  // What becomes of NaN in a node that writes codes.
  void look_at_codes(const Node& node) {
    const auto gives_codes = [&](ValueId id) {
      return id != kNoValue && is_code_dtype(graph_.value(id).type.dtype);
    };
    const auto input = values_.find(node.input(0));
    if (input == values_.end() || std::ranges::none_of(node.outputs, gives_codes)) return;
    Tensor real = input->second;
    if (is_function(node)) {
      // The function's result is nowhere but in the kernel.
      real = eval_node(node.op->traits->function_of_reals(node), {&real, 1})[0];
      look_at(&node, node.outputs[0], real);
    }
    const s64 count = nans(real).count;
    if (count > 0 && trace_.quantized == 0) trace_.quantizing_layer = node.name;
    trace_.quantized += count;
  }

  NotFiniteOrigin origin(const Node* node, ValueId id, const Tensor& tensor,
                         Counted (*count)(const Tensor&)) const {
    const Counted counted = count(tensor);
    NotFiniteOrigin origin;
    origin.value = graph_.value(id).name;
    origin.element = index_of(tensor.shape(), counted.first);
    origin.count = counted.count;
    origin.elements = tensor.elements();
    if (node == nullptr) return origin;
    origin.layer = node->name;
    origin.op =
        is_function(*node) ? node->op->traits->function_of_reals(*node).op->name : node->op->name;
    for (const ValueId input : node->inputs) {
      if (!graph_.is_constant(input) || count(graph_.value(input).constant).count == 0) continue;
      origin.constant = graph_.value(input).name;
      break;
    }
    return origin;
  }

  const Graph& graph_;
  const Values& values_;
  NanTrace trace_;
};

// In the order of execution.
std::vector<ValueId> computed_reals(const Graph& graph) {
  std::vector<ValueId> ids;
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.outputs) {
      if (id != kNoValue && !graph.is_constant(id) && graph.value(id).type.dtype == Dtype::f32)
        ids.push_back(id);
    }
  }
  return ids;
}

void run_tapped(const Engine& engine, std::span<const Tensor> inputs, const TraceOptions& options,
                Values& values) {
  const Graph& graph = Inside::model(engine).graph;
  const std::vector<ValueId> computed = computed_reals(graph);
  if (computed.empty()) return;
  std::vector<std::string> names;
  for (const ValueId id : computed) names.push_back(graph.value(id).name);
  auto tapped = std::make_shared<Model>(Inside::model(engine));
  tapped->graph = tap_graph(graph, names);
  // With the weights as the engine's own contexts have packed them.
  Context context =
      Inside::context(std::move(tapped), {.threads = options.threads, .device = options.device},
                      Inside::store(engine));
  const std::vector<Tensor> results = context.run(inputs);
  for (size_t i = 0; i < computed.size(); ++i) values.emplace(computed[i], results[i]);
}

}  // namespace

NanTrace trace_nan(const Engine& engine, std::span<const Tensor> inputs,
                   const TraceOptions& options) {
  const Graph& graph = Inside::model(engine).graph;
  OCTET_CHECK(inputs.size() == graph.inputs.size());
  Values values;
  for (size_t i = 0; i < inputs.size(); ++i) values.emplace(graph.inputs[i], inputs[i]);
  run_tapped(engine, inputs, options, values);
  return Tracer(graph, values).trace();
}

bool may_hide_nan(const Engine& engine) {
  const Graph& graph = Inside::model(engine).graph;
  const std::vector<ValueId> ids = computed_reals(graph);
  const std::unordered_set<ValueId> computed(ids.begin(), ids.end());
  const auto gives_codes = [&](ValueId id) {
    return id != kNoValue && is_code_dtype(graph.value(id).type.dtype);
  };
  const auto hides = [&](const Node& node) {
    return is_function(node) ||
           (computed.contains(node.input(0)) && std::ranges::any_of(node.outputs, gives_codes));
  };
  const auto real = [&](ValueId id) { return is_real(graph.value(id).type.dtype); };
  return std::ranges::any_of(graph.nodes, hides) ||
         (std::ranges::none_of(graph.outputs, real) && !computed.empty());
}

bool any_not_finite(std::span<const Tensor> tensors) {
  return std::ranges::any_of(tensors, [](const Tensor& tensor) {
    return count_of(tensor, [](f64 x) { return !std::isfinite(x); }).count > 0;
  });
}

}  // namespace octet
