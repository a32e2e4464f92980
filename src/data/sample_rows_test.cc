// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "core/error_testing.h"
#include "core/types.h"
#include "octet/data.h"

namespace octet::test {
namespace {

Tensor counted(const Shape& shape, f32 first) {
  Tensor tensor(Dtype::f32, shape);
  std::iota(tensor.mutable_as<f32>().begin(), tensor.mutable_as<f32>().end(), first);
  return tensor;
}

s64 rows(std::vector<Shape> inputs, std::vector<Shape> samples) {
  std::vector<TensorInfo> infos;
  std::vector<Tensor> tensors;
  for (const Shape& shape : inputs) infos.push_back({"x", {Dtype::f32, shape}});
  for (const Shape& shape : samples) tensors.push_back(counted(shape, 0));
  return samples_of_run(infos, tensors);
}

TEST(SampleRows, HowManyARunTakes) {
  EXPECT_EQ(rows({{4, 3}}, {{1, 3}}), 4);
  EXPECT_EQ(rows({{4, 3}, {4}}, {{1, 3}, {1}}), 4);
  EXPECT_EQ(rows({{1, 3}}, {{1, 3}}), 1);
  EXPECT_EQ(rows({{Shape::kDynamic, 3}}, {{1, 3}}), 1);
  EXPECT_EQ(rows({{3, 8, 8}}, {{3, 8, 8}}), 1) << "an image without a batch";
  EXPECT_EQ(rows({{4, 3}, {2, 3}}, {{1, 3}, {1, 3}}), 1) << "inputs that disagree";
  EXPECT_EQ(rows({{}}, {{}}), 1);
}

TEST(SampleRows, StackAndSplit) {
  const std::vector<std::vector<Tensor>> samples = {{counted({1, 2}, 0)}, {counted({1, 2}, 10)}};
  const auto stacked = stack_samples(samples, 3);
  ASSERT_EQ(stacked.size(), 1u);
  EXPECT_EQ(stacked[0].shape(), (Shape{3, 2}));
  const auto values = stacked[0].as<f32>();
  EXPECT_EQ(std::vector<f32>(values.begin(), values.end()),
            (std::vector<f32>{0, 1, 10, 11, 10, 11}));
  const auto split = split_outputs(stacked, 3, 2);
  ASSERT_EQ(split.size(), 2u);
  EXPECT_EQ(split[1][0].shape(), (Shape{1, 2}));
  EXPECT_EQ(split[1][0].as<f32>()[1], 11);
}

TEST(SampleRows, OutputsThatHoldNoSamples) {
  const std::vector<Tensor> outputs = {counted({5}, 0)};
  EXPECT_EQ(split_outputs(outputs, 1, 1)[0][0].elements(), 5);
  expect_error([&] { split_outputs(outputs, 2, 2); }, Error::Code::unsupported, {"f32[5]"});
}

}  // namespace
}  // namespace octet::test
