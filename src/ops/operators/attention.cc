// SPDX-License-Identifier: Apache-2.0
// Attention(Q, K, V, mask, past K, past V, nonpad_kv_seqlen): softmax(softcap(Q K^T) + bias) V for each head, in f32. A query
// that may attend to no key yields zeros.
#include "ops/attributes/attention.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/check.h"
#include "core/math.h"
#include "core/reduce.h"
#include "graph/op_traits.h"
#include "ops/shared/attention.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

enum : size_t { kY, kPresentK, kPresentV, kProbe };
enum ProbeMode : s64 { kRaw, kCapped, kBiased, kProbability };

constexpr f32 kMasked = -std::numeric_limits<f32>::infinity();

void check_types(const Inference& inference) {
  for (size_t i : {kAttentionQ, kAttentionK, kAttentionV, kAttentionPastK, kAttentionPastV}) {
    if (inference.has_input(i)) require_dtype(inference, i, DtypeClass::real);
  }
  if (inference.has_input(kAttentionMask) &&
      inference.inputs[kAttentionMask].dtype != Dtype::boolean) {
    require_dtype(inference, kAttentionMask, DtypeClass::real);
  }
  if (inference.has_input(kAttentionNonpad)) {
    require_dtype(inference, kAttentionNonpad, DtypeClass::index);
  }
}

void check_attributes(const Node& node) {
  const s64 mode = attributes_of<AttentionAttributes>(node).qk_matmul_output_mode;
  if (mode < kRaw || mode > kProbability) {
    fail(Error::Code::invalid_model, "attribute 'qk_matmul_output_mode' is {}, expected 0 to 3",
         mode);
  }
}

void infer(Inference& inference) {
  check_types(inference);
  check_attributes(inference.node);
  std::vector<Shape> shapes;
  for (const TensorType& type : inference.inputs) shapes.push_back(type.shape);
  const AttentionGeometry geometry = attention_geometry(inference.node, shapes);
  const AttentionHeads &q = geometry.q, &k = geometry.k, &v = geometry.v;
  const Dtype dtype = inference.inputs[kAttentionQ].dtype;
  const size_t outputs = inference.node.outputs.size();
  inference.output(dtype, geometry.output().shape());
  if (outputs > kPresentK) {
    inference.output(inference.inputs[kAttentionK].dtype,
                     Shape{k.batch, k.heads, geometry.total, k.size});
  }
  if (outputs > kPresentV) {
    inference.output(inference.inputs[kAttentionV].dtype,
                     Shape{v.batch, v.heads, geometry.total, v.size});
  }
  if (outputs > kProbe) {
    inference.output(dtype, Shape{q.batch, q.heads, q.length, geometry.total});
  }
}

AttentionGeometry geometry_of(const Eval& eval) {
  std::vector<Shape> shapes;
  for (const ConstView& input : eval.inputs) shapes.push_back(input.shape);
  return attention_geometry(eval.node, shapes);
}

// Keys or values, the past ones first.
class Cache {
 public:
  Cache(const Eval& eval, size_t now, size_t past, const AttentionHeads& heads, s64 past_length)
      : now_(eval, now), past_(eval, past), heads_(heads), past_length_(past_length) {}

  const f32* row(s64 image, s64 head, s64 position) const {
    if (position >= past_length_) {
      return now_.data() + heads_.row(image, head, position - past_length_);
    }
    return past_.data() + ((image * heads_.heads + head) * past_length_ + position) * heads_.size;
  }

  s64 size() const { return heads_.size; }

  void store(const Eval& eval, size_t output, s64 total) const {
    if (eval.outputs.size() <= output || eval.outputs[output].data == nullptr) return;
    const FloatOutput present(eval.outputs[output]);
    f32* dst = present.data();
    for (s64 i = 0; i < std::ssize(present.values()) / heads_.size; ++i) {
      const f32* src = row(i / total / heads_.heads, i / total % heads_.heads, i % total);
      dst = std::copy(src, src + heads_.size, dst);
    }
    present.store();
  }

 private:
  FloatInput now_;
  FloatInput past_;
  AttentionHeads heads_;
  s64 past_length_;
};

// What is added to a score: the mask, and -inf where a key is out of reach.
class Bias {
 public:
  Bias(const Eval& eval, const AttentionGeometry& geometry)
      : geometry_(geometry),
        causal_(attribute_of<&AttentionAttributes::is_causal>(eval.node)),
        left_(attribute_of<&AttentionAttributes::left_window_size>(eval.node)),
        right_(attribute_of<&AttentionAttributes::right_window_size>(eval.node)) {
    lengths_ = read_ints(eval, kAttentionNonpad);
    for (s64& length : lengths_) length = std::clamp<s64>(length, 0, geometry.total);
    if (!eval.has_input(kAttentionMask)) return;
    read_mask(eval.inputs[kAttentionMask]);
  }

  f32 operator()(s64 image, s64 head, s64 query, s64 key) const {
    const size_t b = static_cast<size_t>(image);
    if (!lengths_.empty() && key >= lengths_[b]) return kMasked;
    const s64 offset = lengths_.empty() ? geometry_.past : lengths_[b] - geometry_.q.length;
    const s64 distance = key - (offset + query);
    if (causal_ && distance > 0) return kMasked;
    if (left_ >= 0 && -distance > left_) return kMasked;
    if (right_ >= 0 && distance > right_) return kMasked;
    if (!has_mask_) return 0.0f;
    if (key >= mask_keys_) return kMasked;
    return mask_[static_cast<size_t>(image * strides_[0] + head * strides_[1] +
                                     query * strides_[2] + key)];
  }

  const AttentionGeometry& geometry() const { return geometry_; }

 private:
  void read_mask(const ConstView& mask) {
    has_mask_ = true;
    if (mask.dtype == Dtype::boolean) {
      for (bool attend : mask.as<bool>()) mask_.push_back(attend ? 0.0f : kMasked);
    } else {
      const FloatInput values(mask);
      mask_.assign(values.values().begin(), values.values().end());
    }
    const int rank = mask.shape.rank();
    mask_keys_ = mask.shape[rank - 1];
    const std::vector<s64> dense = dense_strides(mask.shape);
    for (int i = 0; i < rank - 1; ++i) {
      const bool spread = mask.shape[i] == 1;
      strides_[static_cast<size_t>(4 - rank) + static_cast<size_t>(i)] =
          spread ? 0 : dense[static_cast<size_t>(i)];
    }
  }

  const AttentionGeometry& geometry_;
  bool causal_;
  s64 left_;
  s64 right_;
  std::vector<s64> lengths_;
  bool has_mask_ = false;
  std::vector<f32> mask_;
  s64 mask_keys_ = 0;
  std::array<s64, 3> strides_{};
};

// In place; zeros when every bias masks.
void softmax(std::span<f32> row, bool all_masked) {
  if (all_masked) return std::fill(row.begin(), row.end(), 0.0f);
  const f32 max = lane_max(row);
  for (f32& x : row) x = math_exp(x - max);
  const f32 sum = lane_sum(row);
  for (f32& x : row) x /= sum;
}

struct Scoring {
  f32 factor = 1.0f;  // of Q and of K: the square root of the scale
  f32 softcap = 0.0f;
  s64 probe = kRaw;
};

Scoring scoring_of(const Node& node, s64 size) {
  const auto attributes = attributes_of<AttentionAttributes>(node);
  const f32 scale = attributes.scale.value_or(1.0f / std::sqrt(static_cast<f32>(size)));
  return {std::sqrt(scale), attributes.softcap, attributes.qk_matmul_output_mode};
}

struct Query {
  s64 image, head, position;
  const f32* values;
  f32* probe;  // gets the scores at the stage asked for; may be null
};

// Turns one query into the probabilities of its keys.
void attend(const Query& at, const Cache& keys, const Bias& bias, const Scoring& scoring,
            std::span<f32> row) {
  const AttentionGeometry& geometry = bias.geometry();
  const auto show = [&](s64 stage) {
    if (at.probe == nullptr || scoring.probe != stage) return;
    std::copy(row.begin(), row.end(), at.probe);
  };
  for (s64 j = 0; j < geometry.total; ++j) {
    const f32* k = keys.row(at.image, at.head / geometry.group, j);
    row[static_cast<size_t>(j)] = lane_sum(geometry.q.size, [&](s64 d) {
      return (at.values[d] * scoring.factor) * (k[d] * scoring.factor);
    });
  }
  show(kRaw);
  if (scoring.softcap > 0.0f) {
    for (f32& x : row) x = scoring.softcap * std::tanh(x / scoring.softcap);
  }
  show(kCapped);
  bool all_masked = true;
  for (s64 j = 0; j < geometry.total; ++j) {
    const f32 added = bias(at.image, at.head, at.position, j);
    all_masked = all_masked && added == kMasked;
    row[static_cast<size_t>(j)] += added;
  }
  show(kBiased);
  softmax(row, all_masked);
  show(kProbability);
}

struct ValueHead {
  s64 image, head;
};

void weigh(std::span<const f32> probabilities, const Cache& values, const ValueHead& at, f32* out) {
  for (s64 d = 0; d < values.size(); ++d) {
    out[d] = lane_sum(std::ssize(probabilities), [&](s64 j) {
      return probabilities[static_cast<size_t>(j)] * values.row(at.image, at.head, j)[d];
    });
  }
}

void eval(const Eval& eval) {
  const AttentionGeometry geometry = geometry_of(eval);
  const AttentionHeads& q = geometry.q;
  const FloatInput queries(eval, kAttentionQ);
  const Cache keys(eval, kAttentionK, kAttentionPastK, geometry.k, geometry.past);
  const Cache values(eval, kAttentionV, kAttentionPastV, geometry.v, geometry.past);
  const Bias bias(eval, geometry);
  const Scoring scoring = scoring_of(eval.node, q.size);
  const FloatOutput y(eval.outputs[kY]);
  const bool probed = eval.outputs.size() > kProbe && eval.outputs[kProbe].data != nullptr;
  const FloatOutput probe(eval.outputs[probed ? kProbe : kY]);
  std::vector<f32> row(static_cast<size_t>(geometry.total));
  for (s64 i = 0; i < std::ssize(y.values()) / geometry.v.size; ++i) {
    Query at{i / q.length / q.heads, i / q.length % q.heads, i % q.length, nullptr, nullptr};
    at.values = queries.data() + q.row(at.image, at.head, at.position);
    at.probe = probed ? probe.data() + i * geometry.total : nullptr;
    attend(at, keys, bias, scoring, row);
    weigh(row, values, {at.image, at.head / geometry.group},
          y.data() + geometry.output().row(at.image, at.head, at.position));
  }
  y.store();
  if (probed) probe.store();
  keys.store(eval, kPresentK, geometry.total);
  values.store(eval, kPresentV, geometry.total);
}

// Every query meets every key and every value.
f64 work(const Node& node, TensorTypes inputs, TensorTypes) {
  std::vector<Shape> shapes;
  for (const TensorType& type : inputs) shapes.push_back(type.shape);
  const AttentionGeometry g = attention_geometry(node, shapes);
  const f64 rows =
      static_cast<f64>(g.q.batch) * static_cast<f64>(g.q.heads) * static_cast<f64>(g.q.length);
  return rows * static_cast<f64>(g.total) * static_cast<f64>(g.q.size + g.v.size + 1);
}

constexpr FloatAttribute kFloats[] = {{"scale", FloatDomain::non_negative},
                                      {"softcap", FloatDomain::non_negative}};
constexpr OpTraits kTraits{.work = work, .floats = kFloats};

}  // namespace

extern constinit const OpDef kAttention{.name = "Attention",
                                        .inputs = {3, 7},
                                        .outputs = {1, 4},
                                        .infer = infer,
                                        .eval = eval,
                                        .traits = &kTraits};
}  // namespace octet
