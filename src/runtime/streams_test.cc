// SPDX-License-Identifier: Apache-2.0
// Many callers: contexts and pools that any threads make, share, run and destroy at the same time. The thread sanitizer runs this.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "core/thread_pool.h"
#include "graph/interpret.h"
#include "octet/engine.h"
#include "runtime/inside.h"
#include "runtime/model.h"
#include "runtime/random_graph_testing.h"

namespace octet {
namespace {

constexpr int kCallers = 6;

// An engine with its input and what comes out.
struct Case {
  explicit Case(s64 batch) {
    auto made = std::make_shared<Model>();
    made->graph = test::GraphMaker(batch, 7).finish();
    Tensor x(Dtype::f32, {batch, 3, 12, 10});
    u32 state = 1;
    for (f32& v : x.mutable_as<f32>()) {
      state = state * 1664525u + 1013904223u;
      v = static_cast<f32>(state >> 24) * 0.05f - 6.0f;
    }
    inputs = {x};
    want = interpret(made->graph, inputs);
    model = std::move(made);
  }

  bool is_right(std::span<const Tensor> got) const {
    for (size_t i = 0; i < want.size(); ++i) {
      if (std::memcmp(got[i].data(), want[i].data(), want[i].bytes()) != 0) return false;
    }
    return true;
  }

  std::shared_ptr<const Model> model;
  std::vector<Tensor> inputs, want;
};

template <class F>
void on_many_threads(const F& body) {
  std::vector<std::thread> threads;
  for (int t = 0; t < kCallers; ++t) threads.emplace_back([&, t] { body(t); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Streams, ContextsComeRunAndGoOnManyThreads) {
  const Case one(1), four(4);
  const Engine engines[] = {Inside::engine(one.model), Inside::engine(four.model)};
  std::atomic<int> wrong{0};
  on_many_threads([&](int t) {
    for (int i = 0; i < 6; ++i) {
      const bool batch = (t + i) % 2 == 1;
      Context context = engines[batch].make_context({1 + (t + i) % 3});
      const Case& c = batch ? four : one;
      std::vector<Tensor> outputs = context.run(c.inputs);
      for (int run = 0; run < 3; ++run) context.run_into(c.inputs, outputs);
      if (!c.is_right(outputs)) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Streams, ContextsShareAPool) {
  const Case one(1), four(4);
  const auto pool = make_thread_pool(3);
  std::atomic<int> wrong{0};
  on_many_threads([&](int t) {
    const Case& c = t % 2 == 1 ? four : one;
    for (int i = 0; i < 3; ++i) {
      Context context = Inside::engine(c.model).make_context({.pool = pool});
      for (int run = 0; run < 5; ++run) {
        if (!c.is_right(context.run(c.inputs))) ++wrong;
      }
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Streams, APoolLivesAsLongAsItsContexts) {
  const Case c(4);
  std::vector<Context> contexts;
  {
    const auto pool = make_thread_pool(2);
    for (int i = 0; i < 2; ++i)
      contexts.push_back(Inside::engine(c.model).make_context({.pool = pool}));
  }
  for (Context& context : contexts) EXPECT_TRUE(c.is_right(context.run(c.inputs)));
}

TEST(Streams, PoolsComeAndGoOnManyThreads) {
  on_many_threads([](int t) {
    for (int i = 0; i < 20; ++i) {
      ThreadPool pool(1 + (t + i) % 4);
      std::atomic<s64> sum{0};
      for (int step = 0; step < 20; ++step)
        pool.parallel_for(step % 5, [&](s64 begin, s64 end, int) { sum += end - begin; });
      EXPECT_EQ(sum, 4 * (0 + 1 + 2 + 3 + 4));
    }
  });
}

// Whoever holds the pool's turn has it alone.
TEST(Streams, TurnsDoNotOverlap) {
  ThreadPool pool(3);
  int running = 0;
  std::atomic<int> overlaps{0};
  on_many_threads([&](int) {
    for (int i = 0; i < 50; ++i) {
      const ThreadPool::Turn turn(pool);
      if (++running != 1) ++overlaps;
      std::atomic<s64> sum{0};
      pool.parallel_for(3, [&](s64 begin, s64 end, int) { sum += end - begin; });
      if (sum != 3) ++overlaps;
      --running;
    }
  });
  EXPECT_EQ(overlaps, 0);
}

}  // namespace
}  // namespace octet
