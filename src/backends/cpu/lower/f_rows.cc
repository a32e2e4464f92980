// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/f_rows.h"

#include "core/check.h"

namespace octet {
namespace {

// One dimension with the step of each operand along it.
struct Dim {
  s64 size;
  Rows::Offsets strides;
};

// Logical dimensions in the order of the output's memory.
std::vector<int> memory_order(const Shape& shape, Layout layout) {
  if (layout == Layout::nhwc) return {0, 2, 3, 1};
  std::vector<int> order(static_cast<size_t>(shape.rank()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  return order;
}

bool unit_steps(const Rows::Offsets& steps) {
  return std::all_of(steps.begin(), steps.end(), [](s64 step) { return step == 0 || step == 1; });
}

bool follows(const Dim& outer, const Dim& inner, size_t operands) {
  for (size_t i = 0; i < operands; ++i) {
    if (outer.strides[i] != inner.strides[i] * inner.size) return false;
  }
  return true;
}

Dim dim_of(std::span<const RowOperand> operands, std::span<const std::vector<s64>> strides, int d) {
  const int rank = operands[0].shape.rank();
  Dim dim{operands[0].shape[d], {}};
  for (size_t i = 0; i < operands.size(); ++i) {
    const int at = d - (rank - operands[i].shape.rank());
    const bool moves = at >= 0 && operands[i].shape[at] != 1;
    dim.strides[i] = moves ? strides[i][static_cast<size_t>(at)] : 0;
  }
  return dim;
}

}  // namespace

std::vector<s64> value_strides(const Shape& shape, const Placement& placement) {
  if (placement.layout == Layout::nhwc) {
    const s64 pixel = placement.pixel_stride != 0 ? placement.pixel_stride : shape[1];
    const s64 row = placement.row_stride != 0 ? placement.row_stride : shape[3] * pixel;
    const s64 image = placement.image_stride != 0 ? placement.image_stride : shape[2] * row;
    return {image, 1, row, pixel};
  }
  std::vector<s64> strides(static_cast<size_t>(shape.rank()));
  s64 stride = 1;
  for (int d = shape.rank(); d-- > 0;) {
    strides[static_cast<size_t>(d)] = stride;
    // Wraps where another dimension of 0 made a tensor's size legal; nothing is then read.
    stride = static_cast<s64>(static_cast<u64>(stride) * static_cast<u64>(shape[d]));
  }
  return strides;
}

Rows::Rows(std::span<const RowOperand> operands) { OCTET_CHECK(merge(operands)); }

bool Rows::possible(std::span<const RowOperand> operands) { return Rows().merge(operands); }

bool Rows::merge(std::span<const RowOperand> operands) {
  if (operands[0].shape.elements() == 0) {  // the other dimensions may be of any size
    count_ = length_ = 0;
    return true;
  }
  std::vector<std::vector<s64>> strides;
  for (const RowOperand& o : operands) strides.push_back(value_strides(o.shape, o.placement));
  std::vector<Dim> dims;
  for (int d : memory_order(operands[0].shape, operands[0].placement.layout)) {
    const Dim dim = dim_of(operands, strides, d);
    if (dim.size == 1) continue;
    if (!dims.empty() && follows(dims.back(), dim, operands.size())) {
      dims.back() = {dims.back().size * dim.size, dim.strides};
    } else {
      dims.push_back(dim);
    }
  }
  if (dims.empty()) return true;
  // One channel in a sliced or bordered image: neighbours are pixels apart, so each element is a row.
  const Shape& output = operands[0].shape;
  const bool one_channel = operands[0].placement.layout == Layout::nhwc && output[1] == 1;
  if (one_channel && !unit_steps(dims.back().strides)) dims.push_back({1, {}});
  length_ = dims.back().size;
  steps_ = dims.back().strides;
  dims.pop_back();
  for (const Dim& dim : dims) {
    const auto at = static_cast<size_t>(rank_++);
    dims_[at] = dim.size;
    count_ *= dim.size;
    for (size_t i = 0; i < operands.size(); ++i) strides_[i][at] = dim.strides[i];
  }
  return unit_steps(steps_);
}

Rows::Offsets Rows::offsets_of(s64 row, s64 start) const {
  Offsets offsets{};
  for (size_t i = 0; i < kMaxOperands; ++i) offsets[i] = steps_[i] * start;
  for (int d = rank_; d-- > 0;) {
    const auto at = static_cast<size_t>(d);
    const s64 index = row % dims_[at];
    row /= dims_[at];
    for (size_t i = 0; i < kMaxOperands; ++i) offsets[i] += index * strides_[i][at];
  }
  return offsets;
}

}  // namespace octet
