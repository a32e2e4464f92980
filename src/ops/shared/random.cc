// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/random.h"

#include <bit>
#include <cmath>
#include <numbers>
#include <string>

#include "core/check.h"
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

}  // namespace

RandomStream::RandomStream(const Node& node)
    : state_(node.attrs.has("seed") ? u64{std::bit_cast<u32>(node.attrs.f("seed", 0.0f))}
                                    : hash(node.name)) {}

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
  attrs.set("dtype", std::string(dtype_name(dtype_from_onnx(attrs.i("dtype")))));
}

void infer_random(Inference& inference) {
  const Dtype dtype = dtype_from_name(inference.node.attrs.s("dtype", "f32"));
  const Shape shape(inference.node.attrs.ints("shape"));
  require_real(dtype);
  if (!shape.is_static()) fail(Error::Code::invalid_model, "the shape is {}", to_string(shape));
  inference.output(dtype, shape);
}

void infer_random_like(Inference& inference) {
  const TensorType& like = inference.inputs[0];
  const Dtype dtype = dtype_from_name(inference.node.attrs.s("dtype", dtype_name(like.dtype)));
  if (inference.node.op->name != "Bernoulli") require_real(dtype);
  inference.output(dtype, like.shape);
}

void eval_random_uniform(const Eval& eval) {
  RandomStream stream(eval.node);
  const f64 low = static_cast<f64>(eval.node.attrs.f("low", 0.0f));
  const f64 high = static_cast<f64>(eval.node.attrs.f("high", 1.0f));
  fill(eval, [&] { return low + (high - low) * stream.uniform(); });
}

void eval_random_normal(const Eval& eval) {
  RandomStream stream(eval.node);
  const f64 mean = static_cast<f64>(eval.node.attrs.f("mean", 0.0f));
  const f64 scale = static_cast<f64>(eval.node.attrs.f("scale", 1.0f));
  fill(eval, [&] { return mean + scale * stream.normal(); });
}

}  // namespace octet
