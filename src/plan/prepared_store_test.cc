// SPDX-License-Identifier: Apache-2.0
#include "plan/prepared_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "core/check.h"
#include "plan/bind.h"

namespace octet {
namespace {

// How often things are made, and what they say.
struct Maker {
  std::atomic<int> made{0};

  Preparation of(const std::string& key, const Tensor& weights, int value = 7) {
    return preparation<int>(key, {weights}, [this, value] {
      ++made;
      return value;
    });
  }
};

int read(const Prepared& prepared) { return *static_cast<const int*>(prepared.get()); }

TEST(PreparedStore, MakesOnceWhatIsInUse) {
  PreparedStore store;
  Maker maker;
  const Tensor weights(Dtype::s8, {4});
  const Prepared first = store.get(maker.of("a", weights));
  EXPECT_EQ(store.get(maker.of("a", weights)), first);
  EXPECT_EQ(read(first), 7);
  EXPECT_EQ(maker.made, 1);
  EXPECT_EQ(store.size(), 1u);
}

TEST(PreparedStore, NothingStaysAfterTheLastUser) {
  PreparedStore store;
  Maker maker;
  const Tensor weights(Dtype::s8, {4});
  Prepared user = store.get(maker.of("a", weights));
  const Prepared other = user;
  user.reset();
  EXPECT_EQ(store.size(), 1u);
  (void)store.get(maker.of("b", weights));
  EXPECT_EQ(store.size(), 1u);
  EXPECT_EQ(read(store.get(maker.of("b", weights))), 7);
  EXPECT_EQ(maker.made, 3);
}

// Weights of the same address that live one after the other are not taken for each other: the key keeps the first alive.
TEST(PreparedStore, KeepsTheConstantsOfWhatIsInUse) {
  PreparedStore store;
  Maker maker;
  auto storage = std::make_shared<const std::byte>();
  const std::weak_ptr<const std::byte> alive = storage;
  Prepared user = store.get(maker.of("a", Tensor({Dtype::s8, {1}}, std::move(storage))));
  EXPECT_FALSE(alive.expired());
  user.reset();
  EXPECT_TRUE(alive.expired());
}

TEST(PreparedStore, TellsKeysTypesAndConstantsApart) {
  PreparedStore store;
  Maker maker;
  const Tensor weights(Dtype::s8, {4}), equal(Dtype::s8, {4});
  const Prepared a = store.get(maker.of("a", weights, 1));
  const Prepared b = store.get(maker.of("b", weights, 2));
  const Prepared of_equal = store.get(maker.of("a", equal, 3));
  const Prepared reshaped = store.get(maker.of("a", weights.reshaped({2, 2}), 4));
  const Prepared text = store.get(preparation<std::string>("a", {weights}, [] { return "s"; }));
  EXPECT_EQ(read(a) + 10 * read(b) + 100 * read(of_equal) + 1000 * read(reshaped), 4321);
  EXPECT_EQ(*static_cast<const std::string*>(text.get()), "s");
}

TEST(PreparedStore, WithoutAKeyNothingIsShared) {
  PreparedStore store;
  Maker maker;
  const Prepared a = store.get(maker.of("", {})), b = store.get(maker.of("", {}));
  EXPECT_NE(a, b);
  EXPECT_EQ(store.size(), 0u);
}

TEST(PreparedStore, WhatOutlivesTheStoreIsWhole) {
  Maker maker;
  Prepared user;
  {
    PreparedStore store;
    user = store.get(maker.of("a", Tensor(Dtype::s8, {4})));
  }
  EXPECT_EQ(read(user), 7);
}

TEST(PreparedStore, OneOfManyThreadsMakesIt) {
  PreparedStore store;
  Maker maker;
  const Tensor weights(Dtype::s8, {4});
  constexpr int kThreads = 8;
  std::latch start(kThreads), all_have_it(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      start.arrive_and_wait();
      const Prepared mine = store.get(maker.of("a", weights));
      all_have_it.arrive_and_wait();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(maker.made, 1);
  EXPECT_EQ(store.size(), 0u);
}

// Asked for and let go all the time: whoever asks gets a whole one.
TEST(PreparedStore, ComesAndGoesOnManyThreads) {
  PreparedStore store;
  Maker maker;
  const Tensor weights(Dtype::s8, {4});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 500; ++i) {
        const int which = (i + t) % 3;
        wrong += read(store.get(maker.of(std::to_string(which), weights, which))) != which;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(store.size(), 0u);
}

TEST(PreparedStore, AfterAFailureTheNextTries) {
  PreparedStore store;
  const Tensor weights(Dtype::s8, {4});
  std::atomic<int> tries{0};
  const Preparation failing = preparation<int>("a", {weights}, [&]() -> int {
    if (++tries < 4) fail(Error::Code::out_of_memory, "no room");
    return 5;
  });
  std::atomic<int> errors{0}, made{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      try {
        made += read(store.get(failing));
      } catch (const Error&) {
        ++errors;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(errors, 3);
  EXPECT_EQ(made, 5);
  EXPECT_EQ(store.size(), 0u);
}

// For steps that give it nothing.
struct NoQueue final : Queue {
  void copy(std::byte*, const std::byte*, s64) override {}
  std::unique_ptr<Event> make_event() override { return nullptr; }
  void record(Event&) override {}
  void synchronize() override {}
};

// A plan of steps that only prepare.
Plan plan_of(std::vector<std::function<Prepared()>> makes) {
  Plan plan;
  for (size_t i = 0; i < makes.size(); ++i) {
    PlanStep step;
    step.name = "step" + std::to_string(i);
    step.candidate.prepare = [make = makes[i], i](const BindArgs&) {
      return std::vector<Preparation>{{std::to_string(i), {}, make}};
    };
    step.candidate.bind = [](const BindArgs& args) -> RunStep {
      return [value = *args.prepared_as<int>()](const StepArgs& run) {
        *reinterpret_cast<int*>(run.workspace) += value;
      };
    };
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

TEST(BindSteps, PreparesEveryStepOnce) {
  PreparedStore store;
  for (int threads : {1, 3}) {
    ThreadPool pool(threads);
    NoQueue queue;
    std::atomic<int> made{0};
    std::vector<std::function<Prepared()>> makes;
    for (int i = 0; i < 20; ++i) {
      makes.emplace_back([&made, i] {
        ++made;
        return std::make_shared<const int>(1 << i);
      });
    }
    const std::vector<RunStep> steps = bind_steps(plan_of(makes), {store, pool});
    EXPECT_EQ(made, 20);
    int sum = 0;
    for (const RunStep& step : steps)
      step({nullptr, nullptr, reinterpret_cast<std::byte*>(&sum), queue});
    EXPECT_EQ(sum, (1 << 20) - 1);
  }
}

TEST(BindSteps, AFailureNamesItsStep) {
  PreparedStore store;
  ThreadPool pool(2);
  const auto good = [] { return std::make_shared<const int>(1); };
  const auto bad = []() -> Prepared { fail(Error::Code::out_of_memory, "no room"); };
  try {
    (void)bind_steps(plan_of({good, bad, good}), {store, pool});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("preparing 'step1'"), std::string::npos);
  }
  EXPECT_EQ(store.size(), 0u);
}

}  // namespace
}  // namespace octet
