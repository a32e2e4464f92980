// SPDX-License-Identifier: Apache-2.0
// Models from the text of their graphs, for tests.
#pragma once

#include <memory>
#include <string_view>

#include "graph/text.h"
#include "ops/registry.h"
#include "runtime/model.h"

namespace octet::test {

inline std::shared_ptr<const Model> model_of(std::string_view text) {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(text, find_op);
  return model;
}

// A constant and an input that the graph returns, and a value under two names.
inline constexpr std::string_view kUncomputedOutputs = R"(graph "g"(%x: f32[2]) {
  const %c: f32[2] = {1.0, 2.0}
  %y: f32[2] = Add(%x, %c) name "add"
  return %c, %x, %y, %y
})";

// Data that size other data.
inline constexpr std::string_view kSizedByData = R"(graph "g"(%x: f32[6]) {
  const %two: f32[] = {2.0}
  %m: f32[6] = Mul(%x, %two) name "m"
  %n: s64[1,?] = NonZero(%m) name "n"
  %f: f32[1,?] = Cast(%n) {to="f32"} name "f"
  %y: f32[1,?] = Mul(%f, %two) name "y"
  return %y
})";

}  // namespace octet::test
