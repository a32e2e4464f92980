// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/registry.h"
#include "passes/pass.h"
#include "passes/plugin_testing.h"
#include "plugin/plugin_op.h"

namespace octet {

void plugin_codes(Graph&, Rewrites&);

namespace {

// y = x, of reals and of codes, and whatever b is.
struct KeepPlugin {
  explicit KeepPlugin(const plugin::Attributes&) {}
  void shapes(plugin::Shapes& s) const { s.same(0, 0); }
  template <class T>
  static void copy(const plugin::Call& call) {
    std::copy_n(call.input(0).data<T>(), call.input(0).elements(), call.output(0).data<T>());
  }
  void reals(plugin::Call& call) const { copy<float>(call); }
  void codes(plugin::Call& call) const { copy<uint8_t>(call); }
};

void add_keep_plugin() {
  using namespace plugin;
  static Library library =
      std::move(Library("keep", "1.0")
                    .add(Operator<KeepPlugin>("test", "Keep", 1)
                             .flags(OCTET_OPERATOR_COMMUTES)
                             .input({"x"})
                             .input({"b", OCTET_PORT_OPTIONAL, 0, 0})
                             .output({"y"})
                             .shapes<&KeepPlugin::shapes>()
                             .combination<&KeepPlugin::reals>(
                                 "reals", {plugin::f32(), plugin::f32()}, {plugin::f32()})
                             .combination<&KeepPlugin::codes>("codes", {plugin::u8(), plugin::u8()},
                                                              {plugin::u8()})));
  static const octet_plugin& plugin = *library.get();
  add_plugin(plugin);
}

constexpr const char* kBetween = R"(graph "g"(%x: f32[3]) {
  const %s: f32[] = {0.5}
  const %z: u8[] = {100}
  %q: u8[3] = QuantizeLinear(%x, %s, %z) name "q"
  %d: u8[3] = test/Double(%q) name "double"
  %y: f32[3] = DequantizeLinear(%d, %s, %z) name "y"
  return %y
})";

TEST(PluginCodes, GetTheParametersOfTheirNeighbors) {
  add_double_plugin();
  Graph graph = parse_graph(kBetween, find_op);
  Rewrites rewrites;
  plugin_codes(graph, rewrites);
  ASSERT_TRUE(is_plugin_codes(graph.nodes[1]));
  const Tensor x = Tensor::of<f32>({3}, std::vector<f32>{1.0f, -2.6f, 60.0f});
  // 60 is 220 as a code, and twice that more than codes reach.
  EXPECT_THAT(interpret(graph, {&x, 1})[0].as<f32>(), testing::ElementsAre(2.0f, -5.0f, 77.5f));
}

TEST(PluginCodes, WithoutParametersAreNotEvaluated) {
  add_double_plugin();
  const Graph graph = parse_graph(kBetween, find_op);
  const Tensor x = Tensor::of<f32>({3}, std::vector<f32>{1.0f, -2.6f, 60.0f});
  try {
    interpret(graph, {&x, 1});
    FAIL() << "evaluated";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("codes without a scale"));
  }
}

TEST(PluginCodes, AnOptionalInputOfNoDimensionsIsOfTheDeclaredType) {
  add_keep_plugin();
  const Graph graph = parse_graph(R"(graph "g"(%x: f32[3], %b: s64[]) {
  %y: f32[3] = test/Keep(%x, %b) name "keep"
  return %y
})",
                                  find_op);
  const Tensor inputs[] = {Tensor(Dtype::f32, {3}), Tensor(Dtype::s64, {})};
  try {
    interpret(graph, inputs);
    FAIL() << "evaluated";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("takes no such types"));
  }
}

TEST(PluginCodes, AnInputThatIsLeftOutHasNone) {
  add_keep_plugin();
  for (const char* type : {"u8", "s8"}) {
    const Graph graph = parse_graph(fmt::format(R"(graph "g"(%x: {0}[3]) {{
  %y: {0}[3] = test/Keep(%x, _) name "keep"
  return %y
}})",
                                                type),
                                    find_op);
    Tensor x(graph.value(graph.inputs[0]).type.dtype, Shape{3});
    x.mutable_data()[1] = std::byte{200};
    const Tensor y = interpret(graph, {&x, 1})[0];
    EXPECT_EQ(std::memcmp(y.data(), x.data(), x.bytes()), 0);
  }
}

// An engine file says anything of a node: of which type its tensors are is held to what they are.
TEST(PluginCodes, TypesThatAreNotThoseOfTheTensorsAreRefused) {
  add_double_plugin();
  const struct {
    const char *x, *y;          // as the graph has them
    int in, in_stored, scales;  // as the node says: OCTET_TYPE_..., with bit 8 where they are codes
    int out, out_stored;
    const char* said;
  } cases[] = {
      {"u8", "f32", 1, 1, 0, 1, 1, "input 0 is u8, and is said to be f32"},
      {"s8", "u8", 262, 6, 1, 262, 6, "input 0 is s8, and is said to be u8"},
      {"f32", "u8", 1, 1, 0, 1, 6, "octet.out 0: f32 stored as u8"},
      {"u8", "u8", 262, 1, 1, 262, 6, "octet.in 0: u8 per tensor stored as f32"},
      {"u8", "f32", 0, 6, 0, 1, 1, "octet.in 0 is u8 and has no type"},
      {"f32", "u8", 1, 1, 0, 0, 6, "octet.out 0 is u8 and has no type"},
  };
  for (const auto& c : cases) {
    const std::string scales(c.scales == 0 ? "" : "0.5");
    const std::string text = fmt::format(
        R"(graph "g"(%x: {}[3]) {{
  %y: {}[3] = test/Double.codes(%x) {{octet.in=ints[{}], octet.in_counts=ints[{}], octet.in_scales=floats[{}], octet.in_stored=ints[{}], octet.in_zero_points=ints[0], octet.out=ints[{}], octet.out_counts=ints[{}], octet.out_scales=floats[{}], octet.out_stored=ints[{}], octet.out_zero_points=ints[0]}} name "y"
  return %y
}})",
        c.x, c.y, c.in, c.scales, scales, c.in_stored, c.out, c.scales, scales, c.out_stored);
    try {
      parse_graph(text, find_op);
      ADD_FAILURE() << "taken: " << c.said;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(c.said));
    }
  }
}

}  // namespace
}  // namespace octet
