// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "ops/shared/op_testing.h"

namespace octet {
namespace {

using testing::error_of;
using testing::run;
using testing::tensor;

TEST(QFunction, IsTheFunctionThenQuantizeLinear) {
  const Tensor x = tensor<f32>({5}, {-2.0f, -0.5f, 0.0f, 0.75f, 9.0f});
  const Tensor real = run("LeakyRelu", {x}, {{"alpha", 0.25f}});
  const Tensor want = run("QuantizeLinear", {real, Tensor::scalar(0.5f), Tensor::scalar<u8>(3)});
  const Tensor got = run("QFunction", {x},
                         {{"function", std::string("LeakyRelu")},
                          {"alpha", 0.25f},
                          {"scale", 0.5f},
                          {"output_dtype", std::string("u8")},
                          {"output_zero_point", s64{3}},
                          {"lo", s64{0}},
                          {"hi", s64{255}}});
  ASSERT_EQ(got.type(), want.type());
  EXPECT_EQ(std::memcmp(got.data(), want.data(), want.bytes()), 0);
}

// An engine file may hold anything.
TEST(QFunction, RefusesWhatIsNoFunctionOfSingleReals) {
  const Tensor x = tensor<f32>({2}, {1.0f, 2.0f});
  for (const char* name : {"", "nonsense", "Conv", "PRelu", "QFunction"}) {
    const std::string error =
        error_of("QFunction", {x}, {{"function", std::string(name)}, {"scale", 0.5f}});
    EXPECT_NE(error.find("no function of single reals"), std::string::npos) << name << error;
  }
  EXPECT_NE(error_of("QFunction", {x}, {{"function", std::string("Swish")}, {"scale", -1.0f}})
                .find("expected a positive number"),
            std::string::npos);
}

}  // namespace
}  // namespace octet
