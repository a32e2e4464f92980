// SPDX-License-Identifier: Apache-2.0
#include "graph/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "graph/op_def.h"
#include "graph/verify.h"

namespace octet {
namespace {

void infer(Inference& inference) { inference.same_as_input(0); }
constinit const OpDef kOne{.name = "One", .infer = infer};
constinit const OpDef kMany{.name = "Many", .inputs = {0, 8}, .outputs = {1, 2}, .infer = infer};

const OpDef* find(std::string_view name) {
  for (const OpDef* op : {&kOne, &kMany}) {
    if (op->name == name) return op;
  }
  return nullptr;
}

constexpr std::string_view kFull =
    R"(graph "a \"name\"\x0a"(%in: f32[?,3] @(0.5, -1), %"odd:name ": bool[]) {
  const %k: s64[2] = {-1, 9223372036854775807}
  const %e: f32[0] = {}
  const %f: f32[4] = {0.1, -inf, nan, 1e-45}
  const %h: f16[1] = {0.5}
  const %i: s4[3] = {-8, 7, 0}
  const %j: e5m2[2] = {0, 255}
  const %l: u64[2] = {0, 18446744073709551615}
  %a: f32[?,3], _ = Many(%in, _, %k) {b="x\\y", f=1.0, fs=floats[0.1, 2.0], i=-3, is=ints[1, 2], s=strings["p", "q"], t=tensor u8[2] {1, 255}} name "n" from ["/a", "/b"] as "int8" moves_codes "because \"so\""
  %y: f32[?,3] = One(%a) name "m"
  return %y, %e
}
)";

TEST(Text, PrintsWhatItParsed) { EXPECT_EQ(print(parse_graph(kFull, find)), kFull); }

std::string with_decision(const std::string& decision) {
  return "graph \"g\"(%x: f32[3]) {\n  %y: f32[3] = One(%x) name \"n\" as " + decision +
         "\n  return %y\n}\n";
}

TEST(Text, ReadsDecisionsOfBeforeReasonCodes) {
  const std::string text = with_decision("\"f32\" \"built without INT8\"");
  const Graph graph = parse_graph(text, find);
  EXPECT_EQ(graph.nodes[0].decision.precision, Precision::f32);
  EXPECT_EQ(graph.nodes[0].decision.code, ReasonCode::none);
  EXPECT_EQ(print(graph), text);
}

TEST(Text, RefusesUnknownPrecisionsAndReasons) {
  EXPECT_THROW(parse_graph(with_decision("\"f31\" \"why\""), find), Error);
  EXPECT_THROW(parse_graph(with_decision("\"f32\" no_such_reason \"why\""), find), Error);
  EXPECT_THROW(parse_graph(with_decision("\"f32\" no_range"), find), Error);
}

constexpr std::string_view kNested =
    R"(graph "outer"(%c: bool[], %x: f32[2]) {
  %y: f32[*] = Many(%c, %x) {else_branch=graph "e"(%x: f32[*]) {
    return %x
  }, then_branch=graph "t"(%x: f32[*]) {
    const %k: f32[1] = {2.0}
    %z: f32[?] = Many(%x, %k) {body=graph "deep"(%a: f32[*], %b: f32[*]) {
      %s: f32[*] = One(%b) name "inner"
      return %s
    }} name "n"
    return %z
  }} name "if"
  return %y
}
)";

TEST(Text, PrintsNestedGraphs) { EXPECT_EQ(print(parse_graph(kNested, find)), kNested); }

std::string nested(int depth) {
  std::string body = "graph(%x: f32[1]) { return %x }";
  for (int i = 1; i < depth; ++i) {
    body = "graph(%x: f32[1]) { %y: f32[1] = One(%x) {body=" + body + "} return %y }";
  }
  return body;
}

TEST(Text, NestingIsLimited) {
  EXPECT_NO_THROW(parse_graph(nested(kMaxGraphDepth), find));
  EXPECT_THROW(parse_graph(nested(kMaxGraphDepth + 1), find), Error);
  EXPECT_THROW(parse_graph(nested(5000), find), Error);
}

TEST(Verify, LooksIntoBodies) {
  const std::string text =
      "graph(%x: f32[1]) { %y: f32[1] = One(%x) {body=graph(%a: f32[1]) { %b: f32[1] = Two(%a) "
      "return %b }} return %y }";
  EXPECT_THROW(parse_graph(text, find), Error);
  Graph body;
  body.outputs = {body.add_value("never made", {Dtype::f32, {1}})};
  Graph graph;
  graph.inputs = {graph.add_value("x", {Dtype::f32, {1}})};
  graph.outputs = {graph.add_value("y", {Dtype::f32, {1}})};
  Node node;
  node.op = &kOne;
  node.inputs = graph.inputs;
  node.outputs = graph.outputs;
  node.attrs.set("body", std::make_shared<const Graph>(body));
  graph.nodes = {node};
  EXPECT_THROW(verify(graph), Error);
}

TEST(Text, FloatsReadBackEqual) {
  for (f32 x : {0.1f, 1e30f, 1.17549435e-38f, 3.0f, -0.0f, 16777216.0f}) {
    Graph graph;
    graph.outputs = {graph.add_constant("c", Tensor::scalar<f32>(x))};
    const Graph back = parse_graph(print(graph), find);
    const f32 y = back.value(back.outputs[0]).constant.as<f32>()[0];
    EXPECT_EQ(std::memcmp(&x, &y, 4), 0) << x;
  }
}

TEST(Text, LargeConstantsGoToBlobs) {
  Graph graph;
  graph.outputs = {graph.add_constant("c", Tensor(Dtype::f32, {100}))};
  std::vector<Tensor> blobs;
  const std::string text = print(graph, {.blobs = &blobs});
  ASSERT_EQ(blobs.size(), 1u);
  const Graph back = parse_graph(text, find, [&](s64 index, const TensorType&) {
    return blobs.at(static_cast<size_t>(index));
  });
  EXPECT_EQ(back.value(back.outputs[0]).constant.elements(), 100);
  EXPECT_THROW(parse_graph(text, find), Error);
}

// Whatever is cut off or changed, parsing ends in a graph or in one Error that is not our own bug.
TEST(Text, EveryPrefixAndByteChangeIsHandled) {
  const auto survive = [](const std::string& text) {
    try {
      parse_graph(text, find);
    } catch (const Error& error) {
      EXPECT_NE(error.code(), Error::Code::internal) << error.what();
    }
  };
  for (const std::string& full : {std::string(kFull), std::string(kNested)}) {
    for (size_t size = 0; size < full.size(); ++size) survive(full.substr(0, size));
    for (size_t i = 0; i < full.size(); ++i) {
      for (const char* c = "\"%{}[](),?@#_0-9e.\n\xff"; *c != '\0'; ++c) {
        std::string changed = full;
        changed[i] = *c;
        survive(changed);
      }
    }
  }
}

std::string error_of(std::string_view text) {
  try {
    parse_graph(text, find);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Text, ErrorsNameLineAndCause) {
  EXPECT_NE(error_of("graph(%x: f32[1]) {\n  %y: f32[1] = One(%z) name \"n\"\n  return %y\n}")
                .find("line 2"),
            std::string::npos);
  EXPECT_NE(error_of("graph(%x: f99[1]) { return %x }").find("f99"), std::string::npos);
  EXPECT_NE(error_of("graph(%x: f32[1]) { %y: f32[1] = Two(%x) return %y }")
                .find("unknown operator 'Two'"),
            std::string::npos);
  EXPECT_NE(error_of("graph(%x: f32[1], %x: f32[1]) { return %x }").find("twice"),
            std::string::npos);
  EXPECT_NE(error_of("graph() { const %c: f32[3] = {1.0} return %c }").find("1 elements"),
            std::string::npos);
  EXPECT_NE(error_of("graph() { const %c: u4[1] = {16} return %c }").find("16 is no code of u4"),
            std::string::npos);
  EXPECT_NE(
      error_of("graph(%x: f32[1]) { %y: f32[1] = One(%x, %x) name \"n\" return %y }").find("has 2"),
      std::string::npos);
}

TEST(Verify, FindsBrokenInvariants) {
  Graph graph;
  const ValueId x = graph.add_value("x", {Dtype::f32, {1}});
  const ValueId y = graph.add_value("y", {Dtype::f32, {1}});
  graph.inputs = {x};
  graph.outputs = {y};
  EXPECT_THROW(verify(graph), Error);
  Node node;
  node.op = &kOne;
  node.inputs = {x};
  node.outputs = {y};
  graph.nodes = {node};
  EXPECT_NO_THROW(verify(graph));
  graph.nodes.push_back(node);
  EXPECT_THROW(verify(graph), Error);
  graph.nodes[1].outputs = {99};
  EXPECT_THROW(verify(graph), Error);
}

}  // namespace
}  // namespace octet
