// SPDX-License-Identifier: Apache-2.0
// Parts of calibration add up to the whole, to the byte.
#include "octet/observation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "octet/compile.h"
#include "octet/npz.h"
#include "octet/source_model.h"

namespace {

namespace fs = std::filesystem;
using octet::Error;
using octet::Observation;
using octet::SampleObserver;
using octet::SourceModel;
using octet::Tensor;
using testing::HasSubstr;

const fs::path kDigitsModel = fs::path(OCTET_SOURCE_DIR) / "examples/digits/digits.onnx";
constexpr int64_t kSamples = 90;

// Rows of the training images.
octet::SampleSource rows(int64_t first, int64_t count) {
  static const Tensor all =
      octet::read_npz(fs::path(OCTET_SOURCE_DIR) / "examples/digits/digits.npz", "train_images");
  return [first, count, done = false](std::vector<Tensor>& inputs) mutable {
    if (done || count == 0) return false;
    octet::Shape shape = all.shape();
    const size_t row = all.bytes() / static_cast<size_t>(shape[0]);
    shape[0] = count;
    Tensor batch(all.dtype(), shape);
    std::memcpy(batch.mutable_data(), all.data() + static_cast<size_t>(first) * row, batch.bytes());
    inputs = {batch};
    done = true;
    return true;
  };
}

octet::CompileOptions int8() {
  octet::CompileOptions options;
  options.plan.int8 = true;
  options.calibration.emplace();
  return options;
}

std::vector<std::byte> of_observation(Observation observation, octet::CompileOptions options) {
  options.calibration->observation = std::make_shared<const Observation>(std::move(observation));
  return octet::compile(kDigitsModel, options).to_bytes();
}

std::vector<std::byte> of_samples(octet::CompileOptions options) {
  options.calibration->samples = rows(0, kSamples);
  return octet::compile(kDigitsModel, options).to_bytes();
}

template <class F>
std::string message_of(Error::Code code, F&& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(Observation, PartsInAnyOrderGiveTheEngineOfTheWhole) {
  const std::vector<std::byte> expected = of_samples(int8());
  const SampleObserver observer(SourceModel::read(kDigitsModel));
  std::mt19937 random(1);
  for (int trial = 0; trial < 4; ++trial) {
    std::vector<std::pair<int64_t, int64_t>> parts;
    for (int64_t at = 0; at < kSamples;) {
      const int64_t count = std::min<int64_t>(1 + random() % 40, kSamples - at);
      parts.emplace_back(at, count);
      at += count;
    }
    std::ranges::shuffle(parts, random);
    Observation left, right;
    for (size_t i = 0; i < parts.size(); ++i) {
      const Observation part = observer.observe(rows(parts[i].first, parts[i].second));
      (i % 2 == 0 ? left : right).merge(Observation::from_bytes(part.to_bytes()));
    }
    right.merge(left);
    EXPECT_EQ(right.samples(), kSamples);
    EXPECT_EQ(of_observation(std::move(right), int8()), expected) << parts.size();
  }
}

TEST(Observation, MethodsAreChosenAfterwards) {
  const SampleObserver observer(SourceModel::read(kDigitsModel));
  const std::vector<std::byte> seen = observer.observe(rows(0, kSamples)).to_bytes();
  for (const char* method : {"minmax", "percentile:99", "mse"}) {
    octet::CompileOptions options = int8();
    options.calibration->method = octet::parse_range_method(method);
    EXPECT_EQ(of_observation(Observation::from_bytes(seen), options), of_samples(options))
        << method;
  }
}

TEST(Observation, AreOfOneModelAndItsOptions) {
  octet::CompileOptions other = int8();
  other.calibration->equalize = false;
  const SampleObserver plain(SourceModel::read(kDigitsModel));
  const SampleObserver unequal(SourceModel::read(kDigitsModel, other));
  Observation sum = plain.observe(rows(0, 3));
  const Observation foreign = unequal.observe(rows(0, 3));
  EXPECT_THAT(message_of(Error::Code::invalid_argument, [&] { sum.merge(foreign); }),
              HasSubstr("different models"));
  EXPECT_EQ(sum.samples(), 3);
  EXPECT_THAT(
      message_of(Error::Code::invalid_argument, [&] { of_observation(std::move(sum), other); }),
      HasSubstr("another model"));
  EXPECT_THAT(message_of(Error::Code::invalid_argument, [&] { of_observation({}, int8()); }),
              HasSubstr("no samples"));
  octet::CompileOptions tries = int8();
  tries.calibration->method = octet::parse_range_method("auto");
  message_of(Error::Code::unsupported,
             [&] { SampleObserver(SourceModel::read(kDigitsModel, tries)); });
  message_of(Error::Code::unsupported, [&] { of_observation(plain.observe(rows(0, 3)), tries); });
  octet::CompileOptions twice = int8();
  twice.calibration->samples = rows(0, 3);
  EXPECT_THAT(message_of(Error::Code::invalid_argument,
                         [&] { of_observation(plain.observe(rows(0, 3)), twice); }),
              HasSubstr("twice"));
}

TEST(Observation, DamagedBytesAreOneError) {
  const SampleObserver observer(SourceModel::read(kDigitsModel));
  const std::vector<std::byte> good = observer.observe(rows(0, 2)).to_bytes();
  std::mt19937 random(2);
  for (int i = 0; i < 300; ++i) {
    std::vector<std::byte> bad = good;
    if (i % 3 == 0) {
      bad.resize(random() % good.size());
    } else {
      bad[random() % (i % 3 == 1 ? good.size() : 64)] ^= std::byte(1 + random() % 255);
    }
    EXPECT_THAT(message_of(Error::Code::invalid_argument, [&] { Observation::from_bytes(bad); }),
                HasSubstr(""))
        << i;
  }
  EXPECT_EQ(Observation::from_bytes(good).samples(), 2);
}

}  // namespace
