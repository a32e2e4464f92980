// SPDX-License-Identifier: Apache-2.0
#include "plugin/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/interpret.h"
#include "graph/text.h"
#include "octet/plugin_cpp.h"
#include "octet/plugins.h"
#include "ops/registry.h"

namespace octet {
namespace {

// y = x, whatever lies at `places`; moves elements.
struct PickPlugin {
  explicit PickPlugin(const plugin::Attributes&) {}
  void shapes(plugin::Shapes& s) const { s.same(0, 0); }
  template <class T>
  static void copy(const plugin::Call& call) {
    std::copy_n(call.input(0).data<T>(), call.input(0).elements(), call.output(0).data<T>());
  }
  void reals(plugin::Call& call) const { copy<float>(call); }
  void codes(plugin::Call& call) const { copy<uint8_t>(call); }
};

// x, and as many more of it as a node asks for, as halves.
struct RepeatPlugin {
  explicit RepeatPlugin(const plugin::Attributes&) {}
  void shapes(plugin::Shapes& s) const {
    for (uint64_t i = 0; i < s.outputs(); ++i) s.same(i, 0);
  }
  void reals(plugin::Call& call) const {
    for (uint64_t i = 0; i < call.outputs(); ++i)
      std::copy_n(call.input(0).data<uint16_t>(), call.input(0).elements(),
                  call.output(i).data<uint16_t>());
  }
};

// Three zeros where the constant says so, else one.
struct ZerosPlugin {
  explicit ZerosPlugin(const plugin::Attributes&) {}
  void shapes(plugin::Shapes& s) const {
    constexpr uint16_t kThree = 0x4200;
    s.set(0, {s.input(1).data<uint16_t>()[0] == kThree ? 3 : 1});
  }
  void halves(plugin::Call& call) const {
    std::fill_n(call.output(0).data<uint16_t>(), call.output(0).elements(), uint16_t{0});
  }
};

void add_plugins() {
  using namespace plugin;
  static Library library =
      std::move(Library("evaluated", "1.0")
                    .add(Operator<PickPlugin>("test", "Pick", 1)
                             .flags(OCTET_OPERATOR_COMMUTES)
                             .input({"x"})
                             .input({"places"})
                             .output({"y"})
                             .shapes<&PickPlugin::shapes>()
                             .combination<&PickPlugin::reals>(
                                 "reals", {plugin::f32(), plugin::s64()}, {plugin::f32()})
                             .combination<&PickPlugin::codes>(
                                 "codes", {plugin::u8(), plugin::s64()}, {plugin::u8()}))
                    .add(Operator<RepeatPlugin>("test", "Repeat", 1)
                             .input({"x"})
                             .output({"y"})
                             .output({"more", OCTET_PORT_VARIADIC, 0, OCTET_PLUGIN_MAX_RANK, 0})
                             .shapes<&RepeatPlugin::shapes>()
                             .combination<&RepeatPlugin::reals>(
                                 "halves", {format(OCTET_TYPE_F16)},
                                 {format(OCTET_TYPE_F16), format(OCTET_TYPE_F16)}))
                    .add(Operator<ZerosPlugin>("test", "Zeros", 1)
                             .input({"x"})
                             .input({"count", OCTET_PORT_CONSTANT})
                             .output({"y"})
                             .shapes<&ZerosPlugin::shapes>()
                             .combination<&ZerosPlugin::halves>(
                                 "halves", {format(OCTET_TYPE_F16), format(OCTET_TYPE_F16)},
                                 {format(OCTET_TYPE_F16)})));
  static const octet_plugin& plugin = *library.get();
  add_plugin(plugin);
}

TEST(EvaluatedPlugins, MovedCodesStandBesideTensorsOfTheDeclaredTypes) {
  add_plugins();
  const Graph graph = parse_graph(R"(graph "g"(%x: u8[3], %places: s32[3]) {
  %y: u8[3] = test/Pick(%x, %places) name "pick"
  return %y
})",
                                  find_op);
  const Tensor inputs[] = {Tensor(Dtype::u8, {3}), Tensor(Dtype::s32, {3})};
  try {
    interpret(graph, inputs);
    FAIL() << "evaluated: it reads 8 bytes where 4 are";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("takes no such types"));
  }
}

TEST(EvaluatedPlugins, HaveAFormOfAsManyResultsAsTheirNode) {
  add_plugins();
  const Graph graph = parse_graph(R"(graph "g"(%x: f32[3]) {
  %y: f32[3] = test/Repeat(%x) name "repeat"
  return %y
})",
                                  find_op);
  const Tensor x = Tensor::of<f32>({3}, std::vector<f32>{1, 2, 3});
  EXPECT_EQ(form_of(graph.nodes[0], std::vector<TensorType>{x.type()}).outputs.size(), 1u);
  EXPECT_THAT(interpret(graph, {&x, 1})[0].as<f32>(), testing::ElementsAre(1, 2, 3));
}

TEST(EvaluatedPlugins, TheShapeRuleSeesConstantsAsDeclared) {
  add_plugins();
  const Graph graph = parse_graph(R"(graph "g"(%x: f32[1]) {
  const %count: f32[1] = {3}
  %y: f32[3] = test/Zeros(%x, %count) name "zeros"
  return %y
})",
                                  find_op);
  const Tensor x(Dtype::f32, {1});
  EXPECT_EQ(interpret(graph, {&x, 1})[0].shape(), Shape{3});
}

}  // namespace
}  // namespace octet
