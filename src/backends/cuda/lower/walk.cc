// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/walk.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>

#include "backends/cuda/families/map/spec.h"
#include "backends/cuda/families/transpose/lower.h"
#include "core/check.h"
#include "core/divide.h"

namespace octet::cuda {
namespace {

constexpr s64 kWidest = 16;  // bytes of one access

WalkAxis axis_of(const Walk& walk, size_t d) {
  WalkAxis axis{.size = walk.sizes[d]};
  for (size_t i = 0; i < walk.operands.size(); ++i) axis.strides[i] = walk.operands[i].strides[d];
  for (const WalkMap& map : walk.maps) {
    if (map.axis == d) axis.map = &map;
  }
  return axis;
}

bool follows(const WalkAxis& outer, const WalkAxis& inner) {
  if (outer.map != nullptr || inner.map != nullptr) return false;
  for (size_t i = 0; i < outer.strides.size(); ++i) {
    if (outer.strides[i] != inner.size * inner.strides[i]) return false;
  }
  return true;
}

// Bytes of one access that every place of the operand allows.
s64 access_of(const Walk& walk, const std::vector<WalkAxis>& axes, size_t operand) {
  const WalkOperand& o = walk.operands[operand];
  if (axes.back().strides[operand] != 1) return o.bytes;
  s64 access = kWidest;
  const auto limit = [&](s64 bytes) {
    while (bytes % access != 0) access /= 2;
  };
  limit(o.offset + o.first * o.bytes);
  for (size_t d = 0; d + 1 < axes.size(); ++d) limit(axes[d].strides[operand] * o.bytes);
  for (const WalkMap& map : walk.maps) {
    if (operand != 1) continue;
    for (const s64 at : map.offsets) limit(at < 0 ? 0 : at * o.bytes);
  }
  return std::max(access, o.bytes);
}

struct Vectors {
  s64 length = 1;                  // elements of one
  std::array<s64, 4> access = {};  // bytes, of each operand
  s64 loaded = 0;                  // bytes of all inputs for one vector
};

Vectors vectors_of(const Walk& walk, const std::vector<WalkAxis>& axes) {
  const WalkAxis& inner = axes.back();
  Vectors vectors;
  s64 length = kWidest;
  for (size_t i = 0; i < walk.operands.size(); ++i) {
    const WalkOperand& o = walk.operands[i];
    vectors.access[i] = access_of(walk, axes, i);
    if (o.constant || inner.strides[i] == 0) continue;
    constexpr s64 kApart = 4;  // elements that are no neighbours: one access each
    length = std::min(length, inner.strides[i] == 1 ? vectors.access[i] / o.bytes : kApart);
  }
  if (inner.map != nullptr) length = std::min<s64>(length, 8);
  length = std::min<s64>(length, static_cast<s64>(std::bit_floor(static_cast<u64>(inner.size))));
  vectors.length = length;
  for (size_t i = 0; i < walk.operands.size(); ++i) {
    vectors.access[i] = std::min(vectors.access[i], length * walk.operands[i].bytes);
    if (i > 0) vectors.loaded += length * walk.operands[i].bytes;
  }
  return vectors;
}

bool fits_s32(const Walk& walk) {
  constexpr s64 kMost = s64{1} << 30;
  if (walk.elements() >= kMost) return false;
  for (const WalkOperand& o : walk.operands) {
    s64 span = std::abs(o.first);
    for (size_t d = 0; d < walk.sizes.size(); ++d)
      span += (walk.sizes[d] - 1) * std::abs(o.strides[d]);
    if (span >= kMost) return false;
  }
  return true;
}

map::Operand operand_of(const Walk& walk, const WalkAxis& inner, const Vectors& vectors, size_t i) {
  const bool there = i < walk.operands.size();
  return {.type = there ? walk.operands[i].type : ElementType::u8,
          .inner = inner.strides[i],
          .access = field_of(vectors.access[i])};
}

// The first entry of a map's table.
s32 table_of(const Walk& walk, const WalkMap* wanted) {
  s64 first = 0;
  for (const WalkMap& map : walk.maps) {
    if (&map == wanted) break;
    first += std::ssize(map.offsets);
  }
  return wanted == nullptr ? 0 : field_of(first);
}

map::Axis axis_spec(const Walk& walk, const WalkAxis& axis) {
  return {.size = axis.size,
          .mapped = axis.map != nullptr,
          .table = table_of(walk, axis.map),
          .out = axis.strides[0],
          .a = axis.strides[1],
          .b = axis.strides[2],
          .c = axis.strides[3]};
}

// Without what depends on the device.
map::Spec map_spec(const Walk& walk, const std::vector<WalkAxis>& axes, const Vectors& vectors) {
  const WalkAxis& inner = axes.back();
  map::Spec spec{.inputs = field_of(std::ssize(walk.operands) - 1),
                 .out = operand_of(walk, inner, vectors, 0),
                 .a = operand_of(walk, inner, vectors, 1),
                 .b = operand_of(walk, inner, vectors, 2),
                 .c = operand_of(walk, inner, vectors, 3),
                 .first_out = walk.operands[0].first,
                 .first_a = walk.operands[1].first,
                 .inner = inner.size,
                 .inner_mapped = inner.map != nullptr,
                 .inner_table = table_of(walk, inner.map),
                 .axes = {},
                 .vector = field_of(vectors.length),
                 .each = 1,
                 .wide = !fits_s32(walk),
                 .filled = walk.fill.has_value(),
                 .fill = static_cast<s64>(walk.fill.value_or(0)),
                 .table = walk.table,
                 .table_flip = walk.table_flipped ? 128 : 0};
  for (size_t d = axes.size() - 1; d-- > 0;) append(spec.axes, axis_spec(walk, axes[d]));
  return spec;
}

// Vectors that a thread has under way at once: so many that memory is kept busy, while all multiprocessors have work.
s64 vectors_each(const CudaDevice& device, s64 count, s64 loaded) {
  constexpr s64 kThreads = 2048, kBytes = 64;
  s64 each = 4;
  while (each > 1 &&
         (each * loaded > kBytes || count < each * kThreads * s64{device.chip().multiprocessors}))
    each /= 2;
  return each;
}

}  // namespace

s64 Walk::elements() const {
  s64 count = 1;
  for (const s64 size : sizes) count *= size;
  return count;
}

WalkOperand walk_operand(const TensorType& type, const Shape& out, const Placement& at,
                         s64 offset) {
  const std::vector<s64> own = strides_of(type.shape, at);
  WalkOperand operand{.type = element_type(type.dtype),
                      .bytes = static_cast<s64>(dtype_bytes(type.dtype)),
                      .strides = std::vector<s64>(static_cast<size_t>(out.rank()), 0),
                      .offset = offset};
  const int missing = out.rank() - type.shape.rank();
  for (int d = 0; d < type.shape.rank(); ++d) {
    if (type.shape[d] == out[d + missing])
      operand.strides[static_cast<size_t>(d + missing)] = own[static_cast<size_t>(d)];
  }
  return operand;
}

WalkOperand walk_constant(const Tensor& tensor, const Shape& out) {
  WalkOperand operand = walk_operand(tensor.type(), out, Placement{}, 0);
  operand.constant = true;
  return operand;
}

std::vector<WalkAxis> walk_axes(const Walk& walk) {
  std::vector<WalkAxis> axes, result;
  for (size_t d = 0; d < walk.sizes.size(); ++d) {
    WalkAxis axis = axis_of(walk, d);
    if (axis.size != 1 || axis.map != nullptr) axes.push_back(axis);
  }
  std::ranges::stable_sort(axes, std::ranges::greater(),
                           [](const WalkAxis& axis) { return axis.strides[0]; });
  for (const WalkAxis& axis : axes) {
    if (!result.empty() && follows(result.back(), axis)) {
      const s64 size = result.back().size * axis.size;
      result.back() = axis;
      result.back().size = size;
    } else {
      result.push_back(axis);
    }
  }
  if (result.empty()) result.push_back({.size = 1, .strides = {1, 1, 0, 0}});
  return result;
}

std::vector<s32> walk_tables(const Walk& walk) {
  std::vector<s32> all;
  for (const WalkMap& map : walk.maps) {
    for (const s64 at : map.offsets) {
      OCTET_CHECK(at <= std::numeric_limits<s32>::max());
      all.push_back(static_cast<s32>(at));
    }
  }
  return all;
}

KernelFunction element_function(const Walk& walk) {
  const auto type = [&](size_t i) {
    return i < walk.operands.size() ? type_name(walk.operands[i].type) : "u8";
  };
  const std::string out = type(0);
  return {
      fmt::format("{} element({} a, {} b, {} c, const u8* table)", out, type(1), type(2), type(3)),
      fmt::format("({})({})", out, walk.body)};
}

Launch walk_launch(const CudaDevice& device, Walk walk) {
  const std::vector<WalkAxis> axes = walk_axes(walk);
  if (std::optional<Launch> launch = transpose_launch(walk, axes)) return *launch;
  const Vectors vectors = vectors_of(walk, axes);
  map::Spec spec = map_spec(walk, axes, vectors);
  spec.each = field_of(vectors_each(device, count(spec), vectors.loaded));
  Launch launch{.source = source_of("map", spec),
                .shape = blocks_for(device, ceil_div(count(spec), s64{spec.each}), map::kThreads)};
  launch.source.functions = {element_function(walk)};
  return launch;
}

}  // namespace octet::cuda
