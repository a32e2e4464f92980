// SPDX-License-Identifier: Apache-2.0
// Random quantized graphs give one set of bits: the scalar reference against every instruction-set level and 1, 2 and 3
// threads, and against devices whose memory the host cannot touch. OCTET_EXACTNESS_SEEDS=first:count runs others.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "arch/isa.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "octet/engine.h"
#include "ops/registry.h"
#include "random_graph.h"
#include "runtime/context.h"
#include "runtime/engine_file.h"
#include "runtime/inside.h"

namespace octet {
namespace {

std::pair<u32, u32> seeds() {
  const char* text = std::getenv("OCTET_EXACTNESS_SEEDS");
  u32 first = 1, count = 24;
  if (text != nullptr) std::sscanf(text, "%u:%u", &first, &count);
  return {first, count};
}

std::shared_ptr<const Model> model_of(u32 seed) {
  auto model = std::make_shared<Model>();
  // Every second graph adds between quantizations, as explicitly quantized models do.
  PassOptions options;
  if (seed % 2 == 0) options.disabled = {"fuse_residual"};
  model->graph = quantized(random_float_graph(seed), seed, options);
  return model;
}

void expect_equal(const std::vector<Tensor>& expected, const std::vector<Tensor>& got,
                  const std::string& what) {
  ASSERT_EQ(expected.size(), got.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(expected[i].type(), got[i].type());
    EXPECT_EQ(std::memcmp(expected[i].data(), got[i].data(), expected[i].bytes()), 0)
        << what << ", output " << i;
  }
}

TEST(Exactness, RandomGraphsOnEveryLevelAndThreadCount) {
  const auto [first, count] = seeds();
  for (u32 seed = first; seed < first + count; ++seed) {
    const auto model = model_of(seed);
    const std::vector<Tensor> inputs = random_inputs(model->graph, seed + 1000, 1 + seed % 3);
    const std::vector<Tensor> expected = interpret(model->graph, inputs);
    for (const Isa level : kIsaLevels) {
      const std::string isa(isa_name(level));
      setenv("OCTET_CPU_ISA", isa.c_str(), 1);
      if (isa_name(detect_isa()) != isa) continue;  // this machine lacks it
      for (int threads : {1, 2, 3}) {
        Context context = Inside::context(model, {.threads = threads});
        const std::string what = fmt::format(
            "OCTET_EXACTNESS_SEEDS={}:1, OCTET_CPU_ISA={}, {} threads", seed, isa, threads);
        expect_equal(expected, context.run(inputs), what);
        expect_equal(expected, context.run(inputs), what + ", second run");
      }
    }
    unsetenv("OCTET_CPU_ISA");
    if (HasFailure()) FAIL() << print(model->graph);
  }
}

TEST(Exactness, RandomGraphsOnTestDevices) {
  const auto [first, count] = seeds();
  for (u32 seed = first; seed < first + count; ++seed) {
    const auto model = model_of(seed);
    const std::vector<Tensor> inputs = random_inputs(model->graph, seed + 1000, 1 + seed % 3);
    const std::vector<Tensor> expected = interpret(model->graph, inputs);
    // Wholly on the device, then partly on the host.
    for (const std::string& device : {std::string("test:0"), fmt::format("test:{}", seed)}) {
      Context context =
          Inside::context(model, {.threads = 1 + static_cast<int>(seed % 2), .device = device});
      const std::string what = fmt::format("OCTET_EXACTNESS_SEEDS={}:1, {}", seed, device);
      expect_equal(expected, context.run(inputs), what);
      expect_equal(expected, context.run(inputs), what + ", second run");
    }
    if (HasFailure()) FAIL() << print(model->graph);
  }
}

TEST(Exactness, AdditionsAreTheSameInsideAProductAndBehindIt) {
  const auto additions = [](const Graph& graph) {
    return std::ranges::count_if(graph.nodes,
                                 [](const Node& node) { return node.op->name == "QAdd"; });
  };
  s64 behind = 0, left = 0;
  for (u32 seed = 1; seed < 13; ++seed) {
    const Graph graph = random_float_graph(seed);
    const Graph two = quantized(graph, seed, {{"fuse_residual", "fuse_sum"}, -1});
    const Graph one = quantized(graph, seed, {{"fuse_residual"}, -1});
    behind += additions(two);
    left += additions(one);
    const std::vector<Tensor> inputs = random_inputs(graph, seed + 1000, 2);
    expect_equal(interpret(two, inputs), interpret(one, inputs), fmt::format("seed {}", seed));
  }
  EXPECT_GT(behind, 5);
  EXPECT_EQ(left, 0);
}

TEST(Exactness, RandomGraphsAreMostlyInteger) {
  size_t integer = 0, all = 0;
  for (u32 seed = 1; seed < 9; ++seed) {
    const auto model = model_of(seed);
    for (const Node& node : model->graph.nodes) {
      integer += node.decision.precision == Precision::int8 ? 1u : 0u;
      ++all;
    }
  }
  EXPECT_GT(integer * 10, all * 9) << integer << " of " << all;
}

TEST(Exactness, AnEngineFileGivesTheSameBits) {
  const auto model = model_of(5);
  const std::vector<Tensor> inputs = random_inputs(model->graph, 77, 2);
  const auto bytes = std::make_shared<std::vector<std::byte>>(write_engine(*model));
  auto loaded = std::make_shared<const Model>(read_engine({bytes, bytes->data()}, bytes->size()));
  Context before = Inside::context(model), after = Inside::context(loaded);
  expect_equal(before.run(inputs), after.run(inputs), "saved and loaded");
  EXPECT_EQ(*bytes, write_engine(*loaded));
}

}  // namespace
}  // namespace octet
