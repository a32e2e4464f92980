// SPDX-License-Identifier: Apache-2.0
// Small engines for the backend's tests, and what they give.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "graph/text.h"
#include "octet/engine.h"
#include "ops/registry.h"
#include "runtime/inside.h"
#include "runtime/model.h"
#include "tests/integrations/triton_server.h"

namespace octet::triton_test {

inline Engine engine_of(std::string_view text) {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(text, find_op);
  return Inside::engine(std::move(model));
}

// INT8, with an open batch.
inline constexpr std::string_view kConv = R"(graph "g"(%x: u8[?,4,5,5]) {
  const %w: s8[2,4,1,1] = {1, -2, 3, -4, 5, -6, 7, -8}
  const %m: f32[2] = {0.02, 0.05}
  %y: u8[?,2,5,5] @(0.1, 7) = QConv(%x, %w, _, %m) {hi=255, input_zero_points=ints[0, 0, 0, 0], lo=0, output_dtype="u8", output_zero_point=7} name "conv"
  %z: u8[?,2,5,5] @(0.1, 7) = MaxPool(%y) {kernel_shape=ints[3, 3], pads=ints[1, 1, 1, 1]} name "pool"
  return %z, %y
})";
// The same for batches of 4 alone.
inline constexpr std::string_view kFixed = R"(graph "g"(%x: u8[4,4,5,5]) {
  %z: u8[4,4,5,5] = MaxPool(%x) {kernel_shape=ints[3, 3], pads=ints[1, 1, 1, 1]} name "pool"
  return %z
})";
// For images of any size.
inline constexpr std::string_view kOpen = R"(graph "g"(%x: u8[?,4,?,?]) {
  %z: u8[?,4,?,?] = MaxPool(%x) {kernel_shape=ints[3, 3], pads=ints[1, 1, 1, 1]} name "pool"
  return %z
})";
// Whose rows depend on each other.
inline constexpr std::string_view kMixing = R"(graph "g"(%x: f32[?,4]) {
  %y: f32[?,4] = Softmax(%x) {axis=0} name "softmax"
  return %y
})";
// Which fails for an index out of its axis.
inline constexpr std::string_view kLookup = R"(graph "g"(%i: s64[?,2]) {
  const %table: f32[4,3] = {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0}
  %y: f32[?,2,3] = Gather(%table, %i) name "gather"
  return %y
})";
// Whose sizes depend on its data.
inline constexpr std::string_view kChosen = R"(graph "g"(%s: f32[6]) {
  %r: f32[6] = Relu(%s) name "relu"
  %n: s64[*] = NonZero(%r) name "nonzero"
  return %n
})";
// Which continues a sequence.
inline constexpr std::string_view kSums = R"(graph "g"(%x: f32[?,4], %h: f32[?,4]) {
  %n: f32[?,4] = Add(%x, %h) name "add"
  %y: f32[?,4] = Relu(%n) name "relu"
  return %y, %n
})";

// Open in more than the batch: rows that depend on each other, and sizes that depend on data.
inline constexpr std::string_view kMixingOpen = R"(graph "g"(%x: f32[?,?]) {
  %y: f32[?,?] = Softmax(%x) {axis=0} name "softmax"
  return %y
})";
inline constexpr std::string_view kChosenOpen = R"(graph "g"(%x: f32[?,?]) {
  %r: f32[?,?] = Relu(%x) name "relu"
  %y: s64[*] = NonZero(%r) name "nonzero"
  return %y
})";
// The same for rows of 5 alone, which nobody guesses.
inline constexpr std::string_view kMixingOfFive = R"(graph "g"(%x: f32[?,?]) {
  const %c: f32[5] = {1.0, 2.0, 3.0, 4.0, 5.0}
  %a: f32[?,?] = Add(%x, %c) name "add"
  %y: f32[?,?] = Softmax(%a) {axis=0} name "softmax"
  return %y
})";
inline constexpr std::string_view kChosenOfFive = R"(graph "g"(%x: f32[?,?]) {
  const %c: f32[5] = {1.0, 2.0, 3.0, 4.0, 5.0}
  %a: f32[?,?] = Add(%x, %c) name "add"
  %y: s64[*] = NonZero(%a) name "nonzero"
  return %y
})";
inline constexpr std::string_view kSumOfFive = R"(graph "g"(%x: f32[?,?]) {
  const %c: f32[5] = {1.0, 2.0, 3.0, 4.0, 5.0}
  %y: f32[?,?] = Add(%x, %c) name "add"
  return %y
})";
// Which made-up indices are not within.
inline constexpr std::string_view kShortLookup = R"(graph "g"(%i: s64[?,2]) {
  const %table: f32[1,3] = {0.0, 1.0, 2.0}
  %y: f32[?,2,3] = Gather(%table, %i) name "gather"
  return %y
})";

inline Tensor codes(const Shape& shape, unsigned seed) {
  Tensor tensor(Dtype::u8, shape);
  for (uint8_t& code : tensor.mutable_as<uint8_t>())
    code = static_cast<uint8_t>((seed = seed * 1664525u + 1013904223u) >> 24);
  return tensor;
}

// What the engine gives by itself.
inline std::vector<Tensor> answers(const Engine& engine, const std::vector<Tensor>& inputs) {
  return engine.make_context().run(inputs);
}

inline void expect_answer(const TRITONBACKEND_Request& request, const std::string& name,
                          const Tensor& want) {
  ASSERT_EQ(request.error, -1) << request.message;
  const TRITONBACKEND_Output& got = request.output(name);
  EXPECT_EQ(got.shape, std::vector<int64_t>(want.shape().begin(), want.shape().end()));
  EXPECT_EQ(std::memcmp(got.memory, want.data(), want.bytes()), 0) << name;
}

// Every one of them once.
inline void expect_finished(const TRITONBACKEND_Request& request) {
  EXPECT_EQ(request.answers, 1);
  EXPECT_EQ(request.releases, 1);
  EXPECT_EQ(request.successes + request.failures, 1);
  EXPECT_EQ(request.successes == 1, request.error == -1);
}

// Served from a folder of its own.
struct SavedModel {
  SavedModel(const std::string& name, const Engine& engine) : folder(name) {
    engine.save(folder.version(1) / "model.octet");
  }
  Folder folder;
};

// A graph's engine, as a usual server has it.
struct ServedGraph {
  ServedGraph(const std::string& name, std::string_view graph)
      : engine(engine_of(graph)), model(name, engine), served(server, model.folder) {}

  const Server server;
  const Engine engine;
  const SavedModel model;
  Served served;
};

}  // namespace octet::triton_test
