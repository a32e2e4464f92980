// SPDX-License-Identifier: Apache-2.0
// LinearAttention(query, key, value, past?, decay?, beta?): each key head has a state S of key size x value size. For every
// token S fades by e^decay, gains the key times (the value, or beta times what S lacks of it), and is read by the queries.
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/math.h"
#include "graph/op_traits.h"
#include "ops/attributes/attention.h"
#include "ops/shared/axes.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

enum : size_t { kQuery, kKey, kValue, kPast, kDecay, kBeta };

struct Geometry {
  s64 batch = 0, length = 0;
  s64 q_heads = 1, heads = 1;
  s64 key = 0, value = 0;  // sizes of one head
  bool gated = false, delta = false;
  bool decay_each = false;  // one for each element of the key, else one for each head
  bool beta_each = false;   // one for each head, else one for each token
};

void require(bool condition, std::string_view what) {
  if (!condition) fail(Error::Code::invalid_model, "{} does not fit the other inputs", what);
}

enum class UpdateRule : u8 { gated_delta, gated, delta, linear };

constexpr auto attribute_words(UpdateRule) {
  return std::to_array<AttributeWord<UpdateRule>>({{"gated_delta", UpdateRule::gated_delta},
                                                   {"gated", UpdateRule::gated},
                                                   {"delta", UpdateRule::delta},
                                                   {"linear", UpdateRule::linear}});
}

struct LinearAttentionAttributes : HeadsAttributes {
  f32 scale = 0.0f;  // 0: 1 / sqrt(size of a key)
  UpdateRule update_rule = UpdateRule::gated_delta;

  OCTET_MORE_ATTRIBUTES(HeadsAttributes, scale, update_rule)
};

void read_rule(const Node& node, Geometry& g) {
  const UpdateRule rule = attribute_of<&LinearAttentionAttributes::update_rule>(node);
  g.gated = rule == UpdateRule::gated || rule == UpdateRule::gated_delta;
  g.delta = rule == UpdateRule::delta || rule == UpdateRule::gated_delta;
  require(!g.gated || node.input(kDecay) != kNoValue, "the omitted decay");
  require(!g.delta || node.input(kBeta) != kNoValue, "the omitted beta");
}

Geometry geometry_of(const Node& node, std::span<const Shape> shapes) {
  Geometry g;
  const Shape &q = shapes[kQuery], &k = shapes[kKey], &v = shapes[kValue];
  require(q.rank() == 3 && k.rank() == 3 && v.rank() == 3, "the rank of query, key or value");
  g.batch = q[0];
  g.length = q[1];
  const auto attributes = attributes_of<LinearAttentionAttributes>(node);
  g.q_heads = attributes.q_num_heads;
  g.heads = attributes.kv_num_heads;
  require(g.heads >= 1 && g.q_heads >= 1 && g.q_heads % g.heads == 0 && q[2] % g.q_heads == 0 &&
              k[2] % g.heads == 0 && v[2] % g.heads == 0,
          "the number of heads");
  g.key = k[2] / g.heads;
  g.value = v[2] / g.heads;
  const auto packed = [&](s64 size) { return Shape{g.batch, g.length, size}; };
  require(g.key >= 1 && g.value >= 1 && k == packed(k[2]) && q[2] / g.q_heads == g.key, "the key");
  require(v == packed(v[2]), "the value");
  read_rule(node, g);
  if (node.input(kPast) != kNoValue) {
    require(shapes[kPast] == Shape{g.batch, g.heads, g.key, g.value}, "the past state");
  }
  if (g.gated) {
    g.decay_each = shapes[kDecay] == packed(k[2]);
    require(g.decay_each || shapes[kDecay] == packed(g.heads), "the decay");
  }
  if (g.delta) {
    g.beta_each = shapes[kBeta] == packed(g.heads);
    require(g.beta_each || shapes[kBeta] == packed(1), "beta");
  }
  return g;
}

void infer(Inference& inference) {
  require_dtype(inference, kQuery, DtypeClass::real);
  std::vector<Shape> shapes;
  for (size_t i = 0; i < inference.inputs.size(); ++i) {
    if (inference.has_input(i)) require_dtype(inference, i, DtypeClass::real);
    shapes.push_back(inference.inputs[i].shape);
  }
  const Geometry g = geometry_of(inference.node, shapes);
  const Dtype dtype = inference.inputs[kQuery].dtype;
  inference.output(dtype, Shape{g.batch, g.length, g.q_heads * g.value});
  if (inference.node.outputs.size() > 1) {
    const size_t like = inference.has_input(kPast) ? kPast : kQuery;
    inference.output(inference.inputs[like].dtype, Shape{g.batch, g.heads, g.key, g.value});
  }
}

struct Inputs {
  explicit Inputs(const Eval& eval)
      : query(eval, kQuery),
        key(eval, kKey),
        value(eval, kValue),
        past(eval, kPast),
        decay(eval, kDecay),
        beta(eval, kBeta) {}
  FloatInput query, key, value, past, decay, beta;
};

// Element j of what the query at `at` reads from the state.
f32 read(const Geometry& g, const Inputs& in, s64 at, s64 j, std::span<const f32> state) {
  f32 sum = 0.0f;
  for (s64 i = 0; i < g.key; ++i) {
    sum += in.query[at * g.key + i] * state[static_cast<size_t>(i * g.value + j)];
  }
  return sum;
}

// Brings one head's state from before token `token` (counted over the batch) to after it.
void update(const Geometry& g, const Inputs& in, s64 token, s64 head, std::span<f32> state) {
  const s64 at = token * g.heads + head;
  const f32* key = in.key.data() + at * g.key;
  const f32* value = in.value.data() + at * g.value;
  for (s64 i = 0; g.gated && i < g.key; ++i) {
    const f32 fade = math_exp(in.decay[g.decay_each ? at * g.key + i : at]);
    for (s64 j = 0; j < g.value; ++j) state[static_cast<size_t>(i * g.value + j)] *= fade;
  }
  const f32 beta = g.delta ? in.beta[g.beta_each ? at : token] : 1.0f;
  for (s64 j = 0; j < g.value; ++j) {
    f32 known = 0.0f;
    for (s64 i = 0; g.delta && i < g.key; ++i) {
      known += state[static_cast<size_t>(i * g.value + j)] * key[i];
    }
    const f32 gain = beta * (value[j] - known);
    for (s64 i = 0; i < g.key; ++i) state[static_cast<size_t>(i * g.value + j)] += key[i] * gain;
  }
}

void eval(const Eval& eval) {
  std::vector<Shape> shapes;
  for (const ConstView& input : eval.inputs) shapes.push_back(input.shape);
  const Geometry g = geometry_of(eval.node, shapes);
  const Inputs in(eval);
  const f32 given = attribute_of<&LinearAttentionAttributes::scale>(eval.node);
  const f32 scale = given == 0.0f ? 1.0f / std::sqrt(static_cast<f32>(g.key)) : given;
  const s64 group = g.q_heads / g.heads, cells = g.key * g.value;
  const FloatOutput y(eval.outputs[0]);
  const bool keeps = eval.outputs.size() > 1 && eval.outputs[1].data != nullptr;
  const FloatOutput present(eval.outputs[keeps ? 1 : 0]);
  std::vector<f32> state(static_cast<size_t>(cells));
  if (g.length == 0 && !keeps) return;
  for (s64 row = 0; row < g.batch * g.heads; ++row) {
    const s64 image = row / g.heads, head = row % g.heads;
    for (s64 i = 0; i < cells; ++i) {
      state[static_cast<size_t>(i)] = in.past ? in.past[row * cells + i] : 0.0f;
    }
    for (s64 token = image * g.length; token < (image + 1) * g.length; ++token) {
      update(g, in, token, head, state);
      for (s64 q = 0; q < group * g.value; ++q) {
        const s64 at = token * g.q_heads + head * group + q / g.value, j = q % g.value;
        y[at * g.value + j] = scale * read(g, in, at, j, state);
      }
    }
    for (s64 i = 0; keeps && i < cells; ++i)
      present[row * cells + i] = state[static_cast<size_t>(i)];
  }
  y.store();
  if (keeps) present.store();
}

// Every token changes the state of each key head and is read by the queries that share it.
f64 work(const Node& node, TensorTypes inputs, TensorTypes) {
  std::vector<Shape> shapes;
  for (const TensorType& type : inputs) shapes.push_back(type.shape);
  const Geometry g = geometry_of(node, shapes);
  const f64 states = static_cast<f64>(g.batch) * static_cast<f64>(g.length) *
                     static_cast<f64>(g.heads) * static_cast<f64>(g.key) *
                     static_cast<f64>(g.value);
  return states * static_cast<f64>(3 + g.q_heads / g.heads);
}

constexpr OpTraits kTraits{.work = work};

}  // namespace

extern constinit const OpDef kLinearAttention{.name = "LinearAttention",
                                              .inputs = {3, 6},
                                              .outputs = {1, 2},
                                              .infer = infer,
                                              .eval = eval,
                                              .traits = &kTraits};
}  // namespace octet
