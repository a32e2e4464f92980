// SPDX-License-Identifier: Apache-2.0
#include "ops/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "graph/interpret.h"
#include "graph/text.h"

namespace octet {
namespace {

void infer_same(Inference& inference) { inference.same_as_input(0); }

void eval_halved(const Eval& eval) {
  const auto x = eval.inputs[0].as<f32>();
  std::ranges::transform(x, eval.outputs[0].as<f32>().begin(), [](f32 v) { return v / 2; });
}

constexpr OpDef operator_of(std::string_view name, std::string_view domain = "test") {
  return {.name = name,
          .domain = domain,
          .inputs = {1, 1},
          .outputs = {1, 1},
          .infer = infer_same,
          .eval = eval_halved};
}

// A registry of its own, so that no other test meets what is added.
struct Registry : OpRegistry {
  static constexpr OpDef kFirst = operator_of("First", ""), kSecond = operator_of("Second", "");
  static constexpr const OpDef* kBuiltIn[] = {&kSecond, &kFirst};
  Registry() : OpRegistry(kBuiltIn) {}
};

std::string refusal(OpRegistry& registry, const OpDef& op) {
  try {
    registry.add(op);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_argument);
    return error.message();
  }
  return {};
}

TEST(OpRegistry, FindsWhatIsBuiltInAndWhatIsAdded) {
  Registry registry;
  static constexpr OpDef kHalf = operator_of("Half");
  EXPECT_EQ(registry.find("First"), &Registry::kFirst);
  EXPECT_EQ(registry.find("Half"), nullptr);
  registry.add(kHalf);
  EXPECT_EQ(registry.find("Half"), &kHalf);
  EXPECT_EQ(registry.find_onnx("test", "Half"), &kHalf);
  EXPECT_EQ(registry.find_onnx("", "Half"), nullptr);
  EXPECT_EQ(registry.find_onnx("ai.onnx", "Second"), &Registry::kSecond);
  EXPECT_EQ(registry.all().size(), 3u);
}

TEST(OpRegistry, AnAddedNameWithItsDomainNeedNotBeNew) {
  Registry registry;
  static constexpr OpDef kOwn = operator_of("test/First"),
                         kCodes = operator_of("test/First.codes", "octet");
  registry.add(kOwn);
  registry.add_for_passes(kCodes);
  EXPECT_EQ(registry.find_onnx("test", "First"), &kOwn);
  EXPECT_EQ(registry.find_onnx("", "First"), &Registry::kFirst);
  EXPECT_EQ(registry.find_onnx("other", "First"), nullptr);
  EXPECT_EQ(registry.find("test/First.codes"), &kCodes);
}

TEST(OpRegistry, RefusesOperatorsThatCannotBeNamedOrRun) {
  Registry registry;
  static constexpr OpDef kHalf = operator_of("Half"), kOther = operator_of("Half", "other");
  registry.add(kHalf);
  EXPECT_THAT(refusal(registry, kOther), testing::HasSubstr("exists already, in domain 'test'"));
  static constexpr OpDef kTaken = operator_of("First");
  EXPECT_THAT(refusal(registry, kTaken), testing::HasSubstr("exists already"));
  for (const char* domain : {"", "ai.onnx", "octet"}) {
    const OpDef foreign = operator_of("Third", domain);
    EXPECT_THAT(refusal(registry, foreign), testing::HasSubstr("domain of its own"));
  }
  OpDef empty = operator_of("Third");
  empty.eval = nullptr;
  EXPECT_THAT(refusal(registry, empty), testing::HasSubstr("evaluation"));
}

TEST(OpRegistry, ThreadsLookUpWhileAnotherAdds) {
  Registry registry;
  static constexpr OpDef kAdded[] = {operator_of("A"), operator_of("B"), operator_of("C")};
  std::thread adds([&] {
    for (const OpDef& op : kAdded) registry.add(op);
  });
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(registry.find("Second"), &Registry::kSecond);
  while (registry.find("C") == nullptr) std::this_thread::yield();
  adds.join();
  EXPECT_EQ(registry.find("A"), &kAdded[0]);
}

// The registry of the process: what engine files are read with.
TEST(OpRegistry, AnAddedOperatorIsReadVerifiedAndRun) {
  static constexpr OpDef kHalf = operator_of("TestHalf");
  op_registry().add(kHalf);
  constexpr const char* kText = R"(graph "g"(%x: f32[2]) {
  %y: f32[2] = TestHalf(%x) name "half"
  return %y
})";
  const Graph graph = parse_graph(kText, find_op);
  const Tensor x = Tensor::of<f32>({2}, std::vector<f32>{3.0f, -1.0f});
  const std::vector<Tensor> y = interpret(graph, {&x, 1});
  EXPECT_THAT(y[0].as<f32>(), testing::ElementsAre(1.5f, -0.5f));
}

}  // namespace
}  // namespace octet
