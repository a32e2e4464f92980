// SPDX-License-Identifier: Apache-2.0
// Random numbers that are the same for the same seed, at every run. Without a seed the node's name is one, so that two nodes
// differ.
#pragma once

#include <string_view>

#include "graph/op_def.h"

namespace octet {

class NodeParser;

class RandomStream {
 public:
  explicit RandomStream(const Node& node);
  f64 uniform();  // [0, 1)
  f64 normal();   // mean 0, deviation 1

 private:
  u64 state_;
};

// The attribute `dtype` becomes our name of the type.
void parse_random(NodeParser& parser);
// RandomUniform and RandomNormal: the shape is an attribute.
void infer_random(Inference& inference);
// RandomUniformLike, RandomNormalLike, Bernoulli: the shape and, without `dtype`, the type are those of the input.
void infer_random_like(Inference& inference);

// `low` + (`high` - `low`) * uniform, or `mean` + `scale` * normal.
void eval_random_uniform(const Eval& eval);
void eval_random_normal(const Eval& eval);

// `infer` is one of the above, and so is `eval`.
constexpr OpDef random_numbers(std::string_view name, Arity inputs, void (*infer)(Inference&),
                               void (*eval)(const Eval&)) {
  return {.name = name, .inputs = inputs, .parse = parse_random, .infer = infer, .eval = eval};
}

}  // namespace octet
