// SPDX-License-Identifier: Apache-2.0
// One engine on several devices, on the CPU and the test device: rows split and joined, callers side by side, and errors that are the caller's own.
#include "octet/spread.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "graph/text.h"
#include "octet/threads.h"
#include "ops/registry.h"
#include "runtime/inside.h"

namespace octet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Engine spread_engine(std::string_view text) {
  auto model = std::make_shared<Model>();
  model->graph = parse_graph(text, find_op);
  return Inside::engine(std::move(model));
}

constexpr std::string_view kTwoInputs = R"(graph "g"(%x: f32[?,3], %q: u8[?,2]) {
  const %c: f32[3] = {1, -2, 3}
  const %s: f32[] = {0.5}
  const %z: u8[] = {3}
  %y: f32[?,3] = Mul(%x, %c) name "mul"
  %d: f32[?,2] = DequantizeLinear(%q, %s, %z) name "real"
  return %y, %d
})";

std::vector<Tensor> two_inputs(s64 rows) {
  Tensor x(Dtype::f32, {rows, 3}), q(Dtype::u8, {rows, 2});
  std::iota(x.mutable_as<f32>().begin(), x.mutable_as<f32>().end(), -4.0f);
  std::iota(q.mutable_as<u8>().begin(), q.mutable_as<u8>().end(), u8{1});
  return {x, q};
}

void expect_same(std::span<const Tensor> got, std::span<const Tensor> want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_EQ(got[i].type(), want[i].type());
    EXPECT_EQ(std::memcmp(got[i].data(), want[i].data(), want[i].bytes()), 0) << i;
  }
}

std::string said_of(const std::function<void()>& call, Error::Code code) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code);
    return error.message();
  }
  return "no error";
}

TEST(Spread, RowsAreSplitAndJoined) {
  const Engine engine = spread_engine(kTwoInputs);
  Context context = engine.make_context();
  Spread spread(engine, {.devices = {"cpu", "test:1", "cpu"}});
  for (const s64 rows : {1, 2, 3, 7, 20}) {
    for (const s64 each : {0, 1, 4, 50})
      expect_same(spread.run_rows(two_inputs(rows), each), context.run(two_inputs(rows)));
  }
  EXPECT_EQ(spread.contexts(), 3);
  const std::vector<int64_t> runs = spread.runs();
  // 1, 2, 3, 3 runs of equal shares, one for each row, as few of four as do, one of all.
  EXPECT_EQ(std::accumulate(runs.begin(), runs.end(), int64_t{0}), 1 + 2 + 3 + 3 + 3 + 33 + 10 + 5);
}

TEST(Spread, AnyNumberOfThreadsMayCall) {
  const Engine engine = spread_engine(kTwoInputs);
  const std::vector<Tensor> want = engine.make_context().run(two_inputs(9));
  Spread spread(engine, {.devices = {"test:1", "cpu"}});
  run_threads(6, [&](int thread) {
    for (int i = 0; i < 20; ++i) {
      expect_same(thread % 2 == 0 ? spread.run(two_inputs(9)) : spread.run_rows(two_inputs(9), 2),
                  want);
    }
  });
}

TEST(Spread, WhatIsTheCallersFaultLeavesNobodyOut) {
  Spread spread(spread_engine(kTwoInputs), {.devices = {"cpu", "test:1"}});
  constexpr auto kWrong = Error::Code::invalid_argument;
  const std::vector<Tensor> good = two_inputs(4);
  EXPECT_THAT(said_of(
                  [&] {
                    spread.run_rows(std::vector<Tensor>{good[0], two_inputs(3)[1]});
                  },
                  kWrong),
              HasSubstr("the same number of each input"));
  EXPECT_THAT(said_of([&] { spread.run_rows(std::vector<Tensor>{}); }, kWrong),
              HasSubstr("no input"));
  EXPECT_THAT(said_of([&] { spread.run_rows(good, -1); }, kWrong), HasSubstr("at least 1"));
  said_of([&] { spread.run_rows(std::vector<Tensor>{good[1], good[0]}, 1); }, kWrong);
  EXPECT_TRUE(spread.left_out().empty());
  EXPECT_EQ(spread.contexts(), 2);
  EXPECT_EQ(spread.run(good).size(), 2u);
}

TEST(Spread, RowsThatAnOutputLacks) {
  Spread sum(spread_engine(R"(graph "g"(%x: f32[?,3]) {
    %y: f32[1,3] = ReduceMax(%x) {axes=ints[0], keepdims=1} name "max"
    return %y
  })"),
             {.devices = {"cpu", "cpu"}});
  EXPECT_THAT(said_of([&] { sum.run_rows(std::vector<Tensor>{two_inputs(6)[0]}); },
                      Error::Code::unsupported),
              HasSubstr("no row for each"));
  Spread fixed(spread_engine(R"(graph "g"(%x: f32[2,3]) {
    %y: f32[2,3] = Relu(%x) name "relu"
    return %y
  })"),
               {.devices = {"cpu", "cpu"}});
  EXPECT_EQ(fixed.run_rows(std::vector<Tensor>{two_inputs(5)[0]})[0].shape()[0], 5);
  EXPECT_THAT(said_of([&] { fixed.run_rows(std::vector<Tensor>{two_inputs(5)[0]}, 3); },
                      Error::Code::invalid_argument),
              HasSubstr("which the engine fixes"));
}

TEST(Spread, NamesOfDevices) {
  EXPECT_THAT(devices_named("cpu"), ElementsAre("cpu"));
  EXPECT_THAT(devices_named("cpu,test:1"), ElementsAre("cpu", "test:1"));
  constexpr auto kWrong = Error::Code::invalid_argument;
  EXPECT_THAT(said_of([] { devices_named("cpu,cpu"); }, kWrong), HasSubstr("names cpu twice"));
  EXPECT_THAT(said_of([] { devices_named("test:0,test"); }, kWrong),
              HasSubstr("names test:0 twice"));
  EXPECT_THAT(said_of([] { devices_named("tpu"); }, kWrong), HasSubstr("no device 'tpu'"));
  for (const char* nothing : {"", "cpu,", ",cpu"})
    EXPECT_THAT(said_of([&] { devices_named(nothing); }, kWrong), HasSubstr("no device ''"));
  EXPECT_THAT(said_of([] { Spread(spread_engine(kTwoInputs), {.devices = {}}); }, kWrong),
              HasSubstr("no device is named"));
}

}  // namespace
}  // namespace octet
