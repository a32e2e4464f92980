// SPDX-License-Identifier: Apache-2.0
#include "passes/check_declared.h"

#include <gtest/gtest.h>

#include "graph/text.h"
#include "octet/error.h"
#include "ops/registry.h"

namespace octet {
namespace {

// What is said of y = Relu(x), x: f32[?,4].
std::string error_of(const std::optional<Shape>& shape, std::optional<Dtype> dtype = Dtype::f32,
                     bool sizes = true) {
  Graph graph = parse_graph(
      "graph \"g\"(%x: f32[?,4]) {\n%y: f32[?,4] = Relu(%x) name \"n\"\nreturn %y\n}", find_op);
  const DeclaredType declared{nullptr, graph.outputs[0], true, dtype ? "a name" : "", dtype, shape};
  try {
    check_declared(graph, std::vector{declared}, sizes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_model);
    return error.what();
  }
  return "";
}

TEST(CheckDeclared, WhatFitsIsFine) {
  EXPECT_EQ(error_of(Shape{2, 4}), "") << "a dynamic dimension may be called 2";
  EXPECT_EQ(error_of(Shape{-1, -1}), "");
  EXPECT_EQ(error_of({}), "");
  EXPECT_EQ(error_of(Shape{2, 4}, {}), "");
}

TEST(CheckDeclared, NamesWhatIsDeclaredAndWhatIsComputed) {
  EXPECT_EQ(error_of(Shape{2, 5}),
            "the file declares output 'y' as f32[2,5], but node 'n' (Relu) gives f32[?,4]; export "
            "the model again, or give the shapes of its inputs, which overrule this");
  EXPECT_NE(error_of(Shape{4}), "");
  EXPECT_NE(error_of(Shape{2, 4}, Dtype::s64), "");
  EXPECT_NE(error_of({}, Dtype::boolean), "");
}

TEST(CheckDeclared, ShapesOfTheCallerOverruleSizes) {
  EXPECT_EQ(error_of(Shape{2, 5}, Dtype::f32, false), "");
  EXPECT_NE(error_of(Shape{2, 4}, Dtype::s64, false), "");
}

// What is said of a value of one of two branches (x is f32[?,4]), of a loop that hands it on and collects it, or of a Scan of opset 8.
std::string error_inside(std::string_view node, std::string_view body, std::string_view value,
                         const DeclaredType& said) {
  Graph graph =
      parse_graph(R"(graph "g"(%x: f32[?,4], %c: bool[1], %states: f32[2,4], %steps: f32[2,3,4]) {
  const %trips: s64[] = {3}
  const %two: f32[] = {2.0}
  %y: f32[*] = If(%c, %x, %two) {else_branch=graph "e"(%a: f32[*], %b: f32[*]) {
    %r: f32[*] = Mul(%a, %b) name "mul"
    return %r
  }, then_branch=graph "t"(%a: f32[*], %b: f32[*]) {
    %r: f32[*] = MatMul(%a, %a) name "never"
    return %r
  }} name "if"
  %z: f32[*], %all: f32[*] = Loop(%trips, %c, %x) {body=graph "b"(%i: f32[*], %k: f32[*], %s: f32[*]) {
    %t: f32[*] = Neg(%s) name "neg"
    return %k, %t, %s
  }, carried=1} name "loop"
  %last: f32[*], %sums: f32[*] = Scan(%states, %steps) {batched=1, body=graph "s"(%s: f32[*], %e: f32[*]) {
    %t: f32[*] = Add(%s, %e) name "add"
    return %t, %t
  }, num_scan_inputs=1} name "scan"
  return %y, %z, %all, %last, %sums
})",
                  find_op);
  DeclaredType declared = said;
  for (const Node& each : graph.nodes) {
    if (each.name == node) declared.body = each.attrs.graph(body);
  }
  for (ValueId id = 0; id < declared.body->value_count(); ++id) {
    if (declared.body->value(id).name == value) declared.id = id;
  }
  try {
    check_declared(graph, std::vector{declared}, true);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_model);
    return error.what();
  }
  return "";
}

DeclaredType said(Dtype dtype, const Shape& shape) {
  DeclaredType declared;
  declared.is_output = true;
  declared.dtype = "a name";
  declared.known = dtype;
  declared.shape = shape;
  return declared;
}

TEST(CheckDeclared, LooksIntoBodies) {
  EXPECT_EQ(error_inside("if", "else_branch", "r", said(Dtype::f32, {2, 4})), "");
  EXPECT_EQ(error_inside("if", "else_branch", "r", said(Dtype::f32, {2, 5})),
            "the file declares output 'r' as f32[2,5], but node 'mul' (Mul) gives f32[?,4]; export "
            "the model again, or give the shapes of its inputs, which overrule this\n  in "
            "'else_branch' of node 'if' (If)");
  EXPECT_NE(error_inside("if", "else_branch", "r", said(Dtype::s32, {2, 4})), "");
  EXPECT_EQ(error_inside("loop", "body", "t", said(Dtype::f32, {7, 4})), "");
  EXPECT_NE(error_inside("loop", "body", "t", said(Dtype::f32, {4})), "");
  EXPECT_NE(error_inside("loop", "body", "s", said(Dtype::u8, {7, 4})), "");
  EXPECT_NE(error_inside("loop", "body", "i", said(Dtype::s32, {})), "") << "a round's number";
  EXPECT_EQ(error_inside("loop", "body", "i", said(Dtype::s64, {1})), "");
  EXPECT_NE(error_inside("loop", "body", "i", said(Dtype::s64, {2})), "");
  EXPECT_NE(error_inside("loop", "body", "i", said(Dtype::s64, {1, 1})), "");
}

TEST(CheckDeclared, AScanOfOpset8TakesTheBatchApart) {
  EXPECT_EQ(error_inside("scan", "body", "e", said(Dtype::f32, {4})), "");
  EXPECT_EQ(error_inside("scan", "body", "t", said(Dtype::f32, {4})), "");
  EXPECT_NE(error_inside("scan", "body", "t", said(Dtype::f32, {3, 4})), "");
}

TEST(CheckDeclared, ABranchThatDoesNotFitMayNeverRun) {
  EXPECT_EQ(error_inside("if", "then_branch", "r", said(Dtype::s64, {9})), "");
}

}  // namespace
}  // namespace octet
