// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/rounding.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_unary.h"
#include "backends/host/queue.h"
#include "backends/reference/reference.h"
#include "core/small_types.h"
#include "graph/graph_edit.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/marks.h"

namespace octet {

Precision rounding_of(const Node& node) {
  const std::string to = node.attrs.s(kRounds, "");
  return to == "f16" ? Precision::f16 : to == "bf16" ? Precision::bf16 : Precision::none;
}

int rounding_code(const Node& node) {
  const Precision to = rounding_of(node);
  return to == Precision::f16 ? 1 : to == Precision::bf16 ? 2 : 0;
}

UnaryFunction rounding_function(const Node& node, Isa isa) {
  const Precision to = rounding_of(node);
  if (to == Precision::none) return nullptr;
  return kernel_for(*find_unary(to == Precision::f16 ? "round_f16" : "round_bf16"), isa);
}

void round_in_place(UnaryFunction function, f32* values, s64 count) noexcept {
  if (function == nullptr) return;
  const UnaryArgs args{values, values, count, 0.0f, 0.0f};
  function(&args);
}

std::string rounding_note(const Node& node) {
  const Precision to = rounding_of(node);
  return to == Precision::none ? std::string() : fmt::format("rounds to {}", to_string(to));
}

namespace {

// Its producer, where that may round the result itself.
Node* rounder_of(Graph& graph, const Uses& uses, const Node& round) {
  const ValueId from = round.inputs[0];
  const s32 n = uses.producer(from);
  if (n < 0 || uses.only_consumer(from) < 0) return nullptr;
  Node& node = graph.nodes[static_cast<size_t>(n)];
  if (node.outputs.size() != 1 || !has_rounding_kernels(node.op->name)) return nullptr;
  // A layer that INT8 engines keep exact has a kernel of its own, which rounds nothing.
  const bool free =
      rounding_of(node) == Precision::none && !attribute_of<&ExactAttributes::exact>(node);
  return free ? &node : nullptr;
}

template <class Half>
void round_elements(std::byte* data, s64 count) {
  auto* values = reinterpret_cast<f32*>(data);
  for (s64 i = 0; i < count; ++i) values[i] = static_cast<f32>(Half(values[i]));
}

}  // namespace

void join_roundings(Graph& graph) {
  const Uses uses(graph);
  std::vector<u32> erased;
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    const Node& round = graph.nodes[n];
    if (round.op->name != "RoundTo") continue;
    Node* node = rounder_of(graph, uses, round);
    if (node == nullptr) continue;
    node->attrs.set(kRounds, std::string(dtype_name(attribute_of<&CastAttributes::to>(round))));
    node->outputs = round.outputs;
    erased.push_back(n);
  }
  erase_nodes(graph, std::move(erased));
}

Candidate rounding_reference(const LowerRequest& request) {
  Candidate candidate = reference_candidate(request);
  const Precision to = rounding_of(request.node);
  if (to == Precision::none || request.outputs[0].dtype != Dtype::f32) return candidate;
  candidate.note = rounding_note(request.node);
  const s64 count = request.outputs[0].shape.elements();
  candidate.bind = [exact = candidate.bind, to, count](const BindArgs& bind) -> RunStep {
    return [run = exact(bind), to, count](const StepArgs& step) {
      run(step);
      to == Precision::f16 ? round_elements<f16>(step.outputs[0], count)
                           : round_elements<bf16>(step.outputs[0], count);
    };
  };
  return candidate;
}

}  // namespace octet
