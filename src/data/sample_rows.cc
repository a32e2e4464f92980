// SPDX-License-Identifier: Apache-2.0
// Samples of one as the rows of a run that takes several, and the outputs of such a run by sample.
#include <algorithm>
#include <cstring>

#include "core/check.h"
#include "core/types.h"
#include "octet/data.h"

namespace octet {
namespace {

// `rows` pieces of a first dimension of `count` each.
Tensor piece(const Tensor& tensor, s64 index, s64 count) {
  Shape shape = tensor.shape();
  shape[0] = count;
  Tensor result(tensor.dtype(), shape);
  std::memcpy(result.mutable_data(), tensor.data() + static_cast<size_t>(index) * result.bytes(),
              result.bytes());
  return result;
}

}  // namespace

int64_t samples_of_run(std::span<const TensorInfo> inputs, std::span<const Tensor> sample) {
  s64 rows = 0;
  for (size_t i = 0; i < inputs.size() && i < sample.size(); ++i) {
    const Shape& wanted = inputs[i].type.shape;
    const Shape& got = sample[i].shape();
    if (wanted.rank() == 0 || got.rank() != wanted.rank() || got[0] < 1) return 1;
    const s64 fits = wanted[0] < 0 ? 1 : wanted[0] / got[0];
    if (fits < 1 || (rows > 0 && fits != rows)) return 1;
    rows = fits;
  }
  return std::max<s64>(rows, 1);
}

std::vector<Tensor> stack_samples(std::span<const std::vector<Tensor>> samples, int64_t rows) {
  OCTET_CHECK(!samples.empty() && static_cast<s64>(samples.size()) <= rows);
  if (rows == 1) return samples[0];
  std::vector<Tensor> stacked;
  for (size_t i = 0; i < samples[0].size(); ++i) {
    Shape shape = samples[0][i].shape();
    shape[0] *= rows;
    Tensor& all = stacked.emplace_back(samples[0][i].dtype(), shape);
    const size_t bytes = samples[0][i].bytes();
    for (size_t row = 0; row < static_cast<size_t>(rows); ++row) {
      const Tensor& one = samples[std::min(row, samples.size() - 1)][i];
      OCTET_CHECK(one.bytes() == bytes);
      std::memcpy(all.mutable_data() + row * bytes, one.data(), bytes);
    }
  }
  return stacked;
}

std::vector<std::vector<Tensor>> split_outputs(std::span<const Tensor> outputs, int64_t rows,
                                               int64_t samples) {
  std::vector<std::vector<Tensor>> split(static_cast<size_t>(samples));
  if (rows == 1) {
    split.at(0).assign(outputs.begin(), outputs.end());
    return split;
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Shape& shape = outputs[i].shape();
    if (shape.rank() == 0 || shape[0] % rows != 0) {
      fail(Error::Code::unsupported,
           "output {} of a run of {} samples is {}: its first dimension does not hold the samples",
           i, rows, to_string(outputs[i].type()));
    }
    for (s64 row = 0; row < samples; ++row)
      split[static_cast<size_t>(row)].push_back(piece(outputs[i], row, shape[0] / rows));
  }
  return split;
}

}  // namespace octet
