// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/families/copies/lower.h"

#include <algorithm>
#include <cstdlib>

#include "backends/cuda/families/transpose/lower.h"
#include "core/check.h"

namespace octet::cuda {
namespace {

constexpr s64 kWidest = 16;  // bytes of one access

s64 widest_access(const Walk& walk, const std::vector<WalkAxis>& axes) {
  s64 access = kWidest;
  const auto limit = [&](s64 bytes) {
    while (bytes % access != 0) access /= 2;
  };
  for (size_t i = 0; i < 2; ++i) {
    const WalkOperand& o = walk.operands[i];
    limit(o.offset), limit(o.first * o.bytes), limit(axes.back().size * o.bytes);
    for (size_t d = 0; d + 1 < axes.size(); ++d) limit(axes[d].strides[i] * o.bytes);
  }
  return access;
}

bool fits(const UnitCopy& copy) {
  constexpr s64 kMost = s64{1} << 30;
  s64 x = std::abs(copy.x) + copy.inner, y = std::abs(copy.y) + copy.inner;
  for (const CopyAxis& axis : copy.axes) {
    x += (axis.size - 1) * std::abs(axis.x);
    y += (axis.size - 1) * std::abs(axis.y);
  }
  return copy.units() < kMost && x < kMost && y < kMost;
}

copies::Copy copy_of(const UnitCopy& copy) {
  copies::Copy result{.count = field_of(copy.units()),
                      .inner = field_of(copy.inner),
                      .x = field_of(copy.x),
                      .y = field_of(copy.y),
                      .axes = {}};
  for (const CopyAxis& axis : copy.axes)
    append(result.axes, {field_of(axis.size), field_of(axis.x), field_of(axis.y)});
  return result;
}

}  // namespace

s64 UnitCopy::units() const {
  s64 count = inner;
  for (const CopyAxis& axis : axes) count *= axis.size;
  return count;
}

std::optional<UnitCopy> unit_copy(const Walk& walk) {
  OCTET_CHECK(walk.operands.size() == 2 && walk.operands[0].bytes == walk.operands[1].bytes);
  std::vector<WalkAxis> axes = walk_axes(walk);
  if (!walk.maps.empty() || transpose_launch(walk, axes)) return std::nullopt;
  if (axes.back().strides[0] != 1 || axes.back().strides[1] != 1)
    axes.push_back({.size = 1, .strides = {1, 1, 0, 0}});
  if (axes.size() > 1 + size_t{copies::kMostAxes}) return std::nullopt;
  const s64 access = widest_access(walk, axes), bytes = walk.operands[0].bytes;
  const auto units = [&](s64 elements) { return elements * bytes / access; };
  UnitCopy copy{.access = access,
                .inner = units(axes.back().size),
                .x = units(walk.operands[1].first),
                .y = units(walk.operands[0].first)};
  for (size_t d = axes.size() - 1; d-- > 0;)
    copy.axes.push_back({axes[d].size, units(axes[d].strides[1]), units(axes[d].strides[0])});
  if (!fits(copy)) return std::nullopt;
  return copy;
}

Launch copies_launch(const CudaDevice& device, std::span<const UnitCopy> copies) {
  constexpr s64 kResident = 2048;
  s64 units = 0;
  for (const UnitCopy& copy : copies) units += copy.units();
  s64 each = 4;
  while (each > 1 && units < each * kResident * s64{device.chip().multiprocessors}) each /= 2;
  copies::Spec spec{.access = field_of(copies[0].access), .each = field_of(each), .copies = {}};
  for (const UnitCopy& copy : copies) append(spec.copies, copy_of(copy));
  return {.source = source_of("copies", spec),
          .shape = {
              .blocks = blocks(spec), .threads = copies::kThreads, .programmatic_dependent = true}};
}

}  // namespace octet::cuda
