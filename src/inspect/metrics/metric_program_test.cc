// SPDX-License-Identifier: Apache-2.0
#include "octet/metric_program.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/error_testing.h"
#include "octet/error.h"
#include "octet/input.h"

namespace octet {
namespace {

using test::expect_error;

double run(const std::vector<std::string>& words, int seconds = 60) {
  const std::vector<std::string> names = {"a.jpg", "b\xc3\xa4.jpg"};
  const std::vector<std::vector<Tensor>> samples = {{Tensor(Dtype::f32, {1, 3})},
                                                    {Tensor(Dtype::f32, {1, 3})}};
  return run_metric_program({words, seconds}, {"out"}, names, samples);
}

// The file is the last word: $0 of a script that sh is given.
double run_script(const std::string& script, int seconds = 60) {
  return run({"sh", "-c", script}, seconds);
}

TEST(MetricProgram, GetsAFileAndPrintsANumber) {
  EXPECT_EQ(run_script("test -s \"$0\" && echo ' 0.25 '"), 0.25);
  EXPECT_EQ(run_script("echo +0.5"), 0.5);
  EXPECT_EQ(run_script("echo words >&2; printf -- -1e-3"), -0.001);
  // Both arrays stand in it, the names in characters of 32 bits, as many as the longest has.
  EXPECT_EQ(run_script("grep -q out.npy \"$0\" && grep -q sample_names.npy \"$0\" && "
                       "grep -q '<U6' \"$0\" && echo 1"),
            1);
}

TEST(MetricProgram, WhateverElseItDoesIsAnError) {
  constexpr auto kWrong = Error::Code::invalid_argument;
  expect_error([] { run_script("true"); }, kWrong, {"'sh' prints nothing on standard output"});
  expect_error([] { run_script("echo nan"); }, kWrong, {"not finite"});
  expect_error([] { run_script("echo +-1"); }, kWrong, {"something else than one number"});
  expect_error([] { run_script("echo 1 2"); }, kWrong, {"something else than one number"});
  expect_error([] { run_script("echo 3; echo sorry >&2; exit 4"); }, kWrong, {"ends with 4"});
  expect_error([] { run_script("echo 1; sleep 1000 &"); }, kWrong, {"1 of its processes run on"});
  expect_error([] { run_script("echo 1; sleep 1000", 1); }, kWrong, {"does not end within 1 s"});
  expect_error([] { run({"/no/such"}); }, Error::Code::io, {"'/no/such' cannot be started"});
  expect_error([] { run({}); }, kWrong, {"names no program"});
}

TEST(MetricProgram, IsEndedWhereItIsStopped) {
  int asked = 0;
  MetricProgram program{{"sh", "-c", "echo 1; sleep 1000"}, 900};
  program.stop = [&] { return ++asked > 2; };
  const std::vector<std::string> names = {"a.jpg"};
  const std::vector<std::vector<Tensor>> samples = {{Tensor(Dtype::f32, {1, 3})}};
  expect_error([&] { run_metric_program(program, {"out"}, names, samples); },
               Error::Code::cancelled, {"'sh' was stopped"});
}

TEST(MetricProgram, LeavesNoFile) {
  const std::filesystem::path told =
      std::filesystem::temp_directory_path() / fmt::format("octet-told-{}", getpid());
  run_script(fmt::format("printf %s \"$0\" > '{}'; echo 1", told.string()));
  const std::filesystem::path file = read_text(told, 1 << 12);
  std::filesystem::remove(told);
  EXPECT_EQ(file.filename(), "outputs.npz");
  EXPECT_FALSE(std::filesystem::exists(file.parent_path()));
}

}  // namespace
}  // namespace octet
