// SPDX-License-Identifier: Apache-2.0
// RNN, GRU and LSTM refuse what their walk could not read. Their results are held against ONNX Runtime elsewhere.
#include "ops/shared/testing.h"

namespace octet::testing {
namespace {

using ::testing::HasSubstr;

TEST(Recurrent, SequenceLengthsAreIntegersOf32Bits) {
  const auto zeros = [](Dtype dtype, const Shape& shape) { return Tensor(dtype, shape); };
  for (const auto& [op, gates] : {std::pair{"RNN", s64{1}}, {"GRU", s64{3}}, {"LSTM", s64{4}}}) {
    std::vector<Tensor> inputs = {
        zeros(Dtype::f32, {2, 3, 5}), zeros(Dtype::f32, {1, 4 * gates, 5}),
        zeros(Dtype::f32, {1, 4 * gates, 4}), Tensor(), zeros(Dtype::s16, {3})};
    EXPECT_THAT(error_of(op, inputs), HasSubstr("sequence_lens is s16, expected s32")) << op;
    inputs[4] = zeros(Dtype::s32, {3});
    EXPECT_EQ(error_of(op, inputs), "") << op;
  }
}

}  // namespace
}  // namespace octet::testing
