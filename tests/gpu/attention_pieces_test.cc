// SPDX-License-Identifier: Apache-2.0
// Attention of codes that no kernel takes whole says which condition failed.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/backends.h"
#include "backends/cuda/device.h"
#include "graph/text.h"
#include "one_node.h"
#include "ops/registry.h"

namespace octet::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

// Heads of this size; what stands between scores %s and Softmax, which reads %z.
Graph pieces(s64 keys, s64 size, const std::string& between, const std::string& softmax) {
  const std::string shape = fmt::format("f32[1,2,8,{}]", keys);
  return parse_graph(
      fmt::format(
          R"(graph "g"(%q: u8[1,2,8,{1}], %k: u8[1,2,{1},{0}], %v: u8[1,2,{0},{1}], %mask: f32[1,1,1,{0}]) {{
  const %m: f32[1] = {{0.001}}
  const %scale: f32[] = {{0.004}}
  const %zero: u8[] = {{0}}
  %s: {2} = QMatMul(%q, %k, _, %m) {{input_zero_points=ints[0, 0], output_dtype="f32"}} name "scores"
  {3}
  {4}
  %o: u8[1,2,8,{1}] = QMatMul(%p, %v, _, %m) {{hi=255, input_zero_points=ints[0, 0], lo=0, output_dtype="u8", output_zero_point=0}} name "context"
  return %o
}})",
          keys, size, shape, between, softmax),
      find_op);
}

std::string softmax_of(const std::string& name, s64 keys) {
  return fmt::format(
      "%p: u8[1,2,8,{}] = QSoftmax({}) {{axis=-1, hi=255, input_zero_points=ints[0], lo=0, "
      "output_dtype=\"u8\", output_zero_point=0, scales=floats[1.0, 0.004]}} name \"softmax\"",
      keys, name);
}

TEST(GpuAttentionInPieces, SaysWhy) {
  std::string why;
  const Device* device = hopper(why);
  if (device == nullptr) GTEST_SKIP() << why;
  const Target target = make_target(device->name(), 1, nullptr);
  const std::string reals = R"(%r: f32[1,2,8,16] = Softmax(%s) {axis=-1} name "softmax"
  %p: u8[1,2,8,16] = QuantizeLinear(%r, %scale, %zero) name "codes")";
  const struct {
    Graph graph;
    const char* reason;
  } cases[] = {
      {pieces(769, 32, "", softmax_of("%s", 769)), "attention: there are more than 768 keys"},
      {pieces(16, 20, "", softmax_of("%s", 16)), "attention: the size of a head is no multiple"},
      {pieces(16, 32, "%z: f32[1,2,8,16] = Tanh(%s) name \"cap\"", softmax_of("%z", 16)),
       "attention: node 'cap' (Tanh) stands between scores and Softmax"},
      {pieces(16, 32, R"(%a: f32[1,2,8,16] = Add(%s, %mask) name "near"
  %z: f32[1,2,8,16] = Add(%a, %mask) name "far")",
              softmax_of("%z", 16)),
       "attention: more than one sum stands between scores and Softmax, node 'near' (Add) first"},
      {pieces(16, 32, "", reals),
       "attention: node 'softmax' (Softmax) gives reals, which become codes behind it"},
      {pieces(16, 32, "%z: f32[1,2,8,16] = Add(%s, %s) name \"twice\"", softmax_of("%z", 16)),
       "attention: 's' is read elsewhere too"},
  };
  for (const auto& each : cases) {
    const Plan plan = plan_of(each.graph, target);
    std::vector<std::string> reasons;
    for (const PlanStep& step : plan.steps)
      reasons.insert(reasons.end(), step.rejects.begin(), step.rejects.end());
    EXPECT_THAT(reasons, Contains(HasSubstr(each.reason)));
  }
}

}  // namespace
}  // namespace octet::test
