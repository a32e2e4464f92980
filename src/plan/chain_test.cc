// SPDX-License-Identifier: Apache-2.0
// Which nodes become a chain, on a device of forged kernels.
#include "plan/chain.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/interpret.h"
#include "graph/text.h"
#include "octet/tuning.h"
#include "ops/registry.h"
#include "plan/device_testing.h"
#include "plan/plan.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

f64 pair_cost = 0;

Candidate chain_kernel(const LowerRequest& request, const char* kernel, f64 cost) {
  Candidate candidate;
  candidate.kernel = kernel;
  candidate.inputs.assign(request.node.inputs.size(), Layout::linear);
  candidate.outputs.assign(request.node.outputs.size(), Layout::linear);
  candidate.cost = cost;
  return candidate;
}

Offer costs_100(const LowerRequest& request) { return chain_kernel(request, "alone", 100); }
Candidate reference(const LowerRequest& request) { return chain_kernel(request, "reference", 0); }
Offer costs_100_or_400(const LowerRequest& request) {
  return Candidates{chain_kernel(request, "alone", 100), chain_kernel(request, "other", 400)};
}
constexpr Lowering kAlone[] = {
    {"Relu", "relu", costs_100},       {"Abs", "abs", costs_100},
    {"Add", "add", costs_100},         {"Transpose", "transpose", costs_100},
    {"QMatMul", "product", costs_100}, {"Sqrt", "sqrt", costs_100_or_400}};

// `ops` one after the other, the last of which is node `last`.
std::vector<u32> find_ops(const Graph& graph, const Uses& uses, u32 last,
                          std::span<const std::string_view> ops) {
  std::vector<u32> nodes;
  for (s32 n = static_cast<s32>(last); n >= 0 && nodes.size() < ops.size();
       n = uses.producer(graph.nodes[static_cast<size_t>(n)].inputs[0])) {
    if (graph.nodes[static_cast<size_t>(n)].op->name != ops[ops.size() - 1 - nodes.size()]) break;
    nodes.insert(nodes.begin(), static_cast<u32>(n));
  }
  return nodes.size() == ops.size() ? nodes : std::vector<u32>{};
}

std::vector<u32> find_pair(const Graph& graph, const Uses& uses, u32 last) {
  constexpr std::string_view kOps[] = {"Relu", "Abs"};
  return find_ops(graph, uses, last, kOps);
}
Offer offer_pair(const LowerRequest& request) {
  if (pair_cost == 0) return Reject{"it is Tuesday"};
  return chain_kernel(request, "pair", pair_cost);
}
std::vector<u32> find_root(const Graph& graph, const Uses& uses, u32 last) {
  constexpr std::string_view kOps[] = {"Relu", "Sqrt"};
  return find_ops(graph, uses, last, kOps);
}
std::vector<u32> find_three(const Graph& graph, const Uses& uses, u32 last) {
  constexpr std::string_view kOps[] = {"Relu", "Abs", "Add"};
  return find_ops(graph, uses, last, kOps);
}
Offer offer_three(const LowerRequest& request) { return chain_kernel(request, "three", 20); }

constexpr ChainRule kRules[] = {{"pair", find_pair, offer_pair}};
constexpr ChainRule kRootRules[] = {{"root", find_root, offer_pair}};
constexpr ChainRule kTwoRules[] = {kRules[0], {"three", find_three, offer_three}};

class ChainDevice final : public test::PaperDevice {
 public:
  explicit ChainDevice(std::span<const ChainRule> rules)
      : PaperDevice(1),
        backend_{.name = "forged", .lowerings = kAlone, .chains = rules, .reference = reference} {}
  const Backend& backend() const override { return backend_; }

 private:
  const Backend backend_;
};

Plan plan_of(const char* text, std::span<const ChainRule> rules = kRules, bool chains = true) {
  static std::vector<std::unique_ptr<ChainDevice>> devices;  // plans point to theirs
  devices.push_back(std::make_unique<ChainDevice>(rules));
  const Graph graph = parse_graph(text, find_op);
  const Target target{
      .device = devices.back().get(), .host = devices.back().get(), .chains = chains};
  return make_plan(graph, std::vector<Shape>(graph.inputs.size(), Shape{2, 3}), target);
}

std::vector<std::string> kernels_of(const Plan& plan) {
  std::vector<std::string> kernels;
  for (const PlanStep& step : plan.steps) kernels.push_back(step.kernel);
  return kernels;
}

constexpr const char* kThreeNodes = R"(graph "g"(%x: f32[2,3], %z: f32[2,3]) {
  %a: f32[2,3] = Relu(%x) name "relu"
  %b: f32[2,3] = Abs(%a) name "abs"
  %c: f32[2,3] = Add(%b, %z) name "add"
  return %c
})";

TEST(Chain, TakenWhereItCostsLessThanItsParts) {
  pair_cost = 150;
  const Plan plan = plan_of(kThreeNodes);
  EXPECT_THAT(kernels_of(plan), ElementsAre("pair", "alone"));
  const Node& chain = plan.graph.nodes[0];
  ASSERT_TRUE(is_chain(chain));
  EXPECT_EQ(chain.name, "relu + abs");
  EXPECT_EQ(chain_body(chain).nodes.size(), 2u);
  EXPECT_THAT(chain.inputs, ElementsAre(plan.graph.find_value("x")));
  EXPECT_THAT(chain.outputs, ElementsAre(plan.graph.find_value("b")));
}

TEST(Chain, MeansWhatItsPartsMean) {
  pair_cost = 150;
  const Plan plan = plan_of(kThreeNodes);
  Tensor x(Dtype::f32, {2, 3});
  for (size_t i = 0; i < 6; ++i) x.mutable_as<f32>()[i] = static_cast<f32>(i) - 2.5f;
  const std::vector<Tensor> y = eval_node(plan.graph.nodes[0], std::span(&x, 1));
  EXPECT_THAT(y[0].as<f32>(), ElementsAre(0, 0, 0, 0.5f, 1.5f, 2.5f));
}

TEST(Chain, PartsStayWhereItCostsMoreOrIsRefused) {
  pair_cost = 300;
  const Plan dearer = plan_of(kThreeNodes);
  EXPECT_THAT(kernels_of(dearer), ElementsAre("alone", "alone", "alone"));
  EXPECT_THAT(dearer.steps[1].rejects, ElementsAre("pair: costs 1.50 times as much as its parts"));
  pair_cost = 0;
  const Plan refused = plan_of(kThreeNodes);
  EXPECT_THAT(refused.steps[1].rejects, ElementsAre("pair: it is Tuesday"));
}

TEST(Chain, PartsStayWhereAnotherReadsWhatPassesBetween) {
  pair_cost = 150;
  EXPECT_THAT(kernels_of(plan_of(R"(graph "g"(%x: f32[2,3]) {
  %a: f32[2,3] = Relu(%x) name "relu"
  %b: f32[2,3] = Abs(%a) name "abs"
  %c: f32[2,3] = Add(%b, %a) name "add"
  return %c
})")),
              ElementsAre("alone", "alone", "alone"));
  EXPECT_THAT(kernels_of(plan_of(R"(graph "g"(%x: f32[2,3]) {
  %a: f32[2,3] = Relu(%x) name "relu"
  %b: f32[2,3] = Abs(%a) name "abs"
  return %a, %b
})")),
              ElementsAre("alone", "alone"));
}

TEST(Chain, PartsStayWhereTheLastReadsAValueTwice) {
  const Plan plan = plan_of(R"(graph "g"(%x: f32[2,3]) {
  %a: f32[2,3] = Relu(%x) name "relu"
  %b: f32[2,3] = Abs(%a) name "abs"
  %c: f32[2,3] = Add(%b, %b) name "add"
  return %c
})",
                            std::span(kTwoRules).last(1));
  EXPECT_THAT(kernels_of(plan), ElementsAre("alone", "alone", "alone"));
}

TEST(Chain, TheOneThatSavesMoreIsTaken) {
  pair_cost = 150;
  const Plan plan = plan_of(kThreeNodes, kTwoRules);
  EXPECT_THAT(kernels_of(plan), ElementsAre("three"));
  EXPECT_EQ(plan.steps[0].inputs.size(), 2u);
}

TEST(Chain, TargetMayWantEachNodeAlone) {
  pair_cost = 150;
  const Plan plan = plan_of(kThreeNodes, kRules, false);
  EXPECT_THAT(kernels_of(plan), ElementsAre("alone", "alone", "alone"));
  EXPECT_THAT(plan.steps[1].rejects, IsEmpty());
}

// A kernel that was measured to be the best of its layer, and that has a dear estimate, is no reason for a chain.
TEST(Chain, MeasuredPartsChangeNoEstimate) {
  constexpr const char* kRoot = R"(graph "g"(%x: f32[2,3]) {
  %a: f32[2,3] = Relu(%x) name "relu"
  %b: f32[2,3] = Sqrt(%a) name "sqrt"
  return %b
})";
  pair_cost = 300;
  const Plan apart = plan_of(kRoot, kRootRules);
  ASSERT_THAT(kernels_of(apart), ElementsAre("alone", "alone"));
  auto tuning = std::make_shared<Tuning>();
  ChainDevice device(kRootRules);
  const Graph graph = parse_graph(kRoot, find_op);
  const Target target{.device = &device, .host = &device, .tuning = tuning};
  tuning->set({device.identity(), std::string(device.level()), target.threads,
               signature_of(apart, apart.steps[1])},
              {"other", 1.0});
  EXPECT_THAT(kernels_of(make_plan(graph, std::vector<Shape>{{2, 3}}, target)),
              ElementsAre("alone", "other"));
}

// A node, two that read it, and their sum.
std::vector<u32> find_fork(const Graph& graph, const Uses& uses, u32 last) {
  const Node& add = graph.nodes[last];
  if (add.op->name != "Add") return {};
  std::vector<u32> nodes{last};
  for (const ValueId id : add.inputs) {
    if (uses.producer(id) < 0) return {};
    nodes.push_back(static_cast<u32>(uses.producer(id)));
  }
  const s32 first = uses.producer(graph.nodes[nodes[1]].inputs[0]);
  if (first < 0) return {};
  nodes.push_back(static_cast<u32>(first));
  std::ranges::sort(nodes);
  return nodes;
}

TEST(Chain, AValueThatTwoOfItsNodesRead) {
  pair_cost = 50;
  const auto kernels = [&](bool forks, std::string_view outputs) {
    const ChainRule rules[] = {{"fork", find_fork, offer_pair, forks}};
    const ChainDevice device(rules);
    const Graph graph = parse_graph(fmt::format(R"(graph "g"(%x: f32[2,3]) {{
  %r: f32[2,3] = Relu(%x) name "first"
  %a: f32[2,3] = Abs(%r) name "one"
  %s: f32[2,3] = Sqrt(%r) name "other"
  %y: f32[2,3] = Add(%a, %s) name "sum"
  return {}
}})",
                                                outputs),
                                    find_op);
    const Target target{.device = &device, .host = &device};
    return kernels_of(make_plan(graph, std::vector<Shape>{{2, 3}}, target));
  };
  EXPECT_THAT(kernels(true, "%y"), ElementsAre("pair"));
  EXPECT_THAT(kernels(false, "%y"), ElementsAre("alone", "alone", "alone", "alone"));
  EXPECT_THAT(kernels(true, "%y, %r"), ElementsAre("alone", "alone", "alone", "alone"));
}

// It is the chain's second output, read by what stands behind the chain; where it is not kept, where nobody else reads it, and where somebody reads it before the last node, the parts run alone.
TEST(Chain, AValueThatOthersReadToo) {
  pair_cost = 50;
  const auto plan = [&](bool keeps, std::string_view behind) {
    const ChainRule rules[] = {{"kept", find_pair, offer_pair, false, keeps}};
    const ChainDevice device(rules);
    const Graph graph = parse_graph(fmt::format(R"(graph "g"(%x: f32[2,3]) {{
  %r: f32[2,3] = Relu(%x) name "first"
  {}
}})",
                                                behind),
                                    find_op);
    const Target target{.device = &device, .host = &device};
    return make_plan(graph, std::vector<Shape>{{2, 3}}, target);
  };
  constexpr std::string_view kBehind =
      "%a: f32[2,3] = Abs(%r)\n  %y: f32[2,3] = Sqrt(%r)\n  return %y, %a";
  const Plan kept = plan(true, kBehind);
  EXPECT_THAT(kernels_of(kept), ElementsAre("pair", "alone"));
  ASSERT_EQ(kept.graph.nodes[0].outputs.size(), 2U);
  EXPECT_EQ(kept.graph.value(kept.graph.nodes[0].outputs[0]).name, "a");
  EXPECT_EQ(kept.graph.value(kept.graph.nodes[0].outputs[1]).name, "r");
  EXPECT_EQ(kept.graph.nodes[1].inputs[0], kept.graph.nodes[0].outputs[1]);
  const std::vector<f32> values{-2, 1, 4, 9, -1, 16};
  Tensor x(Dtype::f32, {2, 3});
  std::ranges::copy(values, x.mutable_as<f32>().begin());
  const std::vector<Tensor> both = interpret(kept.graph, std::vector<Tensor>{x});
  EXPECT_THAT(both[0].as<f32>(), ::testing::ElementsAre(0, 1, 2, 3, 0, 4));
  EXPECT_THAT(both[1].as<f32>(), ::testing::ElementsAre(0, 1, 4, 9, 0, 16));
  EXPECT_THAT(kernels_of(plan(false, kBehind)), ElementsAre("alone", "alone", "alone"));
  EXPECT_THAT(kernels_of(plan(true, "%y: f32[2,3] = Abs(%r)\n  return %y")),
              ElementsAre("alone", "alone"));
  EXPECT_THAT(kernels_of(plan(true, "%y: f32[2,3] = Abs(%r)\n  return %y, %r")),
              ElementsAre("alone", "alone"));
  EXPECT_THAT(
      kernels_of(plan(true, "%s: f32[2,3] = Sqrt(%r)\n  %y: f32[2,3] = Abs(%r)\n  return %y, %s")),
      ElementsAre("alone", "alone", "alone"));
}

std::vector<u32> find_product(const Graph& graph, const Uses& uses, u32 last) {
  constexpr std::string_view kOps[] = {"Transpose", "QMatMul"};
  return find_ops(graph, uses, last, kOps);
}

// What adds in 32 bits is given no product whose sums may pass them, alone or in a chain.
TEST(Chain, NoPartWhoseSumsPass32Bits) {
  constexpr ChainRule kProductRules[] = {{"product", find_product, offer_pair}};
  pair_cost = 50;
  const auto kernels = [&](s64 depth) {
    const ChainDevice device(kProductRules);
    const Graph graph = parse_graph(R"(graph "g"(%a: u8[2,?], %b: u8[?,3]) {
  const %m: f32[1] = {1}
  %t: u8[2,?] = Transpose(%a) {perm=ints[0, 1]} name "turn"
  %y: u8[2,3] = QMatMul(%t, %b, _, %m) name "product"
  return %y
})",
                                    find_op);
    const Target target{.device = &device, .host = &device};
    return kernels_of(make_plan(graph, std::vector<Shape>{{2, depth}, {depth, 3}}, target));
  };
  EXPECT_THAT(kernels(33025), ElementsAre("pair"));
  EXPECT_THAT(kernels(33026), ElementsAre("alone", "reference"));
}

TEST(Chain, SignaturesTellChainsApart) {
  pair_cost = 150;
  const Plan plan = plan_of(kThreeNodes);
  EXPECT_THAT(signature_of(plan, plan.steps[0]),
              ::testing::HasSubstr("Relu(f32[2,3]) -> f32[2,3]"));
}

}  // namespace
}  // namespace octet
