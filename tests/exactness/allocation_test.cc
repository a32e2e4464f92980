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
#include "runtime/inside.h"
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

// In place, and with one input that is copied each time.
void run_views(Context& context, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::vector<TensorView> in;
  for (const Tensor& input : inputs) in.push_back(view_of(input));
  std::vector<std::byte> odd(inputs[0].bytes() + 1);
  in[0].data = odd.data() + 1;
  copy(view_of(inputs[0]), {in[0].type, odd.data() + 1, {}, "cpu"});
  std::vector<MutableTensorView> out;
  for (Tensor& output : outputs) out.push_back(view_of(output));
  context.run_into(in, out);
  const long before = allocations.load();
  for (int i = 0; i < 3; ++i) context.run_into(in, out);
  EXPECT_EQ(allocations.load(), before) << "views";
}

TEST(RunLoop, AllocatesNothing) {
  int graphs = 0;
  for (u32 seed = 1; seed <= 12; ++seed) {
    auto model = std::make_shared<Model>();
    model->graph = quantized(random_float_graph(seed), seed);
    const std::vector<Tensor> inputs = random_inputs(model->graph, seed, 2);
    for (int threads : {1, 2}) {
      Context context = Inside::context(model, {.threads = threads});
      std::vector<Tensor> outputs = context.run(inputs);
      if (uses_reference(Inside::impl(context).plans.front().plan())) continue;
      const long before = allocations.load();
      for (int i = 0; i < 3; ++i) context.run_into(inputs, outputs);
      EXPECT_EQ(allocations.load(), before) << "seed " << seed << ", " << threads << " threads";
      run_views(context, inputs, outputs);
      ++graphs;
    }
  }
  EXPECT_GT(graphs, 10);
}

}  // namespace
}  // namespace octet
