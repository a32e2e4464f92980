// SPDX-License-Identifier: Apache-2.0
#include "plan/growing_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "graph/op_traits.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/moves.h"
#include "ops/attributes/normalization.h"
#include "ops/attributes/reduction.h"
#include "ops/quantized/zero_points.h"
#include "ops/registry.h"
#include "ops/shared/axes.h"
#include "ops/shared/axis_of.h"
#include "plan/growing_rows.h"
#include "plan/growing_values.h"
#include "plan/growing_zeros.h"

namespace octet {
namespace {

Tensor real_scalar(Dtype dtype, f32 value) {
  if (dtype == Dtype::f16) return Tensor::scalar(f16(value));
  if (dtype == Dtype::bf16) return Tensor::scalar(bf16(value));
  return Tensor::scalar(value);
}

class GrowingWriter {
 public:
  GrowingWriter(const Graph& from, const GrowingLengths& lengths, std::span<const Cache> caches,
                s64 added)
      : from_(from),
        at_(lengths),
        caches_(caches),
        to_(from, lengths, added),
        zeros_(lengths, from.value_count()) {}

  Graph write() {
    for (u32 n = 0; n < from_.nodes.size(); ++n) {
      const Node& node = from_.nodes[n];
      const bool settled = std::ranges::all_of(node.outputs, [&](ValueId id) {
        return at_.is_settled(id) || at_.dependence(id) == Dependence::affine;
      });
      if (!settled) write_node(n);
    }
    for (const ValueId id : from_.outputs) {
      if (at_.dependence(id) == Dependence::affine)
        throw GrowingRefused{
            fmt::format("output '{}' follows from the length", from_.value(id).name)};
      to_.give(to_.operand(id));
    }
    return to_.finish();
  }

 private:
  void write_node(u32 index) {
    const Node& node = from_.nodes[index];
    const auto many = [&](ValueId id) { return at_.axis(id) == GrowingLengths::kManyAxes; };
    if (std::ranges::any_of(node.outputs, many))
      refuse_growing(node, "has a result that grows along more than one axis");
    for (const Cache& cache : caches_) {
      if (cache.node == index) return write_cache(node, cache);
    }
    const GrowingRule rule = growing_rules(*node.op).rows;
    const auto grows = [&](ValueId id) { return at_.grows(id); };
    const bool concerned =
        std::ranges::any_of(node.inputs, grows) || std::ranges::any_of(node.outputs, grows);
    if (!concerned && rule != GrowingRule::cuts) return to_.copy(node);
    for (const ValueId id : node.inputs) {
      for (const Cache& cache : caches_) {
        if (from_.inputs[cache.input] == id)
          refuse_growing(node, "reads a cache beside the Concat that continues it");
      }
    }
    if (!node.outputs.empty() && has_body(node)) refuse_growing(node, "has a body");
    write_by(rule, node);
  }

  void write_by(GrowingRule rule, const Node& node) {
    switch (rule) {
      case GrowingRule::none:
        refuse_growing(node, "has no form for rows that are not in use");
      case GrowingRule::elements:
        to_.copy(node);
        break;
      case GrowingRule::moves:
        write_move(node);
        break;
      case GrowingRule::turns:
      case GrowingRule::expands:
        to_.copy_sized(node);
        break;
      case GrowingRule::product:
        write_product(node);
        break;
      case GrowingRule::softmax:
        write_softmax(node);
        break;
      case GrowingRule::others:
        check_apart(at_, node, attribute_of<&RowNormAttributes::axis>(node), false);
        to_.copy(node);
        break;
      case GrowingRule::splits:
        check_apart(at_, node, attribute_of<&SplitAttributes::axis>(node), true);
        to_.copy_sized(node);
        break;
      case GrowingRule::reduces:
        if (!at_.grows(node.outputs[0])) refuse_growing(node, "reduces rows that grow");
        to_.copy(node);
        break;
      case GrowingRule::sums:
        if (attribute_of<&CumulativeAttributes::reverse>(node))
          refuse_growing(node, "adds up from the last row on");
        to_.copy(node);
        break;
      case GrowingRule::picks:
        write_gather(node);
        break;
      case GrowingRule::cuts:
        write_slice(node);
        break;
      case GrowingRule::joins:
        write_concat(node);
        break;
      case GrowingRule::scatters:
        if (!scatters_to_own_rows(at_, node))
          refuse_growing(node, "writes rows to the places of others");
        to_.copy(node);
        break;
      case GrowingRule::sizes:
        refuse_growing(node, "has a size that is not known before the run");
    }
    zeros_.pass_on(node);
  }

  // Rows that are not in use become zeros that are no part of any sum.
  void write_cache(const Node& node, const Cache& cache) {
    if (node.inputs.size() != 2 || at_.grows(node.inputs[1]))
      refuse_growing(node, "joins more than a cache and new rows");
    Node append = node;
    append.op = find_op("CacheAppend");
    append.inputs = {node.inputs[0], to_.operand(node.inputs[1]), to_.length()};
    append.attrs = {};
    set_attribute<&CacheAppendAttributes::axis>(append.attrs, cache.axis);
    to_.write(std::move(append));
    zeros_.set(node.outputs[0], are_reals(at_.type(node.outputs[0]).dtype));
  }

  void write_move(const Node& node) {
    const ValueId from = node.inputs[0], to = node.outputs[0];
    const int axis = at_.axis(from), to_axis = at_.axis(to);
    if (axis < 0 || to_axis < 0 ||
        !keeps_rows(at_.type(from).shape, axis, at_.type(to).shape, to_axis))
      refuse_growing(node, "breaks up rows that grow");
    to_.copy_sized(node);
  }

  // A sum over rows needs zeros where they are not in use, on both sides: none may be an infinity.
  void write_product(const Node& node) {
    Node copied = to_.copy_of(node);
    if (!at_.grows(node.outputs[0])) {
      for (const size_t i : {size_t{0}, size_t{1}}) {
        const ValueId id = node.inputs[i];
        const int axis = at_.axis(id);
        if (axis < 0) refuse_growing(node, "sums over rows of one side alone");
        if (zeros_[id]) continue;
        const TensorType& type = at_.type(id);
        if (!are_reals(type.dtype))
          refuse_growing(node, "sums over codes of rows that are not in use");
        copied.inputs[i] = to_.filled(copied.inputs[i], type, axis, real_scalar(type.dtype, 0));
      }
    }
    for (size_t i = 2; i < node.inputs.size(); ++i) {
      if (at_.grows(node.inputs[i])) refuse_growing(node, "adds rows that grow");
    }
    to_.write(std::move(copied));
  }

  void write_softmax(const Node& node) {
    const ValueId x = node.inputs[0];
    const TensorType& type = at_.type(x);
    const int axis = at_.axis(x), rank = type.shape.rank();
    const auto [wanted, flat] = attributes_of<SoftmaxAttributes>(node);
    if (axis < 0 || (flat && wanted == rank)) refuse_growing(node, "has rows of an unknown shape");
    const int own = normalize_axis(wanted, rank);
    if (flat && own < rank - 1) refuse_growing(node, "makes one row of several axes");
    if (own != axis) return to_.copy(node);
    Node copied = to_.copy_of(node);
    TensorType reals = type;
    if (!are_reals(type.dtype)) {
      copied.inputs[0] = to_.dequantized(node, copied.inputs[0], type);
      reals.dtype = Dtype::f32;
      set_input_zero_point(copied, 0, 0);
    }
    constexpr f32 kHidden = -std::numeric_limits<f32>::infinity();
    copied.inputs[0] = to_.filled(copied.inputs[0], reals, axis, real_scalar(reals.dtype, kHidden));
    to_.write(std::move(copied));
    zeros_.set(node.outputs[0], true);
  }

  void write_gather(const Node& node) {
    const ValueId x = node.inputs[0], indices = node.inputs[1];
    const int rank = at_.type(x).shape.rank();
    const int along = axis_of(node, rank);
    if (at_.axis(x) == along && !count_from_first(at_, indices))
      refuse_growing(node, "picks rows of the axis that grows from its end on");
    Node copied = to_.copy_of(node);
    if (at_.axis(indices) >= 0 && !at_.is_settled(indices)) {
      const TensorType& type = at_.type(indices);
      const Tensor first =
          type.dtype == Dtype::s32 ? Tensor::scalar<s32>(0) : Tensor::scalar<s64>(0);
      copied.inputs[1] = to_.filled(copied.inputs[1], type, at_.axis(indices), first);
    }
    to_.write(std::move(copied));
  }

  // Rows from a place on that moves with the length are picked; all others are cut as from the longest.
  void write_slice(const Node& node) {
    bool settled = !at_.grows(node.inputs[0]);
    for (size_t i = 1; i < node.inputs.size(); ++i)
      settled = settled && at_.dependence(node.inputs[i]) == Dependence::fixed;
    if (settled) return to_.copy(node);
    const std::vector<Cut> cuts = cuts_of(at_, node);
    std::vector<Cut> moving;
    for (const Cut& cut : cuts) {
      if (cut.least != cut.most) moving.push_back(cut);
    }
    if (moving.empty()) return to_.copy_sized(node);
    if (moving.size() != cuts.size())
      refuse_growing(node, "cuts rows that move and others at once");
    write_picks(node, moving);
  }

  void write_picks(const Node& node, std::span<const Cut> moving) {
    ValueId x = to_.operand(node.inputs[0]);
    TensorType type = at_.type(node.inputs[0]);
    for (const Cut& cut : moving) {
      const s64 count = at_.type(node.outputs[0]).shape[cut.axis];
      std::vector<s64> numbers(static_cast<size_t>(count));
      std::iota(numbers.begin(), numbers.end(), cut.most - at_.most());
      const TensorType list{Dtype::s64, Shape{count}};
      const ValueId indices = to_.add(
          find_op("Add"), {to_.constant(Tensor::of<s64>(list.shape, numbers)), to_.length()}, list);
      type.shape[cut.axis] = count;
      Attrs attrs;
      set_attribute<&AxisAttributes::axis>(attrs, cut.axis);
      x = to_.add(find_op("Gather"), {x, indices}, type, attrs);
    }
    to_.last().outputs = node.outputs;
    to_.last().name = node.name;
    to_.last().origins = node.origins;
  }

  void write_concat(const Node& node) {
    const ValueId y = node.outputs[0];
    const int axis =
        normalize_axis(attribute_of<&ConcatAttributes::axis>(node), at_.type(y).shape.rank());
    if (at_.axis(y) == axis) refuse_growing(node, "joins rows to those that grow");
    to_.copy(node);
  }

  const Graph& from_;
  const GrowingLengths& at_;
  const std::span<const Cache> caches_;
  GrowingValues to_;
  GrowingZeros zeros_;
};

}  // namespace

void refuse_growing(const Node& node, std::string_view why) {
  throw GrowingRefused{fmt::format("{} {}", describe(node), why)};
}

Graph write_growing(const Graph& from, const GrowingLengths& lengths, std::span<const Cache> caches,
                    s64 added) {
  return GrowingWriter(from, lengths, caches, added).write();
}

}  // namespace octet
