// SPDX-License-Identifier: Apache-2.0
// Which nodes of a graph are attention of reals, in whatever order their exporter wrote scales, casts and moves.
#include <algorithm>
#include <span>

#include "backends/cuda/families/attention_reals/attention_reals.h"
#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/halves.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/moved_view.h"

namespace octet::cuda {
namespace {

class Finder {
 public:
  Finder(const Graph& graph, const Uses& uses, RealAttentionNodes& found)
      : graph_(graph), uses_(uses), found_(found) {}

  bool find(u32 last) {
    if (!step_to_context(last)) return false;
    const ValueId shares = walk_shares(node(found_.context).inputs[0]);
    for (const u32 n : found_.rounding) {
      const bool rounds = is_rounding(graph_, node(n)) && !is_widening(graph_, node(n));
      if (rounds) found_.shares_rounding = static_cast<s32>(n);
    }
    const s32 softmax = producer(shares);
    if (softmax < 0 || node(static_cast<u32>(softmax)).op->name != "Softmax") return false;
    found_.softmax = static_cast<u32>(softmax);
    if (!walk_scores(node(found_.softmax).inputs[0])) return false;
    walk_operands();
    return true;
  }

 private:
  const Node& node(u32 n) const { return graph_.nodes[n]; }
  s32 producer(ValueId id) const { return id == kNoValue ? -1 : uses_.producer(id); }
  // Of what nobody else reads.
  s32 own_producer(ValueId id) const {
    return id != kNoValue && is_read_once(graph_, uses_, id) ? producer(id) : -1;
  }
  bool is_stored(ValueId id) const {
    const Dtype type = graph_.value(id).type.dtype;
    return type == Dtype::f16 || type == Dtype::bf16 || is_code(type);
  }
  bool is_scaling(const Node& node, std::string_view op) const {
    return node.op->name == op && code_scale_of(graph_, node).has_value();
  }
  bool is_product(const Node& node) const { return is_product_of_values(graph_, node); }
  // One value for one, or a part of it that a constant names.
  bool moves(const Node& node) const {
    if (!makes_views(node) || node.outputs.size() != 1) return false;
    return node.op->name != "Gather" || graph_.constant_input(node, 1) != nullptr;
  }

  bool step_to_context(u32 at) {
    while (!is_product(node(at))) {
      const Node& own = node(at);
      const bool turns = moves(own) && own.op->name != "Gather";
      const bool rounds = own.op->name == "RoundTo" || is_narrowing(graph_, own) ||
                          is_scaling(own, "QuantizeLinear");
      if (!turns && !rounds) return false;
      found_.end.push_back(at);
      const s32 from = own_producer(own.inputs[0]);
      if (from < 0) return false;
      at = static_cast<u32>(from);
    }
    found_.context = at;
    return true;
  }

  // Back to Softmax.
  ValueId walk_shares(ValueId id) {
    id = walk_rounding(id);
    const s32 where = own_producer(id);
    if (where < 0 || !is_guard(node(static_cast<u32>(where)))) return id;
    const ValueId guarded = node(static_cast<u32>(where)).inputs[2];
    const std::span<const u32> readers = uses_.consumers(guarded);  // IsNaN, and this
    if (uses_.is_output(guarded) || readers.size() != 2) return id;
    found_.guard.assign(readers.begin(), readers.end());
    const s32 from = producer(guarded);
    if (from < 0 || !is_rounding(graph_, node(static_cast<u32>(from)))) return guarded;
    found_.rounding.push_back(static_cast<u32>(from));
    return walk_rounding(node(static_cast<u32>(from)).inputs[0]);
  }

  // Where(IsNaN(x), 0, x).
  bool is_guard(const Node& where) const {
    if (where.op->name != "Where") return false;
    const Tensor* zero = graph_.constant_input(where, 1);
    const s32 test = own_producer(where.inputs[0]);
    const ValueId guarded = where.inputs[2];
    const auto shape = [&](ValueId id) { return graph_.value(id).type.shape; };
    return zero != nullptr && zero->dtype() == Dtype::f32 && test >= 0 &&
           node(static_cast<u32>(test)).op->name == "IsNaN" &&
           node(static_cast<u32>(test)).inputs[0] == guarded &&
           shape(where.outputs[0]) == shape(guarded) &&
           std::ranges::all_of(zero->as<f32>(), [](f32 x) { return x == 0.0f; });
  }

  ValueId walk_rounding(ValueId id) {
    for (s32 n; (n = own_producer(id)) >= 0;) {
      const Node& own = node(static_cast<u32>(n));
      if (!is_rounding(graph_, own) && !keeps_matrices(graph_, own)) break;
      found_.rounding.push_back(static_cast<u32>(n));
      id = node(static_cast<u32>(n)).inputs[0];
    }
    return id;
  }

  // From what Softmax reads back to the product of queries and keys.
  bool walk_scores(ValueId id) {
    id = walk_rounding(id);
    const s32 from = own_producer(id);
    if (from < 0) return false;
    const u32 n = static_cast<u32>(from);
    if (is_product(node(n))) {
      found_.scores = n;
      return true;
    }
    if (factor_of(graph_, node(n))) {
      (found_.mask < 0 ? found_.after_mask : found_.before_mask).push_back(n);
      return walk_scores(data_of(graph_, node(n)));
    }
    if (found_.mask >= 0) return false;
    if (node(n).op->name == "Where") return walk_chosen(n);
    return node(n).op->name == "Add" && node(n).inputs.size() == 2 && walk_masked(n);
  }

  // Scores, or one number in their place.
  bool walk_chosen(u32 where) {
    const Node& own = node(where);
    for (const size_t scores : {size_t{1}, size_t{2}}) {
      const Tensor* number = graph_.constant_input(own, 3 - scores);
      if (number == nullptr || number->elements() != 1) continue;
      found_.mask = static_cast<s32>(where), found_.masked = scores;
      return walk_scores(own.inputs[scores]);
    }
    return false;
  }

  bool walk_masked(u32 add) {
    for (size_t side = 0; side < 2; ++side) {
      const RealAttentionNodes before = found_;
      found_.mask = static_cast<s32>(add), found_.masked = side;
      if (walk_scores(node(add).inputs[side])) {
        const s32 n = own_producer(node(add).inputs[1 - side]);
        if (n >= 0 && is_widening(graph_, node(static_cast<u32>(n))))
          found_.mask_reads.push_back(static_cast<u32>(n));
        return true;
      }
      found_ = before;
    }
    return false;
  }

  // Nodes before a value up to one of 16 bits or of codes, the furthest; none where there is no such value.
  ValueId walk_moves(ValueId id, std::vector<u32>& nodes, bool scales) const {
    ValueId furthest = id;
    size_t kept = nodes.size();
    for (s32 from; (from = own_producer(id)) >= 0;) {
      const Node& own = node(static_cast<u32>(from));
      const bool passes = moves(own) || is_rounding(graph_, own) ||
                          is_scaling(own, "DequantizeLinear") ||
                          (scales && factor_of(graph_, own).has_value());
      if (!passes) break;
      nodes.push_back(static_cast<u32>(from));
      id = data_of(graph_, own);
      if (is_stored(id)) furthest = id, kept = nodes.size();
    }
    nodes.resize(kept);
    return furthest;
  }

  void walk_operands() {
    const Node &scores = node(found_.scores), &context = node(found_.context);
    std::array<ValueId, 3> from{};
    for (size_t i = 0; i < 3; ++i) {
      const ValueId id = i < 2 ? scores.inputs[i] : context.inputs[1];
      from[i] = walk_moves(id, found_.operands[i], i < 2);
    }
    const s32 split = producer(from[0]);
    if (split < 0 || producer(from[1]) != split || producer(from[2]) != split) return;
    const Node& own = node(static_cast<u32>(split));
    const bool whole = own.op->name == "Split" && own.outputs.size() == 3 &&
                       std::ranges::all_of(own.outputs, [&](ValueId id) {
                         return is_read_once(graph_, uses_, id);
                       });
    if (!whole || !is_stored(own.inputs[0])) return;
    found_.split.push_back(static_cast<u32>(split));
    walk_moves(own.inputs[0], found_.split, false);
  }

  const Graph& graph_;
  const Uses& uses_;
  RealAttentionNodes& found_;
};

}  // namespace

std::vector<u32> RealAttentionNodes::sorted() const {
  std::vector<u32> all{context, softmax, scores};
  if (mask >= 0) all.push_back(static_cast<u32>(mask));
  for (const std::vector<u32>* some :
       {&end, &rounding, &guard, &before_mask, &after_mask, &mask_reads, &operands[0], &operands[1],
        &operands[2], &split})
    all.insert(all.end(), some->begin(), some->end());
  std::ranges::sort(all);
  return all;
}

bool find_real_attention(const Graph& graph, const Uses& uses, u32 last,
                         RealAttentionNodes& found) {
  return Finder(graph, uses, found).find(last);
}

std::vector<u32> find_attention_reals(const Graph& graph, const Uses& uses, u32 last) {
  RealAttentionNodes found;
  if (!find_real_attention(graph, uses, last, found)) return {};
  std::vector<u32> nodes = found.sorted();
  // One operand as two: closed chains read each value once.
  return std::ranges::adjacent_find(nodes) == nodes.end() ? nodes : std::vector<u32>{};
}

}  // namespace octet::cuda
