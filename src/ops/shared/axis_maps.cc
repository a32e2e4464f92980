// SPDX-License-Identifier: Apache-2.0
#include "ops/shared/axis_maps.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "ops/shared/axes.h"
#include "ops/shared/dtypes.h"

namespace octet {
namespace {

struct Run {
  s64 src;
  s64 dst;
  s64 length;
};

// Stretches of consecutive source indices.
std::vector<Run> runs_of(std::span<const s64> map) {
  std::vector<Run> runs;
  for (size_t i = 0; i < map.size(); ++i) {
    if (map[i] < 0) continue;
    if (i > 0 && map[i - 1] >= 0 && map[i] == map[i - 1] + 1) {
      ++runs.back().length;
    } else {
      runs.push_back({map[i], static_cast<s64>(i), 1});
    }
  }
  return runs;
}

bool is_identity(std::span<const s64> map, s64 dim) {
  if (static_cast<s64>(map.size()) != dim) return false;
  for (size_t i = 0; i < map.size(); ++i) {
    if (map[i] != static_cast<s64>(i)) return false;
  }
  return true;
}

// Offset of the source row for the outer index, or -1 where an axis has no source.
s64 row_offset(const AxisMaps& maps, std::span<const s64> strides, std::span<const s64> index) {
  s64 offset = 0;
  for (size_t d = 0; d < index.size(); ++d) {
    const s64 at = maps[d][static_cast<size_t>(index[d])];
    if (at < 0) return -1;
    offset += at * strides[d];
  }
  return offset;
}

// Copies all rows; `last` is the axis of the runs, and everything behind it is copied whole.
void copy_rows(const AxisMaps& maps, size_t last, const ConstView& src, const MutableView& dst) {
  const std::vector<s64> strides = dense_strides(src.shape);
  const s64 chunk = strides[last] * static_cast<s64>(dtype_bytes(src.dtype));
  const std::vector<Run> runs = runs_of(maps[last]);
  const s64 row_bytes = dst.shape[static_cast<int>(last)] * chunk;
  const s64 rows = dims_product(dst.shape, 0, static_cast<int>(last));
  const auto* from = static_cast<const std::byte*>(src.data);
  auto* to = static_cast<std::byte*>(dst.data);
  std::array<s64, Shape::kMaxRank> index{};
  for (s64 row = 0; row < rows; ++row, to += row_bytes) {
    const s64 offset = row_offset(maps, strides, {index.data(), last});
    const auto* base = from + std::max<s64>(offset, 0) * static_cast<s64>(dtype_bytes(src.dtype));
    for (const Run& run : offset < 0 ? std::span<const Run>() : std::span<const Run>(runs)) {
      std::memcpy(to + run.dst * chunk, base + run.src * chunk,
                  static_cast<size_t>(run.length * chunk));
    }
    for (size_t d = last; d-- > 0;) {
      if (++index[d] < dst.shape[static_cast<int>(d)]) break;
      index[d] = 0;
    }
  }
}

}  // namespace

void mapped_copy(const AxisMaps& maps, const ConstView& src, const MutableView& dst,
                 const void* fill) {
  const auto elements = static_cast<size_t>(dst.shape.elements());
  if (elements == 0) return;
  visit_size(dst.dtype, [&]<class T>() {
    T value{};
    if (fill != nullptr) std::memcpy(&value, fill, sizeof(T));
    std::fill_n(static_cast<T*>(dst.data), elements, value);
  });
  if (src.shape.elements() == 0) return;
  size_t axes = maps.size();
  while (axes > 1 && is_identity(maps[axes - 1], src.shape[static_cast<int>(axes) - 1])) --axes;
  if (axes == 0) {
    std::memcpy(dst.data, src.data, dtype_bytes(dst.dtype));
  } else {
    copy_rows(maps, axes - 1, src, dst);
  }
}

}  // namespace octet
