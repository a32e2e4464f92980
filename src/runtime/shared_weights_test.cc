// SPDX-License-Identifier: Apache-2.0
// Packed weights belong to an engine: any number of contexts, batch sizes and threads use one set, and it goes with the last.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "backends/cpu/device.h"
#include "core/memory.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "octet/limits.h"
#include "ops/registry.h"
#include "plan/prepared_store.h"
#include "runtime/context.h"
#include "runtime/conv_chain_testing.h"
#include "runtime/inside.h"

namespace octet {
namespace {

constexpr s64 kSize = 12;
const Shape kImage{1, 3, kSize, kSize};

// A stem, then 3x3, depthwise and 1x1 in turn: each kind of kernel packs.
std::shared_ptr<const Model> chain(s64 channels, int blocks) {
  test::ConvChain chain(3);
  chain.dense(channels, 3, 2);
  for (int i = 0; i < blocks; ++i) chain.dense(channels, 3).depthwise(3).dense(channels, 1);
  return chain.finish();
}

Tensor codes(const Shape& shape, u32 seed) {
  Tensor tensor(Dtype::u8, shape);
  std::mt19937 random(seed);
  for (u8& q : tensor.mutable_as<u8>()) q = static_cast<u8>(random());
  return tensor;
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

s64 weight_bytes(const Graph& graph) {
  s64 bytes = 0;
  for (const Node& node : graph.nodes) bytes += graph.value(node.inputs[1]).type.bytes();
  return bytes;
}

constexpr s64 kPage = 4096;
s64 arena_bytes(Context& context) {
  return (Inside::impl(context).plans.front().plan().arena_bytes() + 2 * kPage - 1) / kPage * kPage;
}

TEST(SharedWeights, EightContextsTakeOneSetAndEightArenas) {
  const Engine engine = Inside::engine(chain(128, 4));
  const s64 before = counted_bytes(), weights = weight_bytes(Inside::model(engine).graph);
  const std::vector<Shape> shapes = {kImage};
  {
    std::vector<Context> contexts;
    s64 last = before;
    for (int i = 0; i < 8; ++i) {
      contexts.push_back(engine.make_context({.threads = 1 + i % 2}));
      contexts.back().prepare(shapes);
      const s64 taken = counted_bytes() - last;
      last = counted_bytes();
      const s64 arena = arena_bytes(contexts.back());
      if (i == 0) {
        EXPECT_GE(taken, weights + arena);  // what is packed counts
      } else {
        EXPECT_EQ(taken, arena) << i;
      }
    }
  }
  EXPECT_EQ(counted_bytes(), before);
}

TEST(SharedWeights, OfOtherBatchesAndEnginesCopies) {
  const Engine engine = Inside::engine(chain(64, 2)), copy = engine;
  Context context = engine.make_context(), other = copy.make_context();
  context.prepare(std::vector<Shape>{kImage});
  const size_t prepared = Inside::impl(context).store->size();
  const s64 before = counted_bytes();
  context.prepare(std::vector<Shape>{{3, 3, kSize, kSize}});
  EXPECT_EQ(counted_bytes() - before, arena_bytes(context));
  other.prepare(std::vector<Shape>{kImage});
  EXPECT_EQ(Inside::impl(other).store, Inside::impl(context).store);
  EXPECT_EQ(Inside::impl(context).store->size(), prepared);
}

// oneDNN packs too; with more threads or rows it may want another order, which is another set.
TEST(SharedWeights, OfFloatProducts) {
  const auto model = std::make_shared<Model>();
  Graph& graph = model->graph;
  const TensorType rows{Dtype::f32, {16, 256}};
  Tensor weights(Dtype::f32, {256, 256});
  std::mt19937 random(2);
  for (f32& w : weights.mutable_as<f32>()) w = static_cast<f32>(random() % 100) * 0.01f;
  Node node;
  node.op = find_op("MatMul");
  node.name = "product";
  node.inputs = {graph.add_value("x", rows), graph.add_constant("w", weights)};
  node.outputs = {graph.add_value("y", rows)};
  graph.inputs = {node.inputs[0]};
  graph.outputs = node.outputs;
  graph.nodes.push_back(std::move(node));
  const Engine engine = Inside::engine(model);
  const std::vector<Tensor> inputs = {Tensor(rows.dtype, rows.shape)};
  Context first = engine.make_context();
  const Tensor want = first.run(inputs)[0];
  const s64 before = counted_bytes();
  Context second = engine.make_context();
  second.prepare(std::vector<Shape>{rows.shape});
  EXPECT_EQ(counted_bytes() - before, arena_bytes(second));
  EXPECT_TRUE(equal(second.run(inputs)[0], want));
}

TEST(SharedWeights, PackedOnesAreLimited) {
  const Engine engine = Inside::engine(chain(128, 4));
  Context context = engine.make_context();
  Limits limits;
  limits.memory = counted_bytes() + weight_bytes(Inside::model(engine).graph) / 2;
  set_limits(limits);
  const std::vector<Shape> shapes = {kImage};
  const s64 before = counted_bytes();
  EXPECT_THROW(context.prepare(shapes), Error);
  set_limits({});
  EXPECT_EQ(counted_bytes(), before);
  context.prepare(shapes);  // nothing is left of the failure
}

// Every level of instructions has its own kernels. What a key forgets of a size is wrong in the plan that comes second.
TEST(SharedWeights, GiveTheBitsOfTheReference) {
  const auto model = chain(24, 2);
  const auto store = std::make_shared<PreparedStore>();
  for (Isa isa : kIsaLevels) {
    if (!hardware_has(isa)) continue;
    Context first = Inside::context(model, {}, store);
    Context second = Inside::context(model, {.threads = 2}, store);
    Inside::impl(first).target = cpu_target(isa, 1);
    Inside::impl(second).target = cpu_target(isa, 2);
    for (const Shape& shape :
         {kImage, Shape{2, 3, 12, 12}, Shape{1, 3, 9, 31}, Shape{1, 3, 40, 7}}) {
      const std::vector<Tensor> inputs = {codes(shape, 3)};
      const Tensor want = interpret(model->graph, inputs)[0];
      EXPECT_TRUE(equal(first.run(inputs)[0], want)) << isa_name(isa) << " " << to_string(shape);
      EXPECT_TRUE(equal(second.run(inputs)[0], want)) << isa_name(isa) << " " << to_string(shape);
    }
  }
  EXPECT_EQ(store->size(), 0u);
}

// Each packs the one set of weights in another order; signals pack those of a line.
TEST(SharedWeights, TransposedConvolutionsOfOneSetOfWeightsHaveAnOrderEach) {
  Model model;
  const Tensor weights = [] {
    Tensor tensor(Dtype::f32, Shape{4, 8, 3, 3});
    std::mt19937 random(5);
    for (f32& w : tensor.mutable_as<f32>())
      w = static_cast<f32>(static_cast<s32>(random() % 9) - 4);
    return tensor;
  }();
  model.graph = parse_graph(R"(graph "g"(%x: f32[?,4,5,6], %z: f32[?,4,30]) {
    const %w: f32[4,8,3,3] = #0
    const %v: f32[4,8,9] = #1
    %a: f32[] = ConvTranspose(%x, %w) {strides=ints[2, 2]}
    %b: f32[] = ConvTranspose(%x, %w) {pads=ints[1, 1, 1, 1], strides=ints[2, 2]}
    %c: f32[] = ConvTranspose(%x, %w) {strides=ints[1, 3]}
    %d: f32[] = ConvTranspose(%x, %w) {dilations=ints[2, 1], strides=ints[1, 2]}
    %e: f32[] = ConvTranspose(%z, %v) {strides=ints[2]}
    %f: f32[] = ConvTranspose(%z, %v) {pads=ints[4, 3], strides=ints[3]}
    return %a, %b, %c, %d, %e, %f
  })",
                            find_op, [&](s64 index, const TensorType&) {
                              return index == 0 ? weights : weights.reshaped(Shape{4, 8, 9});
                            });
  const auto shared = std::make_shared<const Model>(std::move(model));
  const auto store = std::make_shared<PreparedStore>();
  Context first = Inside::context(shared, {}, store);
  Context second = Inside::context(shared, {.threads = 2}, store);
  for (const s64 batch : {1, 3}) {
    std::vector<Tensor> inputs;
    for (const Shape& shape : {Shape{batch, 4, 5, 6}, Shape{batch, 4, 30}}) {
      inputs.emplace_back(Dtype::f32, shape);
      f32 next = -7.0f;
      for (f32& x : inputs.back().mutable_as<f32>()) x = next = next > 6.0f ? -6.5f : next + 1.0f;
    }
    // Sums of small whole numbers have one value in any order.
    const std::vector<Tensor> want = interpret(shared->graph, inputs);
    for (Context* context : {&first, &second}) {
      const std::vector<Tensor> got = context->run(inputs);
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_TRUE(equal(got[i], want[i])) << i << " batch " << batch;
    }
  }
}

// Created, run with several shapes and destroyed all the time, on one engine: run under the thread sanitizer too.
TEST(SharedWeights, ContextsComeAndGoOnManyThreads) {
  const Engine engine = Inside::engine(chain(16, 2));
  std::vector<Tensor> inputs, expected;
  for (const Shape& shape : {kImage, Shape{3, 3, 12, 12}, Shape{2, 3, 10, 14}}) {
    inputs.push_back(codes(shape, 8));
    expected.push_back(interpret(Inside::model(engine).graph, std::span(&inputs.back(), 1))[0]);
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t, engine = engine] {
      for (size_t i = 0; i < 6; ++i) {
        Context context = engine.make_context({.threads = 1 + static_cast<int>((t + i) % 3)});
        for (size_t n = 0; n < 3; ++n) {
          const size_t which = (t + i + n) % inputs.size();
          const Tensor got = context.run(std::span(&inputs[which], 1))[0];
          wrong += equal(got, expected[which]) ? 0 : 1;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace octet
