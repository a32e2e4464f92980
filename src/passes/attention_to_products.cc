// SPDX-License-Identifier: Apache-2.0
// An Attention becomes what it is short for: queries by keys, the mask, Softmax, by values. Those have kernels and integer forms, and the
// passes behind know them from models that write them out.
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "ops/attributes/attention.h"
#include "ops/attributes/moves.h"
#include "ops/attributes/reduction.h"
#include "ops/shared/attention.h"
#include "passes/node_rewriter.h"

namespace octet {
namespace {

enum : size_t { kPresentK = 1, kPresentV };  // outputs
constexpr int kLengthAxis = 2;

class AttentionRewriter : public NodeRewriter {
 public:
  AttentionRewriter(Graph& graph, Rewrites& rewrites)
      : NodeRewriter(graph, rewrites, "Attention") {}

 private:
  struct Heads {
    s64 count = 0, size = 0;
    bool flat = false;  // 3-D
  };

  bool is_plain() const {
    const auto attributes = attributes_of<AttentionAttributes>(node());
    const bool windows = attributes.left_window_size >= 0 || attributes.right_window_size >= 0;
    return !windows && node().input(kAttentionNonpad) == kNoValue && node().outputs.size() <= 3 &&
           mask_fits();
  }

  const Shape& shape_of(AttentionInput i) const { return graph_.value(node().input(i)).type.shape; }

  // Whether the mask reaches over all keys; a shorter one hides those behind it.
  bool mask_fits() const {
    if (node().input(kAttentionMask) == kNoValue) return true;
    const Shape &mask = shape_of(kAttentionMask), &k = shape_of(kAttentionK);
    const bool past = node().input(kAttentionPastK) != kNoValue;
    if (mask.is_unknown() || mask.rank() < 1 || k.is_unknown()) return false;
    const s64 keys = mask[mask.rank() - 1], now = k[k.rank() == 4 ? kLengthAxis : 1];
    if (!past) return keys == now;
    const Shape& before = shape_of(kAttentionPastK);
    if (before.is_unknown() || before.rank() != 4) return false;
    if (now == Shape::kDynamic || before[kLengthAxis] == Shape::kDynamic)
      return keys == Shape::kDynamic;
    return keys == now + before[kLengthAxis];
  }

  std::optional<Heads> heads_of(AttentionInput i, s64 heads) const {
    const TensorType& type = graph_.value(node().inputs[i]).type;
    const Shape& shape = type.shape;
    if (type.dtype != Dtype::f32 || shape.is_unknown()) return {};
    if (shape.rank() == 4 && shape[1] > 0 && shape[3] > 0) return Heads{shape[1], shape[3]};
    if (shape.rank() != 3 || heads < 1 || shape[2] < heads) return {};
    return Heads{heads, shape[2] / heads, true};
  }

  bool read() override {
    if (!is_plain()) return false;
    const auto [q_heads, kv_heads] = attributes_of<HeadsAttributes>(node());
    const auto q = heads_of(kAttentionQ, q_heads);
    const auto k = heads_of(kAttentionK, kv_heads), v = heads_of(kAttentionV, kv_heads);
    if (!q || !k || !v) return false;
    q_ = *q, k_ = *k, v_ = *v;
    return true;
  }

  void write() override {
    ValueId q = apart(node().inputs[kAttentionQ], q_);
    const ValueId k = with_past(kAttentionK, k_, kAttentionPastK, kPresentK);
    const ValueId v = with_past(kAttentionV, v_, kAttentionPastV, kPresentV);
    const f32 usual = 1.0f / std::sqrt(static_cast<f32>(q_.size));
    q = add("Mul", {q, scalar(attribute_of<&AttentionAttributes::scale>(node()).value_or(usual))});
    ValueId scores = add("MatMul", {grouped(q, q_.size), transposed(k, {0, 1, 3, 2})});
    scores = masked(capped(of_heads(scores, 0)), q, k);
    ValueId shares = add("Softmax", {scores}, axis(-1));
    shares = zeros_where_hidden(shares);
    ValueId y = of_heads(add("MatMul", {grouped(shares, 0), v}), v_.size);
    if (q_.flat) y = reshaped(transposed(y, {0, 2, 1, 3}), {0, 0, q_.count * v_.size});
  }

  // [batch, length, heads * size] as [batch, heads, length, size].
  ValueId apart(ValueId id, const Heads& heads) {
    if (!heads.flat) return id;
    return transposed(reshaped(id, {0, 0, heads.count, heads.size}), {0, 2, 1, 3});
  }

  ValueId with_past(AttentionInput now, const Heads& heads, AttentionInput past, size_t present) {
    ValueId id = apart(node().inputs[now], heads);
    if (node().input(past) != kNoValue)
      id = add("Concat", {node().inputs[past], id}, axis(kLengthAxis));
    give(present, id);
    return id;
  }

  // Heads of queries that share keys, as rows of one matrix, and apart again; `size` 0 keeps the last axis.
  ValueId grouped(ValueId id, s64 size) {
    return q_.count == k_.count ? id : reshaped(id, {0, k_.count, -1, size});
  }
  ValueId of_heads(ValueId id, s64 size) {
    return q_.count == k_.count ? id : reshaped(id, {0, q_.count, -1, size});
  }

  ValueId capped(ValueId scores) {
    const f32 cap = attribute_of<&AttentionAttributes::softcap>(node());
    if (cap <= 0.0f) return scores;
    const ValueId parts = add("Div", {scores, scalar(cap)});
    scores = add("Tanh", {parts});
    return add("Mul", {scores, scalar(cap)});
  }

  ValueId masked(ValueId scores, ValueId q, ValueId k) {
    causal_ = attribute_of<&AttentionAttributes::is_causal>(node()) ? causal(q, k) : kNoValue;
    if (causal_ != kNoValue) scores = add("Add", {scores, causal_});
    const ValueId mask = node().input(kAttentionMask);
    if (mask == kNoValue) return scores;
    if (graph_.value(mask).type.dtype != Dtype::boolean) return add("Add", {scores, mask});
    return add("Where", {mask, scores, scalar(-std::numeric_limits<f32>::infinity())});
  }

  // [queries, keys]: -inf where the key comes after the query.
  ValueId causal(ValueId q, ValueId k) {
    const ValueId queries = length(q), keys = length(k);
    const ValueId past = node().input(kAttentionPastK) == kNoValue
                             ? scalar<s64>(0)
                             : add("Squeeze", {length(node().inputs[kAttentionPastK])});
    const ValueId sizes = add("Concat", {queries, keys}, axis(0));
    const ValueId hidden = scalar(-std::numeric_limits<f32>::infinity());
    const ValueId all = add("Expand", {hidden, sizes});
    const ValueId first_hidden = add("Add", {past, scalar<s64>(1)});
    return add("Trilu", {all, first_hidden});
  }

  ValueId length(ValueId id) {
    Attrs attrs;
    set_attribute<&ShapeAttributes::start>(attrs, kLengthAxis);
    set_attribute<&ShapeAttributes::end>(attrs, kLengthAxis + 1);
    return add("Shape", {id}, attrs);
  }

  // Softmax gives NaN to a query that the mask hides from all keys, Attention zeros. NaN that came otherwise stays.
  ValueId zeros_where_hidden(ValueId shares) {
    const ValueId mask = node().input(kAttentionMask);
    if (mask == kNoValue || shows_to_all(mask)) return shares;
    const ValueId test = add("IsNaN", {shares});
    return add("Where", {test, zero_or_nan(mask), shares});
  }

  // [.., queries, 1]: zero where no key may be seen.
  ValueId zero_or_nan(ValueId mask) {
    const ValueId hidden = scalar(-std::numeric_limits<f32>::infinity()), zero = scalar(0.0f);
    ValueId bias = mask;
    if (graph_.value(mask).type.dtype == Dtype::boolean) bias = add("Where", {mask, zero, hidden});
    if (causal_ != kNoValue) bias = add("Add", {causal_, bias});
    Attrs keep;
    set_attribute<&ReduceAttributes::keepdims>(keep, true);
    const ValueId most = add("ReduceMax", {bias, add_list("axes", {-1})}, keep);
    const ValueId test = add("Equal", {most, hidden});
    return add("Where", {test, zero, scalar(std::numeric_limits<f32>::quiet_NaN())});
  }

  // Whether a known mask of reals leaves every query its first key, which those that come before it do as well.
  bool shows_to_all(ValueId mask) const {
    if (!graph_.is_constant(mask) || graph_.value(mask).type.dtype != Dtype::f32) return false;
    const Tensor& known = graph_.value(mask).constant;
    const auto elements = known.as<f32>();
    const s64 keys = known.shape()[known.shape().rank() - 1];
    for (s64 i = 0; i < known.elements(); i += keys) {
      if (!std::isfinite(elements[static_cast<size_t>(i)])) return false;
    }
    return true;
  }

  template <class T>
  ValueId scalar(T number) {
    return add_constant("number", Tensor::scalar<T>(number));
  }

  static Attrs axis(s64 at) {
    Attrs attrs;
    set_attribute<&AxisAttributes::axis>(attrs, at);
    return attrs;
  }

  Heads q_, k_, v_;
  ValueId causal_ = kNoValue;  // of the node that is written
};

}  // namespace

void attention_to_products(Graph& graph, Rewrites& rewrites) {
  AttentionRewriter(graph, rewrites).run();
}

}  // namespace octet
