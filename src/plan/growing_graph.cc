// SPDX-License-Identifier: Apache-2.0
#include "plan/growing_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "graph/op_traits.h"
#include "ops/attributes/codes.h"
#include "ops/attributes/moves.h"
#include "ops/attributes/normalization.h"
#include "ops/attributes/reduction.h"
#include "ops/quantized/code_rows.h"
#include "ops/quantized/zero_points.h"
#include "ops/registry.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

constexpr std::string_view kLength = "octet.length";

Tensor integer_tensor(const std::vector<s64>& values, const Shape& shape) {
  return Tensor::of<s64>(shape, values);
}

Tensor real_scalar(Dtype dtype, f32 value) {
  if (dtype == Dtype::f16) return Tensor::scalar(f16(value));
  if (dtype == Dtype::bf16) return Tensor::scalar(bf16(value));
  return Tensor::scalar(value);
}

bool is_real(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}

// Where a Slice of one axis begins, with as many rows, for the least and the most length.
struct Cut {
  int axis = 0;
  s64 least = 0, most = 0;
};

class GrowingWriter {
 public:
  GrowingWriter(const Graph& from, const GrowingLengths& lengths, std::span<const Cache> caches,
                s64 added)
      : from_(from), at_(lengths), caches_(caches), added_(added), to_(from) {
    to_.nodes.clear();
    to_.outputs.clear();
    ends_in_zeros_.resize(from.value_count());
    length_ = to_.add_value(kLength, {Dtype::s64, {}});
    to_.inputs.push_back(length_);
  }

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
      to_.outputs.push_back(operand(id));
    }
    remove_dead_nodes(to_);
    return std::move(to_);
  }

 private:
  const std::string& name_of(ValueId id) const { return from_.value(id).name; }

  // A node of the graph's own.
  ValueId add(const OpDef* op, std::vector<ValueId> inputs, const TensorType& type,
              Attrs attrs = {}) {
    const ValueId result = to_.add_value(fmt::format("octet.growing.{}", op->name), type);
    Node node;
    node.op = op;
    node.name = to_.value(result).name;
    node.inputs = std::move(inputs);
    node.outputs = {result};
    node.attrs = std::move(attrs);
    to_.nodes.push_back(std::move(node));
    return result;
  }
  ValueId constant(Tensor tensor) {
    return to_.add_constant("octet.growing.constant", std::move(tensor));
  }

  // As the nodes of the growing graph read a value.
  ValueId operand(ValueId id) {
    if (id == kNoValue) return id;
    if (at_.dependence(id) == Dependence::affine) return affine(id);
    if (at_.is_settled(id) && !to_.value(id).constant) {
      to_.value(id).constant = at_.known(id);
      to_.value(id).type = at_.known(id).type();
    }
    return id;
  }

  // What it is for the longest run: sizes.
  ValueId size_operand(const Node& node, ValueId id) {
    if (id == kNoValue || at_.dependence(id) == Dependence::data || at_.is_settled(id))
      return operand(id);
    if (!at_.counts(id)) refuse_growing(node, "has sizes that do not grow evenly with the length");
    return constant(at_.known(id));
  }

  // base + slope * length
  ValueId affine(ValueId id) {
    const auto made = affine_.find(id);
    if (made != affine_.end()) return made->second;
    const std::vector<s64> slopes = at_.slopes(id);
    std::vector<s64> bases = at_.most_ints(id);
    for (size_t i = 0; i < bases.size(); ++i)
      bases[i] = static_cast<s64>(static_cast<u64>(bases[i]) -
                                  static_cast<u64>(slopes[i]) * static_cast<u64>(at_.most()));
    const TensorType type{Dtype::s64, at_.type(id).shape};
    const bool plain = std::ranges::all_of(slopes, [](s64 slope) { return slope == 1; });
    const ValueId grown =
        plain ? length_
              : add(find_op("Mul"), {constant(integer_tensor(slopes, type.shape)), length_}, type);
    ValueId result =
        add(find_op("Add"), {constant(integer_tensor(bases, type.shape)), grown}, type);
    if (at_.type(id).dtype == Dtype::s32) {
      Attrs attrs;
      set_attribute<&CastAttributes::to>(attrs, Dtype::s32);
      result = add(find_op("Cast"), {result}, at_.type(id), attrs);
    }
    affine_[id] = result;
    return result;
  }

  // Which rows of an axis with `behind` axes behind it are in use: [rows, 1, ...].
  ValueId in_use(s64 rows, int behind) {
    const auto made = in_use_.find({rows, behind});
    if (made != in_use_.end()) return made->second;
    if (limit_ == kNoValue)
      limit_ =
          add(find_op("Add"), {constant(Tensor::scalar<s64>(added_)), length_}, {Dtype::s64, {}});
    Shape shape{rows};
    for (int i = 0; i < behind; ++i) shape.push_back(1);
    std::vector<s64> numbers(static_cast<size_t>(rows));
    std::iota(numbers.begin(), numbers.end(), s64{0});
    const ValueId result = add(find_op("Less"), {constant(integer_tensor(numbers, shape)), limit_},
                               {Dtype::boolean, shape});
    in_use_[{rows, behind}] = result;
    return result;
  }

  // The value with another in rows that are not in use.
  ValueId filled(ValueId value, const TensorType& type, int axis, Tensor filling) {
    const ValueId used = in_use(type.shape[axis], type.shape.rank() - axis - 1);
    return add(find_op("Where"), {used, value, constant(std::move(filling))}, type);
  }

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
    if (!concerned && rule != GrowingRule::cuts) return copy(node);
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
        copy(node);
        break;
      case GrowingRule::moves:
        write_move(node);
        break;
      case GrowingRule::turns:
      case GrowingRule::expands:
        copy_sized(node);
        break;
      case GrowingRule::product:
        write_product(node);
        break;
      case GrowingRule::softmax:
        write_softmax(node);
        break;
      case GrowingRule::others:
        check_apart(node, attribute_of<&RowNormAttributes::axis>(node), false);
        copy(node);
        break;
      case GrowingRule::splits:
        check_apart(node, attribute_of<&SplitAttributes::axis>(node), true);
        copy_sized(node);
        break;
      case GrowingRule::reduces:
        if (!at_.grows(node.outputs[0])) refuse_growing(node, "reduces rows that grow");
        copy(node);
        break;
      case GrowingRule::sums:
        if (attribute_of<&CumulativeAttributes::reverse>(node))
          refuse_growing(node, "adds up from the last row on");
        copy(node);
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
        if (!scatters_to_own_rows(node))
          refuse_growing(node, "writes rows to the places of others");
        copy(node);
        break;
      case GrowingRule::sizes:
        refuse_growing(node, "has a size that is not known before the run");
    }
    if (!node.outputs.empty() && node.outputs[0] != kNoValue && keeps_zeros(node))
      ends_in_zeros_[node.outputs[0]] = true;
  }

  Node copy_of(const Node& node) {
    Node copied = node;
    for (ValueId& id : copied.inputs) id = operand(id);
    return copied;
  }
  void copy(const Node& node) { to_.nodes.push_back(copy_of(node)); }
  // All inputs but the first are sizes.
  void copy_sized(const Node& node) {
    Node copied = node;
    for (size_t i = 0; i < copied.inputs.size(); ++i)
      copied.inputs[i] = i == 0 ? operand(node.inputs[i]) : size_operand(node, node.inputs[i]);
    to_.nodes.push_back(std::move(copied));
  }

  // Rows that are not in use become zeros that are no part of any sum.
  void write_cache(const Node& node, const Cache& cache) {
    if (node.inputs.size() != 2 || at_.grows(node.inputs[1]))
      refuse_growing(node, "joins more than a cache and new rows");
    Node append = node;
    append.op = find_op("CacheAppend");
    append.inputs = {node.inputs[0], operand(node.inputs[1]), length_};
    append.attrs = {};
    set_attribute<&CacheAppendAttributes::axis>(append.attrs, cache.axis);
    to_.nodes.push_back(std::move(append));
    ends_in_zeros_[node.outputs[0]] = is_real(at_.type(node.outputs[0]).dtype);
  }

  void write_move(const Node& node) {
    const ValueId from = node.inputs[0], to = node.outputs[0];
    const int axis = at_.axis(from), to_axis = at_.axis(to);
    if (axis < 0 || to_axis < 0 ||
        !keeps_rows(at_.type(from).shape, axis, at_.type(to).shape, to_axis))
      refuse_growing(node, "breaks up rows that grow");
    copy_sized(node);
  }

  // A sum over rows needs zeros where they are not in use, on both sides: none may be an infinity.
  void write_product(const Node& node) {
    Node copied = copy_of(node);
    if (!at_.grows(node.outputs[0])) {
      for (const size_t i : {size_t{0}, size_t{1}}) {
        const ValueId id = node.inputs[i];
        const int axis = at_.axis(id);
        if (axis < 0) refuse_growing(node, "sums over rows of one side alone");
        if (ends_in_zeros_[id]) continue;
        const TensorType& type = at_.type(id);
        if (!is_real(type.dtype))
          refuse_growing(node, "sums over codes of rows that are not in use");
        copied.inputs[i] = filled(copied.inputs[i], type, axis, real_scalar(type.dtype, 0));
      }
    }
    for (size_t i = 2; i < node.inputs.size(); ++i) {
      if (at_.grows(node.inputs[i])) refuse_growing(node, "adds rows that grow");
    }
    to_.nodes.push_back(std::move(copied));
  }

  // Of a node that computes from axis `from` on, or splits along it.
  void check_apart(const Node& node, s64 from, bool splits) const {
    const ValueId x = node.inputs[0];
    const int axis = at_.axis(x);
    const int own = normalize_axis(from, at_.type(x).shape.rank());
    if (axis < 0 || axis == own || (axis > own && !splits))
      refuse_growing(node, "computes along the axis that grows");
  }

  void write_softmax(const Node& node) {
    const ValueId x = node.inputs[0];
    const TensorType& type = at_.type(x);
    const int axis = at_.axis(x), rank = type.shape.rank();
    const auto [wanted, flat] = attributes_of<SoftmaxAttributes>(node);
    if (axis < 0 || (flat && wanted == rank)) refuse_growing(node, "has rows of an unknown shape");
    const int own = normalize_axis(wanted, rank);
    if (flat && own < rank - 1) refuse_growing(node, "makes one row of several axes");
    if (own != axis) return copy(node);
    Node copied = copy_of(node);
    TensorType reals = type;
    if (!is_real(type.dtype)) {
      copied.inputs[0] = dequantized(node, copied.inputs[0], type);
      reals.dtype = Dtype::f32;
      set_input_zero_point(copied, 0, 0);
    }
    constexpr f32 kHidden = -std::numeric_limits<f32>::infinity();
    copied.inputs[0] = filled(copied.inputs[0], reals, axis, real_scalar(reals.dtype, kHidden));
    to_.nodes.push_back(std::move(copied));
    ends_in_zeros_[node.outputs[0]] = true;
  }

  // QSoftmax is DequantizeLinear, Softmax and QuantizeLinear, with every rounding of the three.
  ValueId dequantized(const Node& node, ValueId codes, const TensorType& type) {
    const s32 zero = input_zero_point(node, 0);
    const Tensor zero_point = type.dtype == Dtype::s8 ? Tensor::scalar(static_cast<s8>(zero))
                                                      : Tensor::scalar(static_cast<u8>(zero));
    return add(find_op("DequantizeLinear"),
               {codes, constant(Tensor::scalar(row_scales(node).x)), constant(zero_point)},
               {Dtype::f32, type.shape});
  }

  void write_gather(const Node& node) {
    const ValueId x = node.inputs[0], indices = node.inputs[1];
    const int rank = at_.type(x).shape.rank();
    const int along = normalize_axis(attribute_of<&AxisAttributes::axis>(node), rank);
    if (at_.axis(x) == along && !count_from_first(indices))
      refuse_growing(node, "picks rows of the axis that grows from its end on");
    Node copied = copy_of(node);
    if (at_.axis(indices) >= 0 && !at_.is_settled(indices)) {
      const TensorType& type = at_.type(indices);
      const Tensor first =
          type.dtype == Dtype::s32 ? Tensor::scalar<s32>(0) : Tensor::scalar<s64>(0);
      copied.inputs[1] = filled(copied.inputs[1], type, at_.axis(indices), first);
    }
    to_.nodes.push_back(std::move(copied));
  }

  // Whether indices are known and mean the same rows, whatever lies behind those in use.
  bool count_from_first(ValueId indices) const {
    const std::vector<s64> least = at_.least_ints(indices), most = at_.most_ints(indices);
    const auto counts = [](s64 index) { return index >= 0; };
    return !most.empty() && std::ranges::all_of(least, counts) &&
           std::ranges::all_of(most, counts) && at_.dependence(indices) != Dependence::other;
  }

  // Whether row i of the updates goes to row i of the data: masks are filled so.
  bool scatters_to_own_rows(const Node& node) const {
    const ValueId x = node.inputs[0], indices = node.inputs[1];
    const int axis = at_.axis(x), along = at_.axis(indices);
    const Shape& shape = at_.type(indices).shape;
    const int last = shape.rank() - 1;
    const bool fits = axis >= 0 && along >= 0 && along < last && at_.is_settled(indices) &&
                      at_.axis(node.inputs[2]) >= 0 && axis < shape[last];
    if (!fits || attribute_of<&ScatterAttributes::reduction>(node) != ScatterReduction::none)
      return false;
    const std::vector<s64> places = at_.most_ints(indices);
    const s64 behind = dims_product(shape, along + 1, last), width = shape[last];
    for (size_t i = 0; i < places.size(); i += static_cast<size_t>(width)) {
      const s64 row = static_cast<s64>(i) / width / behind % shape[along];
      if (places[i + static_cast<size_t>(axis)] != row) return false;
    }
    return true;
  }

  // Rows from a place on that moves with the length are picked; all others are cut as from the longest.
  void write_slice(const Node& node) {
    bool settled = !at_.grows(node.inputs[0]);
    for (size_t i = 1; i < node.inputs.size(); ++i)
      settled = settled && at_.dependence(node.inputs[i]) == Dependence::fixed;
    if (settled) return copy(node);
    const std::vector<Cut> cuts = cuts_of(node);
    Node sliced = node;
    for (size_t i = 0; i < node.inputs.size(); ++i)
      sliced.inputs[i] = i == 0 ? operand(node.inputs[0]) : size_operand(node, node.inputs[i]);
    std::vector<Cut> moving;
    for (const Cut& cut : cuts) {
      if (cut.least != cut.most) moving.push_back(cut);
    }
    if (moving.empty()) {
      to_.nodes.push_back(std::move(sliced));
      return;
    }
    if (moving.size() != cuts.size())
      refuse_growing(node, "cuts rows that move and others at once");
    write_picks(node, moving);
  }

  void write_picks(const Node& node, std::span<const Cut> moving) {
    ValueId x = operand(node.inputs[0]);
    TensorType type = at_.type(node.inputs[0]);
    for (const Cut& cut : moving) {
      const s64 count = at_.type(node.outputs[0]).shape[cut.axis];
      std::vector<s64> numbers(static_cast<size_t>(count));
      std::iota(numbers.begin(), numbers.end(), cut.most - at_.most());
      const TensorType list{Dtype::s64, Shape{count}};
      const ValueId indices =
          add(find_op("Add"), {constant(integer_tensor(numbers, list.shape)), length_}, list);
      type.shape[cut.axis] = count;
      Attrs attrs;
      set_attribute<&AxisAttributes::axis>(attrs, cut.axis);
      x = add(find_op("Gather"), {x, indices}, type, attrs);
    }
    to_.nodes.back().outputs = node.outputs;
    to_.nodes.back().name = node.name;
    to_.nodes.back().origins = node.origins;
  }

  // Of each axis that is cut. Where both lengths are cut alike, or keep all of what grows, `least` and `most` are equal.
  std::vector<Cut> cuts_of(const Node& node) const {
    const ValueId x = node.inputs[0], y = node.outputs[0];
    const Shape &least = at_.shape_of_least(x), &most = at_.type(x).shape;
    const std::vector<s64> first = at_.least_ints(node.input(1)),
                           last = at_.most_ints(node.input(1));
    std::vector<s64> axes = at_.most_ints(node.input(3));
    if (node.input(3) == kNoValue) {
      axes.resize(first.size());
      std::iota(axes.begin(), axes.end(), s64{0});
    }
    const std::vector<s64> steps = at_.most_ints(node.input(4));
    const bool ones = std::ranges::all_of(steps, [](s64 step) { return step == 1; });
    const bool evenly = at_.counts(node.input(1)) && at_.counts(node.input(2)) &&
                        at_.dependence(node.input(3)) == Dependence::fixed &&
                        at_.dependence(node.input(4)) == Dependence::fixed;
    const bool known =
        evenly && !first.empty() && first.size() == last.size() && axes.size() == first.size();
    if (!known || !ones || at_.least_ints(node.input(2)).empty() ||
        at_.axis(x) == GrowingLengths::kManyAxes)
      refuse_growing(node, "cuts rows at places that are not known");
    std::vector<Cut> cuts;
    const std::vector<int> places = normalize_axes(axes, most.rank());
    for (size_t i = 0; i < places.size(); ++i) {
      const int axis = places[i];
      const auto begin = [&](s64 at, s64 dim) {
        return std::clamp<s64>(at < 0 ? at + dim : at, 0, dim);
      };
      cuts.push_back({axis, begin(first[i], least[axis]), begin(last[i], most[axis])});
      check_cut(node, cuts.back(), at_.axis(y) == axis);
    }
    return cuts;
  }

  void check_cut(const Node& node, const Cut& cut, bool result_grows) const {
    const ValueId x = node.inputs[0];
    if (result_grows && (cut.least != 0 || cut.most != 0))
      refuse_growing(node, "cuts rows that grow behind the first");
    // What is cut off is in use for one length and not for another.
    const bool whole = at_.type(x).shape[cut.axis] == at_.type(node.outputs[0]).shape[cut.axis];
    if (result_grows && at_.axis(x) == cut.axis && !whole)
      refuse_growing(node, "cuts off rows that grow");
    if (cut.least != cut.most && cut.most - cut.least != at_.lengths())
      refuse_growing(node, "cuts rows at a place that does not move with the length");
  }

  void write_concat(const Node& node) {
    const ValueId y = node.outputs[0];
    const int axis =
        normalize_axis(attribute_of<&ConcatAttributes::axis>(node), at_.type(y).shape.rank());
    if (at_.axis(y) == axis) refuse_growing(node, "joins rows to those that grow");
    copy(node);
  }

  // Whether rows that are not in use are zeros behind the node because they are before it. What grows might be an infinity there.
  bool keeps_zeros(const Node& node) const {
    if (ends_in_zeros_[node.outputs[0]]) return true;
    const auto zeros = [&](size_t i) {
      const ValueId id = node.input(i);
      return id != kNoValue && ends_in_zeros_[id];
    };
    const auto reals = [&](ValueId id) { return is_real(at_.type(id).dtype); };
    const auto number = [&](size_t i) { return is_finite_constant(node.input(i)); };
    const auto zero = [&](size_t i) { return zeros(i) || is_zero_constant(node.input(i)); };
    switch (growing_rules(*node.op).zeros) {
      case ZerosRule::anything:
        return false;
      case ZerosRule::zeros:
        return zeros(0);
      case ZerosRule::reals:
        return zeros(0) && reals(node.input(0));
      case ZerosRule::factor:
        return reals(node.outputs[0]) && ((zeros(0) && number(1)) || (zeros(1) && number(0)));
      case ZerosRule::dividend:
        return reals(node.outputs[0]) && zeros(0) && number(1);
      case ZerosRule::either:
        return reals(node.outputs[0]) && zero(1) && zero(2);
    }
    return false;
  }

  template <class Test>
  bool is_constant_of(ValueId id, const Test& test) const {
    if (id == kNoValue || !at_.is_settled(id) || at_.type(id).dtype != Dtype::f32) return false;
    return std::ranges::all_of(at_.known(id).as<f32>(), test);
  }
  bool is_finite_constant(ValueId id) const {
    return is_constant_of(id, [](f32 x) { return std::isfinite(x) && x != 0; });
  }
  bool is_zero_constant(ValueId id) const {
    return is_constant_of(id, [](f32 x) { return x == 0; });
  }

  const Graph& from_;
  const GrowingLengths& at_;
  const std::span<const Cache> caches_;
  const s64 added_;  // rows of a run
  Graph to_;
  ValueId length_ = kNoValue, limit_ = kNoValue;
  std::vector<bool> ends_in_zeros_;  // values whose rows that are not in use are zeros
  std::map<ValueId, ValueId> affine_;
  std::map<std::pair<s64, int>, ValueId> in_use_;
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
