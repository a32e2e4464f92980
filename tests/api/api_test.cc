// SPDX-License-Identifier: Apache-2.0
// What a program with the installed headers alone can do: compile from memory and its own data, end calls early, run over its memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <thread>

#include "octet/check.h"
#include "octet/compile.h"
#include "octet/error_stats.h"
#include "octet/inspect.h"
#include "octet/json.h"
#include "octet/machine.h"
#include "octet/npz.h"
#include "octet/operators.h"
#include "octet/report.h"

namespace {

namespace fs = std::filesystem;
using octet::Engine;
using octet::Error;
using octet::Tensor;
using testing::AnyOf;
using testing::HasSubstr;

const fs::path kDigits = fs::path(OCTET_SOURCE_DIR) / "examples/digits";
const fs::path kModel = kDigits / "digits.onnx";
const fs::path kArrays = kDigits / "digits.npz";

std::vector<std::byte> bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> chars{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(chars));
  return {bytes.begin(), bytes.end()};
}

octet::CompileOptions int8_options(int threads = 1) {
  octet::CompileOptions options;
  options.plan.int8 = true;
  options.threads = threads;
  options.calibration.emplace().data = kArrays.string() + ":train_images[0:60]";
  return options;
}

// The same samples from the program's memory, `rows` at once.
octet::SampleSource own_samples(int64_t rows) {
  const Tensor images = octet::read_npz(kArrays, "train_images");
  return [images, rows, at = int64_t{0}](std::vector<Tensor>& inputs) mutable {
    if (at == 60) return false;
    octet::Shape shape = images.shape();
    const auto sample = images.bytes() / static_cast<size_t>(shape[0]);
    shape[0] = std::min(rows, 60 - at);
    Tensor batch(images.dtype(), shape);
    std::memcpy(batch.mutable_data(), images.data() + static_cast<size_t>(at) * sample,
                batch.bytes());
    at += shape[0];
    inputs = {batch};
    return true;
  };
}

template <class F>
Error::Code code_of(F&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  ADD_FAILURE() << "no error";
  return Error::Code::internal;
}

std::vector<Tensor> an_image() {
  Tensor image(octet::Dtype::f32, {1, 1, 8, 8});
  float value = 0;
  for (float& pixel : image.mutable_as<float>()) pixel = (value += 0.37f) > 16 ? value = 0 : value;
  return {image};
}

TEST(Compile, FromMemoryAsFromAFile) {
  const Engine from_file = octet::compile(kModel), from_memory = octet::compile(bytes_of(kModel));
  const std::vector<Tensor> a = from_file.make_context().run(an_image());
  const std::vector<Tensor> b = from_memory.make_context().run(an_image());
  EXPECT_EQ(std::memcmp(a[0].data(), b[0].data(), a[0].bytes()), 0);
  EXPECT_TRUE(octet::check(bytes_of(kModel)).builds());
}

TEST(Compile, WhatIsNoModelIsNamed) {
  std::vector<std::byte> bytes = bytes_of(kModel);
  bytes.resize(bytes.size() / 2);
  try {
    octet::compile(bytes);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Error::Code::invalid_model);
    EXPECT_THAT(error.what(), HasSubstr("bytes from memory"));
  }
}

TEST(Calibration, OwnSamplesGiveTheEngineOfTheFile) {
  const std::vector<std::byte> expected = octet::compile(kModel, int8_options()).to_bytes();
  for (const int64_t rows : {1, 7, 60}) {
    for (const int threads : {1, 2}) {
      octet::CompileOptions options = int8_options(threads);
      options.calibration->data.clear();
      options.calibration->samples = own_samples(rows);
      octet::CompileReport report;
      EXPECT_EQ(octet::compile(kModel, options, &report).to_bytes(), expected) << rows;
      EXPECT_EQ(report.calibration_samples, 60);
    }
  }
}

TEST(Calibration, NoSamplesAndBothKindsOfDataAreErrors) {
  octet::CompileOptions options = int8_options();
  options.calibration->samples = own_samples(1);
  EXPECT_EQ(code_of([&] { octet::compile(kModel, options); }), Error::Code::invalid_argument);
  options.calibration->data.clear();
  options.calibration->samples = [](std::vector<Tensor>&) { return false; };
  EXPECT_EQ(code_of([&] { octet::compile(kModel, options); }), Error::Code::invalid_argument);
}

TEST(Calibration, WhatTheSourceThrowsComesOut) {
  octet::CompileOptions options = int8_options(2);
  options.calibration->data.clear();
  options.calibration->samples = [](std::vector<Tensor>&) -> bool {
    throw std::runtime_error("the disk is gone");
  };
  EXPECT_THROW(octet::compile(kModel, options), std::runtime_error);
}

// Every report of a compilation may be the last.
TEST(Cancel, AtAnyReport) {
  for (const int threads : {1, 2}) {
    octet::CompileOptions options = int8_options(threads);
    int reports = 0;
    options.monitor.report = [&](const octet::Progress&) { return ++reports > 0; };
    octet::compile(kModel, options);
    const int all = reports;
    EXPECT_GT(all, 60);
    for (int last = 1; last <= all; last += last < 10 ? 1 : 13) {
      reports = 0;
      options.monitor.report = [&](const octet::Progress&) { return ++reports < last; };
      const auto call = [&] { octet::compile(kModel, options); };
      // With two threads the main one may report fewer samples.
      if (threads == 1) {
        EXPECT_EQ(code_of(call), Error::Code::cancelled) << last;
        EXPECT_EQ(reports, last);
      }
    }
  }
}

TEST(Cancel, ByAnotherThread) {
  octet::CompileOptions options = int8_options(2);
  options.calibration->data.clear();
  // Data without end: only the request ends the call.
  const Tensor image = an_image()[0];
  std::stop_source stop;
  int64_t given = 0;
  options.calibration->samples = [&](std::vector<Tensor>& inputs) {
    if (++given == 100) stop.request_stop();
    inputs = {image};
    return true;
  };
  options.monitor.stop = stop.get_token();
  EXPECT_EQ(code_of([&] { octet::compile(kModel, options); }), Error::Code::cancelled);
  EXPECT_LT(given, 110);
}

TEST(Cancel, CompareAndCheck) {
  std::stop_source stop;
  stop.request_stop();
  octet::CheckOptions checked;
  checked.monitor.stop = stop.get_token();
  EXPECT_EQ(code_of([&] { octet::check(kModel, checked); }), Error::Code::cancelled);

  const Engine reference = octet::compile(kModel), tested = octet::compile(kModel, int8_options());
  int samples = 0;
  octet::CompareOptions compared;
  compared.monitor.report = [&](const octet::Progress& now) { return now.done < 3; };
  const auto endless = [&](std::vector<Tensor>& inputs) {
    ++samples;
    inputs = an_image();
    return true;
  };
  EXPECT_EQ(code_of([&] { octet::compare(reference, tested, endless, compared); }),
            Error::Code::cancelled);
  EXPECT_EQ(samples, 3);
}

TEST(Monitor, WhatItThrowsComesOut) {
  octet::CompileOptions options = int8_options();
  options.monitor.report = [](const octet::Progress& now) -> bool {
    if (now.stage == "calibrate") throw std::logic_error("from the caller");
    return true;
  };
  EXPECT_THROW(octet::compile(kModel, options), std::logic_error);
}

TEST(Data, SamplesWithLabels) {
  const Engine engine = octet::compile(kModel);
  octet::DataOptions options;
  options.data = kArrays.string() + ":test_images[5:9]:test_labels";
  octet::DataSource data = octet::DataSource::open(options, engine.inputs());
  data.validate();
  ASSERT_EQ(data.size(), 4);
  EXPECT_TRUE(data.label(2));
  EXPECT_THAT(data.name(2), HasSubstr("[7]"));
  EXPECT_EQ(data.sample(2).at(0).type(), (octet::TensorType{octet::Dtype::f32, {1, 1, 8, 8}}));
}

TEST(Inspection, IsTextForOtherLanguages) {
  const Engine engine = octet::compile(kModel, int8_options());
  const octet::Inspection inspection = octet::inspect(engine);
  const std::string json = octet::to_json(inspection);
  EXPECT_THAT(json, HasSubstr("\"coverage\":{"));
  EXPECT_THAT(json, HasSubstr("\"isa\":\"" + octet::cpu_isa() + "\""));
  EXPECT_THAT(octet::to_json(octet::supported_operators()), HasSubstr("\"name\":\"Conv\""));
  EXPECT_THAT(octet::html_report({"digits", {}, inspection, {}, {}}), HasSubstr("<h1>digits</h1>"));
}

TEST(Engines, ManyContextsOfOneAtOnce) {
  const Engine engine = octet::compile(kModel, int8_options());
  const std::vector<Tensor> inputs = an_image();
  const std::vector<Tensor> expected = engine.make_context().run(inputs);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      octet::Context context = engine.make_context();
      Tensor answer(expected[0].dtype(), expected[0].shape());
      const std::vector<octet::TensorView> in = {octet::view_of(inputs[0])};
      const std::vector<octet::MutableTensorView> out = {octet::view_of(answer)};
      for (int run = 0; run < 20; ++run) context.run_into(in, out);
      EXPECT_EQ(std::memcmp(answer.data(), expected[0].data(), answer.bytes()), 0);
    });
  }
}

TEST(ErrorStats, OfTwoTensors) {
  const std::vector<float> a = {1, 2, 3}, b = {1, 2, 4};
  octet::ErrorStats stats;
  stats.add(a, b);
  EXPECT_EQ(stats.max_abs(), 1);
  EXPECT_EQ(code_of([&] { stats.add(a, std::span(b).first(2)); }), Error::Code::invalid_argument);
  EXPECT_THAT(octet::to_floats(Tensor::of<int8_t>({2}, std::vector<int8_t>{-3, 4})),
              testing::ElementsAre(-3, 4));
}

}  // namespace
