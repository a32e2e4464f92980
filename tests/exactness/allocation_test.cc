// SPDX-License-Identifier: Apache-2.0
// The run loop allocates nothing: global operator new is counted while planned graphs run into the caller's tensors.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "octet/engine.h"
#include "random_graph.h"
#include "runtime/context.h"
#include "runtime/model.h"

namespace {
std::atomic<long> allocations{0};

void* count_and_allocate(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
}  // namespace

void* operator new(size_t bytes) { return count_and_allocate(bytes); }
void* operator new[](size_t bytes) { return count_and_allocate(bytes); }
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
void* operator new[](size_t bytes, const std::nothrow_t&) noexcept { return std::malloc(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace octet {
namespace {

bool uses_reference(const Plan& plan) {
  return std::ranges::any_of(plan.steps, [](const PlanStep& s) { return s.kernel == "reference"; });
}

TEST(RunLoop, AllocatesNothing) {
  int graphs = 0;
  for (u32 seed = 1; seed <= 12; ++seed) {
    auto model = std::make_shared<Model>();
    model->graph = quantized(random_float_graph(seed), seed);
    const std::vector<Tensor> inputs = random_inputs(model->graph, seed, 2);
    for (int threads : {1, 2}) {
      Context context(model, {.threads = threads});
      std::vector<Tensor> outputs = context.run(inputs);
      if (uses_reference(context.impl().plans.front().plan())) continue;
      const long before = allocations.load();
      for (int i = 0; i < 3; ++i) context.run_into(inputs, outputs);
      EXPECT_EQ(allocations.load(), before) << "seed " << seed << ", " << threads << " threads";
      ++graphs;
    }
  }
  EXPECT_GT(graphs, 10);
}

}  // namespace
}  // namespace octet
