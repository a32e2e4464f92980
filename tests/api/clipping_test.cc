// SPDX-License-Identifier: Apache-2.0
// Data that have drifted are seen in what codes clip.
#include "octet/clipping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <map>
#include <thread>

#include "octet/compile.h"
#include "octet/npz.h"
#include "octet/range.h"

namespace {

namespace fs = std::filesystem;
using octet::ClipCounter;
using octet::ClippedTensor;
using octet::ClipWatch;
using octet::Engine;
using octet::Error;
using octet::Tensor;
using testing::HasSubstr;

const fs::path kDigitsFolder = fs::path(OCTET_SOURCE_DIR) / "examples/digits";

// The images of calibration, times `factor`.
Tensor images(float factor) {
  const Tensor all = octet::read_npz(kDigitsFolder / "digits.npz", "train_images");
  Tensor some(octet::Dtype::f32, {60, 1, 8, 8});
  const auto from = all.as<uint8_t>();
  const auto to = some.mutable_as<float>();
  for (size_t i = 0; i < to.size(); ++i) to[i] = static_cast<float>(from[i]) * factor;
  return some;
}

const Engine& engine_of(const std::string& method) {
  static std::map<std::string, Engine> made;
  const auto known = made.find(method);
  if (known != made.end()) return known->second;
  octet::CompileOptions options;
  options.plan.int8 = true;
  octet::CalibrationOptions& calibration = options.calibration.emplace();
  calibration.samples = [done = false](std::vector<Tensor>& inputs) mutable {
    inputs = {images(1)};
    return !std::exchange(done, true);
  };
  calibration.method = octet::parse_range_method(method);
  return made.emplace(method, octet::compile(kDigitsFolder / "digits.onnx", options)).first->second;
}

std::vector<ClippedTensor> counted(const Engine& engine, const Tensor& data) {
  ClipCounter counter(engine);
  counter.add(std::vector<Tensor>{data});
  EXPECT_EQ(counter.runs(), 1);
  return counter.tensors();
}

TEST(Clipping, CountsWhatLiesBeyondTheCodes) {
  const Engine& engine = engine_of("percentile:95");
  const std::vector<ClippedTensor> tensors = counted(engine, images(3));
  ASSERT_GT(tensors.size(), 3u);
  const ClippedTensor& input = tensors[0];
  EXPECT_EQ(input.tensor, engine.inputs()[0].name);
  const Tensor data = images(3);
  int64_t above = 0;
  for (const float value : data.as<float>()) above += value > input.codes.max ? 1 : 0;
  EXPECT_GT(above, 0);
  EXPECT_EQ(input.above, above);
  EXPECT_EQ(input.below, 0);
  EXPECT_EQ(input.values, 60 * 64);
}

// The same values, counted by calibration's histogram: these are multiples of its bins' width.
TEST(Clipping, CalibrationsShareIsWhatItsDataGive) {
  const Engine engine = Engine::load(engine_of("percentile:80").to_bytes());
  const std::vector<ClippedTensor> tensors = counted(engine, images(1));
  ASSERT_TRUE(tensors[0].calibrated.has_value());
  EXPECT_GT(*tensors[0].calibrated, 0);
  EXPECT_EQ(*tensors[0].calibrated, tensors[0].share());
  for (const ClippedTensor& tensor : tensors) EXPECT_TRUE(tensor.calibrated) << tensor.tensor;
}

TEST(Clipping, DriftRaisesIt) {
  const Engine& engine = engine_of("minmax");
  const std::vector<ClippedTensor> same = counted(engine, images(1));
  const std::vector<ClippedTensor> drifted = counted(engine, images(4));
  EXPECT_EQ(same[0].share(), 0);
  EXPECT_EQ(same[0].calibrated, 0);
  size_t raised = 0;
  for (size_t i = 0; i < same.size(); ++i) raised += drifted[i].share() > same[i].share() ? 1 : 0;
  EXPECT_GT(drifted[0].share(), 0.1);
  EXPECT_GT(raised, 1u);
}

TEST(Clipping, AnEngineWithoutCodesHasNothingToCount) {
  const Engine engine = octet::compile(kDigitsFolder / "digits.onnx");
  EXPECT_THROW(ClipCounter{engine}, Error);
  EXPECT_THROW(ClipWatch{engine}, Error);
}

TEST(ClipWatch, CountsOnItsOwnThreadWhatTheCounterCounts) {
  const Engine& engine = engine_of("entropy");
  std::vector<ClippedTensor> told;
  ClipWatch watch(engine, {1.0, [&](const auto& tensors) { told = tensors; }});
  const octet::Shape shape{60, 1, 8, 8};
  watch.prepare(std::span(&shape, 1));
  for (int runs = 1; runs <= 3; ++runs) {
    ASSERT_TRUE(watch.offer({images(2)}));
    watch.finish();
    EXPECT_EQ(watch.runs(), runs);
  }
  const std::vector<ClippedTensor> once = counted(engine, images(2));
  const std::vector<ClippedTensor> got = watch.tensors();
  ASSERT_EQ(told.size(), once.size());
  for (size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(got[i].values, 3 * once[i].values);
    EXPECT_EQ(got[i].above, 3 * once[i].above);
    EXPECT_EQ(got[i].below, 3 * once[i].below);
    EXPECT_EQ(told[i].above, got[i].above);
  }
}

TEST(ClipWatch, InputsThatDoNotRunAreNotCounted) {
  ClipWatch watch(engine_of("entropy"), {1.0});
  ASSERT_TRUE(watch.offer({Tensor(octet::Dtype::f32, {1, 3, 8, 8})}));
  watch.finish();
  EXPECT_EQ(watch.failures(), 1);
  ASSERT_TRUE(watch.offer({images(1)}));
  watch.finish();
  EXPECT_EQ(watch.runs(), 1);
  EXPECT_EQ(watch.tensors()[0].values, 60 * 64);
}

TEST(ClipWatch, WaitsForItsShareOfTime) {
  // A run of any length is followed by a wait of a billion times as long.
  ClipWatch watch(engine_of("entropy"), {1e-9});
  ASSERT_TRUE(watch.offer({images(1)}));
  watch.finish();
  EXPECT_FALSE(watch.wants());
  EXPECT_FALSE(watch.offer({images(1)}));
  EXPECT_EQ(watch.runs(), 1);
}

TEST(ClipWatch, AnyThreadsOffer) {
  ClipWatch watch(engine_of("entropy"), {1.0});
  std::atomic<int64_t> taken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) taken += watch.offer({images(1)}) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  watch.finish();
  EXPECT_EQ(watch.runs(), taken);
  EXPECT_EQ(watch.tensors()[0].values, taken * 60 * 64);
}

TEST(ClipWatch, SharesAreChecked) {
  const Engine& engine = engine_of("entropy");
  for (const double share : {0.0, -1.0, 1.5, std::nan("")})
    EXPECT_THROW(ClipWatch(engine, {share}), Error);
}

TEST(Clipping, PrometheusReadsIt) {
  const std::vector<octet::ClipReport> reports = {
      {"digits", "1", {{"in\"put", {}, 100, 2, 3, 0.25}}}, {"other", "", {{"x", {}, 7}}}};
  EXPECT_EQ(
      octet::prometheus_text(reports),
      "# HELP octet_values_total Values that became codes, in the runs that were counted\n"
      "# TYPE octet_values_total counter\n"
      "octet_values_total{model=\"digits\",version=\"1\",tensor=\"in\\\"put\"} 100\n"
      "octet_values_total{model=\"other\",version=\"\",tensor=\"x\"} 7\n"
      "# HELP octet_clipped_values_total Values of these beyond their codes\n"
      "# TYPE octet_clipped_values_total counter\n"
      "octet_clipped_values_total{model=\"digits\",version=\"1\",tensor=\"in\\\"put\",side=\"low\"}"
      " 2\n"
      "octet_clipped_values_total{model=\"digits\",version=\"1\",tensor=\"in\\\"put\",side="
      "\"high\"} 3\n"
      "octet_clipped_values_total{model=\"other\",version=\"\",tensor=\"x\",side=\"low\"} 0\n"
      "octet_clipped_values_total{model=\"other\",version=\"\",tensor=\"x\",side=\"high\"} 0\n"
      "# HELP octet_calibration_clipped_share The part of calibration's values beyond their codes\n"
      "# TYPE octet_calibration_clipped_share gauge\n"
      "octet_calibration_clipped_share{model=\"digits\",version=\"1\",tensor=\"in\\\"put\"} "
      "0.25\n");
}

}  // namespace
