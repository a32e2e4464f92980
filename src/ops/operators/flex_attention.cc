// SPDX-License-Identifier: Apache-2.0
// FlexAttention(Q, K, V, captures...) {score_mod, prob_mod}: softmax(score_mod(scale Q K^T)) V with probabilities changed by
// prob_mod, both graphs of one [batch, heads, queries, keys] tensor. Heads of Q share those of K in groups.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/check.h"
#include "core/reduce.h"
#include "graph/attributes.h"
#include "graph/bodies.h"
#include "graph/op_traits.h"
#include "ops/shared/axes.h"
#include "ops/shared/control_flow.h"
#include "ops/shared/dot.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/float_io.h"
#include "ops/shared/node_parser.h"
#include "ops/shared/softmax.h"

namespace octet {
namespace {

enum : size_t { kQ, kK, kV, kCaptures };
constexpr auto kInvalid = Error::Code::invalid_model;

struct FlexAttentionAttributes {
  std::optional<f32> scale;                // absent: 1 / sqrt(size of a head)
  std::optional<Dtype> softmax_precision;  // absent: f32, or f64 of f64

  OCTET_ATTRIBUTES(scale, softmax_precision)
};

void parse(NodeParser& parser) {
  Attrs& attrs = parser.node.attrs;
  attrs.erase("captures");
  if (attrs.has("softmax_precision")) {
    const Dtype dtype = dtype_from_onnx(attrs.i("softmax_precision"));
    set_attribute<&FlexAttentionAttributes::softmax_precision>(attrs, dtype);
  }
}

struct Heads {
  s64 batch = 0, heads = 0, queries = 0, keys = 0, size = 0, value_size = 0, group = 1;
  Shape scores() const { return {batch, heads, queries, keys}; }
};

Heads heads_of(const Shape& q, const Shape& k, const Shape& v) {
  const bool ranks = q.rank() == 4 && k.rank() == 4 && v.rank() == 4;
  if (!ranks || k[0] != q[0] || v[0] != q[0] || k[3] != q[3] || v[1] != k[1] || v[2] != k[2] ||
      k[1] < 1 || q[1] % k[1] != 0)
    fail(kInvalid, "Q is {}, K {} and V {}; they do not fit", to_string(q), to_string(k),
         to_string(v));
  return {q[0], q[1], q[2], k[2], q[3], v[3], q[1] / k[1]};
}

void check_change(const Node& node, std::string_view name) {
  if (find_body(node, name) != nullptr)
    checked_body(node, name, node.inputs.size() - kCaptures + 1, 1);
}

void infer(Inference& inference) {
  for (size_t i : {kQ, kK, kV}) require_dtype(inference, i, DtypeClass::real);
  const Heads h =
      heads_of(inference.inputs[kQ].shape, inference.inputs[kK].shape, inference.inputs[kV].shape);
  h.scores().elements();  // they fit 63 bits
  check_change(inference.node, "score_mod");
  check_change(inference.node, "prob_mod");
  inference.output(inference.inputs[kQ].dtype, Shape{h.batch, h.heads, h.queries, h.value_size});
}

// The tensor after the graph of that name; the graph computes in the softmax's precision.
Tensor changed(const Eval& eval, std::string_view name, Tensor tensor) {
  if (find_body(eval.node, name) == nullptr) return tensor;
  const bool wide = eval.inputs[kQ].dtype == Dtype::f64;
  const Dtype precision =
      attribute_of<&FlexAttentionAttributes::softmax_precision>(eval.node).value_or(
          wide ? Dtype::f64 : Dtype::f32);
  Tensor given(precision, tensor.shape());
  const FloatOutput write(mutable_view(given));
  const auto from = tensor.as<f32>();
  std::copy(from.begin(), from.end(), write.values().begin());
  write.store();
  std::vector<Tensor> inputs = {given};
  for (size_t i = kCaptures; i < eval.inputs.size(); ++i) inputs.push_back(borrowed_input(eval, i));
  const Graph& body = checked_body(eval.node, name, inputs.size(), 1);
  const Tensor result = run_body(body, inputs, eval.max_bytes).at(0);
  if (result.type() != given.type())
    fail(kInvalid, "'{}' makes {} of {}", name, to_string(result.type()), to_string(given.type()));
  const FloatInput read(view(result));
  return Tensor::of<f32>(tensor.shape(), read.values());
}

Tensor scores_of(const Eval& eval, const Heads& h) {
  const FloatInput q(eval, kQ), k(eval, kK);
  const f32 scale = attribute_of<&FlexAttentionAttributes::scale>(eval.node).value_or(
      1.0f / std::sqrt(static_cast<f32>(h.size)));
  Tensor scores(Dtype::f32, h.scores());
  f32* out = scores.mutable_as<f32>().data();
  for (s64 row = 0; row < h.batch * h.heads * h.queries; ++row) {
    const s64 shared = row / h.queries / h.group;  // groups divide the heads of each image
    for (s64 key = 0; key < h.keys; ++key) {
      const f32* other = k.data() + (shared * h.keys + key) * h.size;
      *out++ = dot(q.data() + row * h.size, other, h.size) * scale;
    }
  }
  return scores;
}

// Sums of the rows of V.
void weigh(const Eval& eval, const Heads& h, const Tensor& probabilities, const FloatOutput& y) {
  const f32* weights = probabilities.as<f32>().data();
  const FloatInput v(eval, kV);
  for (s64 row = 0; row < h.batch * h.heads * h.queries; ++row, weights += h.keys) {
    const f32* values = v.data() + row / h.queries / h.group * h.keys * h.value_size;
    for (s64 i = 0; i < h.value_size; ++i) {
      y[row * h.value_size + i] =
          lane_sum(h.keys, [&](s64 key) { return weights[key] * values[key * h.value_size + i]; });
    }
  }
  y.store();
}

// A node with bodies may come without inferred types.
void eval(const Eval& eval) {
  const Heads h = heads_of(eval.inputs[kQ].shape, eval.inputs[kK].shape, eval.inputs[kV].shape);
  Tensor result(eval.inputs[kQ].dtype, Shape{h.batch, h.heads, h.queries, h.value_size});
  if (result.elements() > 0) {
    Tensor probabilities = changed(eval, "score_mod", scores_of(eval, h));
    f32* row = probabilities.mutable_as<f32>().data();
    for (s64 n = 0; h.keys > 0 && n < h.batch * h.heads * h.queries; ++n, row += h.keys)
      softmax_row(row, row, h.keys, 1);
    probabilities = changed(eval, "prob_mod", std::move(probabilities));
    weigh(eval, h, probabilities, FloatOutput(mutable_view(result)));
  }
  give(eval, 0, result);
}

// Every query meets every key and every value.
f64 work(const Node&, TensorTypes inputs, TensorTypes) {
  const Heads h = heads_of(inputs[kQ].shape, inputs[kK].shape, inputs[kV].shape);
  return element_count(h.scores()) * static_cast<f64>(h.size + h.value_size + 1);
}

constexpr std::string_view kBodies[] = {"prob_mod", "score_mod"};

constexpr OpTraits kTraits{.work = work, .bodies = kBodies};

}  // namespace

extern constinit const OpDef kFlexAttention{.name = "FlexAttention",
                                            .domain = "ai.onnx.preview",
                                            .inputs = {3, -1},
                                            .parse = parse,
                                            .infer = infer,
                                            .eval = eval,
                                            .traits = &kTraits};
}  // namespace octet
