// SPDX-License-Identifier: Apache-2.0
#include "core/bounded_json.h"

#include <gtest/gtest.h>

#include "core/error_testing.h"

namespace octet::test {
namespace {

const std::string kFile = "x.json";

void refuse(const std::string& text, const char* why) {
  expect_error([&] { parse_bounded_json(text, kFile, 3); }, Error::Code::invalid_argument,
               {"x.json", why});
}

TEST(BoundedJson, WhatIsRefused) {
  refuse("", "not valid JSON");
  refuse("{\"a\": ", "not valid JSON: parse error at line 1, column 7: ");
  refuse("[[[[1]]]]", "deeper than 3");
  refuse(std::string(100'000, '['), "deeper than 3");
  refuse("{\"a\": 1, \"a\": 1}", "key \"a\" appears twice");
  refuse("{\"o\": {\"a\": 1, \"b\": {}, \"a\": 1}}", "key \"a\" appears twice");
}

TEST(BoundedJson, OneKeyInSeveralObjectsIsFine) {
  EXPECT_EQ(parse_bounded_json("[{\"a\": {\"a\": 1}}, {\"a\": 2}]", kFile, 3).value.size(), 2u);
}

TEST(BoundedJson, FieldsNameWhatIsWrong) {
  const OrderedJsonTree tree = parse_bounded_json(
      "{\"t\": \"x\", \"n\": 3, \"big\": 18446744073709551615, \"l\": []}", kFile, 3);
  const JsonFields fields{tree.value, kFile, "a good file", "part 1: "};
  EXPECT_EQ(fields.text("t"), "x");
  EXPECT_EQ(fields.integer("n", 1, 3), 3);
  EXPECT_TRUE(fields.list("l").empty());
  const auto refused = [&](auto read, const char* why) {
    expect_error(read, Error::Code::invalid_argument, {"x.json: part 1: ", why, "a good file"});
  };
  refused([&] { fields.at("no"); }, "'no' is missing");
  refused([&] { fields.text("n"); }, "'n' is not a text");
  refused([&] { fields.list("n"); }, "'n' is not a list");
  refused([&] { fields.integer("n", 1, 2); }, "'n' is not an integer from 1 to 2");
  refused([&] { fields.integer("big", 0, INT64_MAX); }, "'big' is not an integer");
  refused([&] { fields.number(tree.value["t"], "t"); }, "'t' is not a number");
}

}  // namespace
}  // namespace octet::test
