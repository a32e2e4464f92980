// SPDX-License-Identifier: Apache-2.0
// A dynamic graph for concrete input sizes: every type known, every value that follows from sizes alone a constant.
#include "core/check.h"
#include "graph/op_def.h"
#include "graph/propagate.h"
#include "graph/verify.h"
#include "plan/own_attributes.h"
#include "plan/plan.h"

namespace octet {

void check_input_shapes(const Graph& graph, std::span<const Shape> shapes) {
  constexpr auto kCode = Error::Code::invalid_argument;
  if (shapes.size() != graph.inputs.size()) {
    fail(kCode, "the model has {} inputs, got {}", graph.inputs.size(), shapes.size());
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Value& value = graph.value(graph.inputs[i]);
    const Shape& expected = value.type.shape;
    // Of a body's inputs a run may be the first to know the rank.
    const bool open = expected.is_unknown();
    bool fits = shapes[i].is_static() && (open || shapes[i].rank() == expected.rank());
    for (int d = 0; fits && !open && d < expected.rank(); ++d)
      fits = expected[d] < 0 || expected[d] == shapes[i][d];
    if (!fits) {
      fail(kCode, "input '{}' expects {}, got {}", value.name, to_string(expected),
           to_string(shapes[i]));
    }
  }
}

namespace {

void require_known_types(const Graph& graph, const Propagated& facts) {
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (facts.reasons[n].empty()) continue;
    throw NeedsData(fmt::format("{}: {}; its result", describe(graph.nodes[n]), facts.reasons[n]),
                    0);
  }
}

}  // namespace

Graph specialize(const Graph& graph, std::span<const Shape> input_shapes) {
  check_input_shapes(graph, input_shapes);
  PropagateOptions options;
  options.keep_products = true;
  const Propagated facts = propagate(graph, input_shapes, options);
  require_known_types(graph, facts);
  Graph concrete = graph;
  erase_own_attributes(concrete);
  std::vector<u32> folded;
  for (u32 n = 0; n < concrete.nodes.size(); ++n) {
    bool all_known = true;
    for (ValueId id : concrete.nodes[n].outputs)
      all_known = all_known && (id == kNoValue || facts.known[id]);
    if (all_known) folded.push_back(n);
  }
  for (ValueId id = 0; id < concrete.value_count(); ++id) {
    concrete.value(id).type = facts.types[id];
    if (facts.known[id]) concrete.value(id).constant = facts.known[id];
  }
  erase_nodes(concrete, folded);
  remove_dead_nodes(concrete);
  return concrete;
}

}  // namespace octet
