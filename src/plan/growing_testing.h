// SPDX-License-Identifier: Apache-2.0
// Small decoders whose caches grow, for tests.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/text.h"
#include "ops/registry.h"

namespace octet::test {

// Two heads of 4, a table of 200 positions, a mask that the caller gives; the position follows from the cache's size, as exporters have it.
inline constexpr std::string_view kGrowingReals =
    R"(graph "g"(%x: f32[1,1,8], %mask: s64[1,?], %key: f32[1,2,?,4], %value: f32[1,2,?,4]) {
  const %table: f32[200,8] = zeros 1600
  const %wq: f32[8,8] = zeros 64
  const %wk: f32[8,8] = zeros 64
  const %wv: f32[8,8] = zeros 64
  const %heads: s64[4] = {1, 1, 2, 4}
  const %joined: s64[3] = {1, 1, 8}
  const %two: s64[] = {2}
  const %axis: s64[1] = {0}
  const %last: s64[2] = {1, 2}
  const %one: f32[] = {1}
  const %low: f32[] = {-10000}
  const %half: f32[] = {0.5}
  %sizes: s64[4] = Shape(%key) name "sizes"
  %length: s64[] = Gather(%sizes, %two) name "length"
  %place: s64[1] = Unsqueeze(%length, %axis) name "place"
  %position: f32[1,8] = Gather(%table, %place) name "position"
  %in: f32[1,1,8] = Add(%x, %position) name "in"
  %q: f32[1,1,8] = MatMul(%in, %wq) name "q"
  %k: f32[1,1,8] = MatMul(%in, %wk) name "k"
  %v: f32[1,1,8] = MatMul(%in, %wv) name "v"
  %qh: f32[1,1,2,4] = Reshape(%q, %heads) name "qh"
  %kh: f32[1,1,2,4] = Reshape(%k, %heads) name "kh"
  %vh: f32[1,1,2,4] = Reshape(%v, %heads) name "vh"
  %qt: f32[1,2,1,4] = Transpose(%qh) {perm=ints[0, 2, 1, 3]} name "qt"
  %kt: f32[1,2,1,4] = Transpose(%kh) {perm=ints[0, 2, 1, 3]} name "kt"
  %vt: f32[1,2,1,4] = Transpose(%vh) {perm=ints[0, 2, 1, 3]} name "vt"
  %keys: f32[1,2,?,4] = Concat(%key, %kt) {axis=2} name "keys"
  %values: f32[1,2,?,4] = Concat(%value, %vt) {axis=-2} name "values"
  %turned: f32[1,2,4,?] = Transpose(%keys) {perm=ints[0, 1, 3, 2]} name "turned"
  %raw: f32[1,2,1,?] = MatMul(%qt, %turned) name "raw"
  %scores: f32[1,2,1,?] = Mul(%raw, %half) name "scores"
  %real: f32[1,?] = Cast(%mask) {to="f32"} name "real"
  %hidden: f32[1,?] = Sub(%one, %real) name "hidden"
  %lows: f32[1,?] = Mul(%hidden, %low) name "lows"
  %wide: f32[1,1,1,?] = Unsqueeze(%lows, %last) name "wide"
  %masked: f32[1,2,1,?] = Add(%scores, %wide) name "masked"
  %weights: f32[1,2,1,?] = Softmax(%masked) {axis=-1} name "weights"
  %mixed: f32[1,2,1,4] = MatMul(%weights, %values) name "mixed"
  %back: f32[1,1,2,4] = Transpose(%mixed) {perm=ints[0, 2, 1, 3]} name "back"
  %y: f32[1,1,8] = Reshape(%back, %joined) name "y"
  return %y, %keys, %values
})";

// The same attention of codes, without a mask.
inline constexpr std::string_view kGrowingCodes =
    R"(graph "g"(%x: f32[1,2,1,4], %key: f32[1,2,?,4], %value: f32[1,2,?,4]) {
  const %s: f32[] = {0.0625}
  const %z: u8[] = {120}
  const %sp: f32[] = {0.00390625}
  const %zp: u8[] = {0}
  const %m: f32[] = {0.01}
  %keys: f32[1,2,?,4] = Concat(%key, %x) {axis=2} name "keys"
  %values: f32[1,2,?,4] = Concat(%value, %x) {axis=2} name "values"
  %q: u8[1,2,1,4] = QuantizeLinear(%x, %s, %z) name "q"
  %k: u8[1,2,?,4] = QuantizeLinear(%keys, %s, %z) name "k"
  %v: u8[1,2,?,4] = QuantizeLinear(%values, %s, %z) name "v"
  %turned: u8[1,2,4,?] = Transpose(%k) {perm=ints[0, 1, 3, 2]} name "turned"
  %scores: u8[1,2,1,?] = QMatMul(%q, %turned, _, %m) {hi=255, input_zero_points=ints[120, 120], lo=0, output_dtype="u8", output_zero_point=128} name "scores"
  %weights: u8[1,2,1,?] = QSoftmax(%scores) {axis=-1, hi=255, input_zero_points=ints[128], lo=0, output_dtype="u8", output_zero_point=0, scales=floats[0.05, 0.00390625]} name "weights"
  %y: u8[1,2,1,4] = QMatMul(%weights, %v, _, %m) {hi=255, input_zero_points=ints[0, 120], lo=0, output_dtype="u8", output_zero_point=128} name "y"
  %r: f32[1,2,1,4] = DequantizeLinear(%y, %s, %z) name "r"
  return %r, %keys, %values
})";

inline Tensor growing_reals(const Shape& shape, u32 seed) {
  Tensor tensor(Dtype::f32, shape);
  for (f32& v : tensor.mutable_as<f32>()) v = static_cast<f32>(++seed * 37 % 251) * 0.03f - 3.7f;
  return tensor;
}

// Of one of the texts above; values stand in the place of its zeros.
inline Graph growing_graph(std::string text) {
  constexpr std::string_view kZeros = "zeros ";
  for (size_t at = text.find(kZeros); at != std::string::npos; at = text.find(kZeros)) {
    const size_t end = text.find('\n', at);
    std::string values = "{0";
    for (int i = std::stoi(text.substr(at + kZeros.size(), end - at)); i > 1; --i) values += ", 0";
    text.replace(at, end - at, values + "}");
  }
  Graph graph = parse_graph(text, find_op);
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    Value& value = graph.value(id);
    if (value.constant && value.type.dtype == Dtype::f32 && value.type.shape.rank() == 2)
      value.constant = growing_reals(value.type.shape, id);
  }
  return graph;
}

// Inputs of a run over caches of `length` rows; all that is open grows with it.
inline std::vector<Tensor> growing_inputs(const Graph& graph, s64 length) {
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    const TensorType& type = graph.value(id).type;
    Shape shape = type.shape;
    for (int d = 0; d < shape.rank(); ++d) {
      if (shape[d] < 0) shape[d] = length + (type.dtype == Dtype::s64 ? 1 : 0);
    }
    if (type.dtype == Dtype::f32) {
      inputs.push_back(growing_reals(shape, id));
      continue;
    }
    Tensor mask(type.dtype, shape);
    for (size_t i = 0; i < mask.mutable_as<s64>().size(); ++i)
      mask.mutable_as<s64>()[i] = i % 5 != 3;
    inputs.push_back(std::move(mask));
  }
  return inputs;
}

}  // namespace octet::test
