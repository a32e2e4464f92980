// SPDX-License-Identifier: Apache-2.0
// One import and one calibration, several engines: each the one that compile() makes.
#include "octet/source_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "octet/npz.h"

namespace {

namespace fs = std::filesystem;
using octet::CompileOptions;
using octet::Error;
using octet::PrecisionPlan;
using octet::SourceModel;
using octet::Tensor;
using testing::HasSubstr;

const fs::path kDigits = fs::path(OCTET_SOURCE_DIR) / "examples/digits";
const fs::path kModel = kDigits / "digits.onnx";
const std::string kImages = (kDigits / "digits.npz").string() + ":train_images[0:20]";

std::vector<std::byte> contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

CompileOptions options_for(const PrecisionPlan& plan) {
  CompileOptions options;
  options.plan = plan;
  options.calibration.emplace().data = kImages;
  return options;
}

// The images in one batch, of which each reading is counted.
CompileOptions counted_options(std::atomic<int>& readings) {
  CompileOptions options;
  options.calibration.emplace().samples = [&readings,
                                           given = false](std::vector<Tensor>& inputs) mutable {
    if (given) return false;
    given = true;
    ++readings;
    const Tensor images = octet::read_npz(kDigits / "digits.npz", "train_images");
    octet::Shape shape = images.shape();
    const size_t image = images.bytes() / static_cast<size_t>(shape[0]);
    shape[0] = 20;
    Tensor batch(images.dtype(), shape);
    std::memcpy(batch.mutable_data(), images.data(), 20 * image);
    inputs = {batch};
    return true;
  };
  return options;
}

std::vector<PrecisionPlan> some_plans() {
  PrecisionPlan real, int8, mixed, half;
  int8.int8 = mixed.int8 = true;
  mixed.keep_float = {"/8/Gemm"};
  half.f16 = true;
  return {real, int8, mixed, half, int8};
}

TEST(SourceModel, BuildsWhatCompileDoesAndReadsTheDataOnce) {
  std::atomic<int> readings{0};
  const SourceModel source = SourceModel::read(kModel, counted_options(readings));
  EXPECT_EQ(readings, 0);
  for (const PrecisionPlan& plan : some_plans()) {
    octet::CompileReport report, expected;
    const octet::Engine engine = source.build(plan, &report);
    const octet::Engine compiled = octet::compile(kModel, options_for(plan), &expected);
    EXPECT_EQ(engine.to_bytes(), compiled.to_bytes());
    EXPECT_EQ(report.calibration_samples, expected.calibration_samples);
    EXPECT_EQ(report.ranges.size(), expected.ranges.size());
    EXPECT_EQ(report.warnings, expected.warnings);
  }
  EXPECT_EQ(readings, 1);
}

TEST(SourceModel, OutlivesTheBytesThatItWasReadFrom) {
  std::vector<std::byte> bytes = contents_of(kModel);
  const SourceModel source = SourceModel::read(bytes, options_for({}));
  const std::vector<std::byte> expected = octet::compile(bytes).to_bytes();
  bytes.assign(bytes.size(), std::byte{0});
  EXPECT_EQ(source.build({}).to_bytes(), expected);
}

TEST(SourceModel, ThreadsBuildAtOnce) {
  std::atomic<int> readings{0};
  const SourceModel source = SourceModel::read(kModel, counted_options(readings));
  PrecisionPlan int8;
  int8.int8 = true;
  const std::vector<std::byte> expected = octet::compile(kModel, options_for(int8)).to_bytes();
  std::vector<std::thread> threads;
  std::atomic<int> equal{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] { equal += source.build(int8).to_bytes() == expected; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 4);
  EXPECT_EQ(readings, 1);
}

TEST(SourceModel, RewritesAreThoseOfTheImport) {
  CompileOptions options;
  options.plan.rewrites.disabled_passes = {"fuse_activation"};
  const SourceModel source = SourceModel::read(kModel, options);
  EXPECT_EQ(source.build({}).to_bytes(), octet::compile(kModel, options).to_bytes());
}

TEST(SourceModel, ErrorsNameTheModelAndLeaveItUsable) {
  const SourceModel source = SourceModel::read(kModel);
  PrecisionPlan int8;
  int8.int8 = true;
  try {
    source.build(int8);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_argument);
    EXPECT_THAT(error.what(), HasSubstr("digits.onnx"));
  }
  EXPECT_NO_THROW(source.build({}));
  EXPECT_THROW(SourceModel::read(kDigits / "missing.onnx"), Error);
}

}  // namespace
