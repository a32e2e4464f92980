// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/random.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>

#include "core/check.h"
#include "graph/attributes.h"
#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"
#include "ops/shared/node_parser.h"

namespace octet {
namespace {

// FNV-1a.
u64 hash(std::string_view text) {
  u64 value = 0xcbf29ce484222325;
  for (char c : text) value = (value ^ static_cast<u8>(c)) * 0x100000001b3;
  return value;
}

void require_real(Dtype dtype) {
  if (dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16 || dtype == Dtype::f64)
    return;
  fail(Error::Code::invalid_model, "random numbers of type {} are not real", dtype_name(dtype));
}

template <class Next>
void fill(const Eval& eval, const Next& next) {
  visit_real(eval.outputs[0].dtype, [&]<class T>() {
    for (T& y : eval.outputs[0].as<T>()) y = static_cast<T>(static_cast<Wide<T>>(next()));
  });
}

struct RandomAttributes {
  std::optional<Dtype> dtype;  // absent: f32, or the input's
  std::optional<f32> seed;     // absent: of the node's name

  OCTET_ATTRIBUTES(dtype, seed)
};

struct RandomShapeAttributes : RandomAttributes {
  std::vector<s64> shape;

  OCTET_REQUIRED_ATTRIBUTES(shape)
};

struct UniformAttributes {
  f32 low = 0.0f;
  f32 high = 1.0f;

  OCTET_ATTRIBUTES(low, high)
};

struct NormalAttributes {
  f32 mean = 0.0f;
  f32 scale = 1.0f;

  OCTET_ATTRIBUTES(mean, scale)
};

u64 seed_of(const Node& node) {
  const std::optional<f32> seed = attribute_of<&RandomAttributes::seed>(node);
  return seed ? u64{std::bit_cast<u32>(*seed)} : hash(node.name);
}

}  // namespace

RandomStream::RandomStream(const Node& node) : state_(seed_of(node)) {}

// SplitMix64; the upper 53 bits make a number.
f64 RandomStream::uniform() {
  state_ += 0x9e3779b97f4a7c15;
  u64 z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  z ^= z >> 31;
  return static_cast<f64>(z >> 11) * 0x1p-53;
}

// Box and Muller's transform.
f64 RandomStream::normal() {
  const f64 radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

void parse_random(NodeParser& parser) {
  Attrs& attrs = parser.node.attrs;
  if (!attrs.has("dtype")) return;
  set_attribute<&RandomAttributes::dtype>(attrs, dtype_from_onnx(attrs.i("dtype")));
}

void infer_random(Inference& inference) {
  const auto attributes = attributes_of<RandomShapeAttributes>(inference.node);
  const Dtype dtype = attributes.dtype.value_or(Dtype::f32);
  const Shape shape(attributes.shape);
  require_real(dtype);
  if (!shape.is_static()) fail(Error::Code::invalid_model, "the shape is {}", to_string(shape));
  inference.output(dtype, shape);
}

void infer_random_like(Inference& inference) {
  const TensorType& like = inference.inputs[0];
  const Dtype dtype = attribute_of<&RandomAttributes::dtype>(inference.node).value_or(like.dtype);
  if (inference.node.op->name != "Bernoulli") require_real(dtype);
  inference.output(dtype, like.shape);
}

void eval_random_uniform(const Eval& eval) {
  RandomStream stream(eval.node);
  const auto attributes = attributes_of<UniformAttributes>(eval.node);
  const f64 low = f64{attributes.low}, high = f64{attributes.high};
  fill(eval, [&] { return low + (high - low) * stream.uniform(); });
}

void eval_random_normal(const Eval& eval) {
  RandomStream stream(eval.node);
  const auto attributes = attributes_of<NormalAttributes>(eval.node);
  const f64 mean = f64{attributes.mean}, scale = f64{attributes.scale};
  fill(eval, [&] { return mean + scale * stream.normal(); });
}

}  // namespace octet
