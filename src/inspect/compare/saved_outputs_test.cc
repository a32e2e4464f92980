// SPDX-License-Identifier: Apache-2.0
#include "octet/saved_outputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "core/error_testing.h"
#include "octet/npz.h"

namespace octet {
namespace {

using test::expect_error;

class SavedOutputsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    file_ = std::filesystem::path(::testing::TempDir()) /
            (std::string("saved_") +
             ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".npz");
  }
  void TearDown() override { std::filesystem::remove(file_); }

  void write(const std::vector<std::pair<std::string, Tensor>>& arrays) {
    write_npz(file_, arrays);
  }

  std::filesystem::path file_;
};

Tensor filled(const Shape& shape, float value) {
  Tensor tensor(Dtype::f32, shape);
  for (float& element : tensor.mutable_as<float>()) element = value;
  return tensor;
}

TEST_F(SavedOutputsTest, SamplesComeBack) {
  // One output keeps its shape, one changes it, one has no axis.
  OutputArrays kept({"a", "b", "c"});
  std::vector<std::vector<Tensor>> samples;
  for (int i = 0; i < 3; ++i) {
    const auto value = static_cast<float>(i);
    samples.push_back({filled({1, 2}, value), filled({i, 4}, value), filled({}, value)});
    kept.add(samples.back());
  }
  write(kept.arrays());
  EXPECT_EQ(npz_arrays(file_),
            (std::vector<std::string>{"a", "b[0]", "b[1]", "b[2]", "c[0]", "c[1]", "c[2]"}));
  const std::vector<TensorInfo> infos = {{"a", {Dtype::f32, {1, 2}}},
                                         {"b", {Dtype::f32, {Shape::kDynamic, 4}}},
                                         {"c", {Dtype::f32, {}}}};
  const SavedOutputs saved = SavedOutputs::read(file_, infos, 3);
  for (int i = 0; i < 3; ++i) {
    const std::vector<Tensor> found = saved.sample(i), &wanted = samples[static_cast<size_t>(i)];
    for (size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(found[k].type(), wanted[k].type());
      EXPECT_TRUE(std::ranges::equal(found[k].as<float>(), wanted[k].as<float>()));
    }
  }
}

TEST_F(SavedOutputsTest, OtherNumbersOfRowsMayFollow) {
  OutputArrays kept({"a", "b"}, OutputArrays::Join::any_rows);
  kept.add(std::vector{filled({1, 2}, 1), filled({1, 2}, 1)});
  kept.add(std::vector{filled({3, 2}, 2), filled({1, 3}, 2)});
  const auto arrays = kept.arrays();
  ASSERT_EQ(arrays.size(), 3u);
  EXPECT_EQ(arrays[0].second.shape(), (Shape{4, 2}));
  EXPECT_EQ(arrays[0].second.as<float>()[2], 2);
  EXPECT_EQ(arrays[2].first, "b[1]");
}

TEST_F(SavedOutputsTest, OneSample) {
  OutputArrays kept({"a", "c"});
  kept.add(std::vector{filled({1, 2}, 5), filled({}, 7)});
  write(kept.arrays());
  const std::vector<TensorInfo> infos = {{"a", {Dtype::f32, {1, 2}}}, {"c", {Dtype::f32, {}}}};
  const std::vector<Tensor> found = SavedOutputs::read(file_, infos, 1).sample(0);
  EXPECT_EQ(found[0].as<float>()[1], 5);
  EXPECT_EQ(found[1].as<float>()[0], 7);
}

TEST_F(SavedOutputsTest, EverythingWrongIsOneError) {
  write({{"rows", filled({7, 2}, 0)},
         {"shape", filled({6, 3}, 0)},
         {"type", Tensor(Dtype::s64, {6, 2})},
         {"half[0]", filled({1, 2}, 0)},
         {"number", filled({}, 0)},
         {"loggits", filled({6, 2}, 0)}});
  std::vector<TensorInfo> infos;
  for (const char* name : {"rows", "shape", "type", "half", "number", "logits"})
    infos.push_back({name, {Dtype::f32, {1, 2}}});
  expect_error([&] { SavedOutputs::read(file_, infos, 6); }, Error::Code::invalid_argument,
               {"does not hold the outputs of these 6 samples",
                "'rows' is f32[7,2]: 6 samples do not share its 7 rows evenly",
                "'shape' is f32[1,3] a sample, and the engine's output is f32[1,2]",
                "'type' is s64[1,2] a sample", "there is no array 'half[1]' of the 6 samples",
                "'number' is one number", "there is no array 'logits'",
                "array 'loggits' is no output", "did you mean 'logits'?"});
}

TEST_F(SavedOutputsTest, RealNumbersOfAnyWidth) {
  write({{"a", Tensor(Dtype::f64, {4, 2})}});
  const std::vector<TensorInfo> infos = {{"a", {Dtype::f32, {1, 2}}}};
  EXPECT_EQ(SavedOutputs::read(file_, infos, 4).sample(3)[0].dtype(), Dtype::f64);
}

}  // namespace
}  // namespace octet
