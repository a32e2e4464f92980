// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/element_offsets.h"

#include <array>

#include "ops/shared/axes.h"
#include "ops/shared/indexing.h"

namespace octet {

void check_element_indices(const Shape& data, const Shape& indices, int axis) {
  bool fits = data.rank() == indices.rank();
  for (int i = 0; fits && i < data.rank(); ++i) fits = i == axis || indices[i] <= data[i];
  if (fits) return;
  fail(Error::Code::invalid_model,
       "indices of shape {} do not address data of shape {} along axis {}", to_string(indices),
       to_string(data), axis);
}

std::vector<s64> element_offsets(const Shape& data, const Shape& indices,
                                 std::span<const s64> values, int axis) {
  const std::vector<s64> strides = dense_strides(data);
  std::array<s64, Shape::kMaxRank> position{};
  std::vector<s64> offsets;
  offsets.reserve(values.size());
  for (const s64 value : values) {
    s64 offset = 0;
    for (int d = 0; d < data.rank(); ++d) {
      const auto i = static_cast<size_t>(d);
      const s64 at = d == axis ? checked_index(value, data[axis], axis) : position[i];
      offset += at * strides[i];
    }
    offsets.push_back(offset);
    for (int d = data.rank() - 1; d >= 0; --d) {
      if (++position[static_cast<size_t>(d)] < indices[d]) break;
      position[static_cast<size_t>(d)] = 0;
    }
  }
  return offsets;
}

}  // namespace octet
