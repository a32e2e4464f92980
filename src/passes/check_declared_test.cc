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
  const DeclaredType declared{graph.outputs[0], true, dtype ? "a name" : "", dtype, shape};
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
            "the model again");
  EXPECT_NE(error_of(Shape{4}), "");
  EXPECT_NE(error_of(Shape{2, 4}, Dtype::s64), "");
  EXPECT_NE(error_of({}, Dtype::boolean), "");
}

TEST(CheckDeclared, ShapesOfTheCallerOverruleSizes) {
  EXPECT_EQ(error_of(Shape{2, 5}, Dtype::f32, false), "");
  EXPECT_NE(error_of(Shape{2, 4}, Dtype::s64, false), "");
}

}  // namespace
}  // namespace octet
