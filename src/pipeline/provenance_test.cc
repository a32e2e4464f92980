// SPDX-License-Identifier: Apache-2.0
#include "octet/provenance.h"

#include <gtest/gtest.h>

#include "core/error_testing.h"

namespace octet::test {
namespace {

Provenance everything() {
  Provenance all;
  all.version = "1.2.3";
  all.compiler = "a compiler";
  all.model = "m.onnx";
  all.producer = "who";
  all.model_hash = "00ff";
  all.plan.int8 = all.plan.simulate = all.plan.f16 = all.plan.bf16 = true;
  all.plan.target = "cuda:sm90";
  all.plan.fastest = all.plan.fix_subnormals = true;
  all.plan.accuracy_time = 0.1;
  all.plan.keep_float = {"Gelu", "/a,b/\"c\""};
  all.plan.constraints = {{"a:b*", Precision::int8, false}, {"y", Precision::f32, true}};
  all.plan.constraint_mode = ConstraintMode::obey;
  all.plan.rewrites.disabled_passes = {"fuse_bias"};
  all.plan.rewrites.stop_after_rewrites = 0;
  all.input_shapes = {{"x", Shape{1, 3, 8, 8}}, {"scalar", Shape{}}};
  all.preprocess = Preprocess();
  all.preprocess->mean = {0.485f, 0.456f, 0.406f};
  all.methods = "legacy:0.999,0.8, given";
  all.samples = 500;
  all.data_hash = "01";
  all.cache_hash = "02";
  all.ranges_hash = "03";
  all.equalize = false;
  all.given = {{"x", -0.1f, 3.3f}, {"y", 0, 1e-3f}};
  return all;
}

TEST(Provenance, ReadsBackEqual) {
  const std::string text = to_json(everything());
  const Provenance again = provenance_from_json(text, "p.json");
  EXPECT_EQ(to_json(again), text);
  EXPECT_EQ(again.plan.constraints[0].pattern, "a:b*");
  EXPECT_TRUE(again.plan.constraints[1].output);
  EXPECT_EQ(again.plan.constraint_mode, ConstraintMode::obey);
  EXPECT_EQ(again.plan.rewrites.stop_after_rewrites, 0);
  EXPECT_EQ(again.input_shapes.at("x"), (Shape{1, 3, 8, 8}));
  EXPECT_EQ(again.preprocess, everything().preprocess);
  EXPECT_EQ(again.given[0].max, 3.3f);
  EXPECT_FALSE(again.equalize);
  EXPECT_EQ(again.plan.accuracy_time, 0.1);
  const std::string nothing = to_json(Provenance());
  EXPECT_EQ(nothing, R"({"options":{}})");
  EXPECT_EQ(to_json(provenance_from_json(nothing, "p.json")), nothing);
}

TEST(Provenance, WhatIsNotItsOwnIsOneErrorOfTheFile) {
  const std::pair<const char*, const char*> wrong[] = {
      {"[]", "not an object"},
      {"{", "not valid JSON"},
      {R"({"options":[]})", "'options' is not an object"},
      {R"({"octet":1})", "'octet' is not a text"},
      {R"({"samples":-1})", "'samples'"},
      {R"({"samples":1e3})", "'samples'"},
      {R"({"novelty":1})", "'novelty' is nothing that this program knows"},
      {R"({"options":{"int4":true}})", "'int4' is nothing that this program knows"},
      {R"({"options":{"int8":1}})", "'int8' is not true or false"},
      {R"({"options":{"equalize":"off"}})", "'equalize' is not true or false"},
      {R"({"options":{"accuracy_time":"0"}})", "'accuracy_time' is not a number"},
      {R"({"options":{"accuracy_time":-0.5}})", "'accuracy_time' is no part"},
      {R"({"options":{"accuracy_time":1.5}})", "'accuracy_time' is no part"},
      {R"({"options":{"keep_float":"x"}})", "'keep_float' is not a list"},
      {R"({"options":{"keep_float":[1]}})", "'keep_float'"},
      {R"({"options":{"precisions":[["x"]]}})", "'precisions'"},
      {R"({"options":{"precisions":[["x","int3"]]}})", "'precisions'"},
      {R"({"options":{"constraints":"maybe"}})", "'constraints' is no mode"},
      {R"({"options":{"shapes":{"x":[1,2,3,4,5,6,7,8,9]}}})", "shape of 'x'"},
      {R"({"options":{"shapes":{"x":[0]}}})", "shape of 'x'"},
      {R"({"options":{"shapes":{"x":[18446744073709551615]}}})", "shape of 'x'"},
      {R"({"preprocess":{"color":"ultraviolet"}})", "color"},
      {R"({"ranges":{"x":[1,2]}})", "'ranges' is not a list"},
      {R"({"ranges":[["x",1]]})", "'ranges'"},
      {R"({"ranges":[["x","1",2]]})", "'ranges' is not a number"},
      {R"({"octet":"1","octet":"2"})", "twice"},
      {R"({"options":{"a":[[[[[[1]]]]]]}})", "nested"},
  };
  for (const auto& [text, says] : wrong) {
    expect_error([&, json = text] { provenance_from_json(json, "p.json"); },
                 Error::Code::invalid_argument, {"p.json", says});
  }
}

TEST(Provenance, OneMethodIsOne) {
  Provenance from;
  const auto method = [&](const char* names) {
    from.methods = names;
    return range_method(from);
  };
  EXPECT_EQ(method(""), std::nullopt);
  EXPECT_EQ(method("given"), std::nullopt);
  EXPECT_EQ(method("entropy, given"), RangeMethod(RangeRule::entropy));
  EXPECT_EQ(method("given, legacy:0.999,0.8"), RangeMethod(RangeRule::legacy, 0.999, 0.8));
  EXPECT_EQ(method("entropy, mse"), std::nullopt);
  EXPECT_EQ(method("cache, entropy"), std::nullopt);
}

}  // namespace
}  // namespace octet::test
