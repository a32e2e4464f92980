// SPDX-License-Identifier: Apache-2.0
// How large two constants may become as one: golden cases (tests/passes/join_sums) hold small ones alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/propagate.h"
#include "ops/registry.h"
#include "passes/pass.h"

namespace octet {
namespace {

// Softmax(scores + first + second), and how many of its Adds stay.
class Scores {
 public:
  explicit Scores(const Shape& shape) : shape_(shape) {
    sum_ = graph_.add_value("scores", {Dtype::f32, shape});
    graph_.inputs = {sum_};
  }

  void add(const Shape& constant) {
    const ValueId id = graph_.add_constant("c", Tensor(Dtype::f32, constant));
    node("Add", {sum_, id});
  }

  size_t adds_left(const PassOptions& options = {}) {
    node("Softmax", {sum_});
    graph_.outputs = {sum_};
    for (const Pass& pass : float_passes()) {
      if (pass.name == "join_sums") run_passes(graph_, {&pass, 1}, options, nullptr);
    }
    graph_.compact();
    return graph_.nodes.size() - 1;
  }

 private:
  void node(const std::string& op, std::vector<ValueId> inputs) {
    Node node;
    node.op = find_op(op);
    node.name = fmt::format("n{}", graph_.nodes.size());
    node.inputs = std::move(inputs);
    sum_ = graph_.add_value(node.name, {Dtype::f32, shape_});
    node.outputs = {sum_};
    graph_.nodes.push_back(std::move(node));
  }

  Shape shape_;
  Graph graph_;
  ValueId sum_ = kNoValue;
};

size_t adds_left(const Shape& scores, const Shape& first, const Shape& second) {
  Scores graph(scores);
  graph.add(first);
  graph.add(second);
  return graph.adds_left();
}

TEST(JoinSums, SmallSumsGrowFreely) {
  EXPECT_EQ(adds_left({1024, 1024}, {1024, 1}, {1, 1024}), 1u);
}

TEST(JoinSums, LargeSumsGrowFourfoldAtMost) {
  EXPECT_EQ(adds_left({1025, 1024}, {1025, 1}, {1, 1024}), 2u);
  EXPECT_EQ(adds_left({4, 4, 512, 512}, {4, 512, 512}, {4, 1, 512, 512}), 1u);
  EXPECT_EQ(adds_left({16, 8, 256, 256}, {8, 256, 256}, {16, 1, 256, 256}), 2u);
}

TEST(JoinSums, NoneIsLargerThan16MiElements) {
  EXPECT_EQ(adds_left({4097, 4096}, {4097, 4096}, {1, 4096}), 2u);
}

TEST(JoinSums, TakesWhatFoldingMay) {
  for (const bool is_enough : {false, true}) {
    Scores graph({16, 16});
    graph.add({16, 1});
    graph.add({1, 16});
    FoldingBudget budget(is_enough ? 256 : 255);
    PassOptions options;
    options.folding = &budget;
    EXPECT_EQ(graph.adds_left(options), is_enough ? 1u : 2u);
  }
}

// Each sum would look at all behind it, and name all before it.
TEST(JoinSums, LongChainsJoinNearTheSoftmax) {
  constexpr size_t kSums = 100;
  Scores graph({4, 4});
  for (size_t i = 0; i < kSums; ++i) graph.add({4});
  const size_t left = graph.adds_left();
  EXPECT_LT(left, kSums);
  EXPECT_GT(left, kSums / 2);
}

}  // namespace
}  // namespace octet
