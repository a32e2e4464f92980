// SPDX-License-Identifier: Apache-2.0
// TopK of f32: of a line, elements as good as the k-th best so far are kept; whenever as many are kept as there is room for, the k best of
// them stay. Most lines are read once, in blocks of which few elements are looked at. Plain loops, which the compiler makes vectors of.
#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "backends/cpu/lower/f_common.h"
#include "backends/host/queue.h"
#include "ops/attributes/reduction.h"
#include "ops/shared/axes.h"

namespace octet {
namespace {

constexpr s64 kSerial = 16384;
constexpr s64 kBlock = 32;   // elements that are compared with the threshold at once
constexpr s64 kRoom = 1024;  // elements kept beyond twice k

// Numbers in the order of their keys: zeros of both signs are equal, a NaN is the largest.
s32 key_of(f32 x) noexcept {
  const s32 bits = std::bit_cast<s32>(x + 0.0f);
  const s32 key = bits ^ ((bits >> 31) & std::numeric_limits<s32>::max());
  return x != x ? std::numeric_limits<s32>::max() : key;
}

// An element that goes before others: the greater number, by its key first and among equals by its place, the earlier first.
using Ranked = u64;
Ranked ranked(s32 key, s64 place) noexcept {
  const u32 upper = static_cast<u32>(key) ^ 0x80000000u;
  return static_cast<u64>(upper) << 32 | (0xffffffffu - static_cast<u32>(place));
}
s64 place_of(Ranked element) noexcept { return 0xffffffffu - static_cast<u32>(element); }
s32 key_of_ranked(Ranked element) noexcept {
  return static_cast<s32>(static_cast<u32>(element >> 32) ^ 0x80000000u);
}

struct TopKStep {
  s64 outer, length, inner;  // element i of line (o, j) lies at (o * length + i) * inner + j
  s64 k;
  bool largest;
  bool has_values, has_indices;

  s64 lines() const { return outer * inner; }
  s64 room() const { return 2 * k + kRoom; }
  s64 key_bytes() const { return (length * s64{sizeof(s32)} + 63) / 64 * 64; }
  s64 bytes() const { return key_bytes() + (room() * s64{sizeof(Ranked)} + 63) / 64 * 64; }

  bool is_serial() const { return lines() == 1 || lines() * length < kSerial; }

  void write_keys(const f32* line, s32* keys) const noexcept {
    const s32 flip = largest ? 0 : -1;
    if (inner == 1) {
      for (s64 i = 0; i < length; ++i) keys[i] = key_of(line[i]) ^ flip;
    } else {
      for (s64 i = 0; i < length; ++i) keys[i] = key_of(line[i * inner]) ^ flip;
    }
  }

  static s32 largest_of(const s32* keys, s64 count) noexcept {
    s32 most = keys[0];
    for (s64 i = 1; i < count; ++i) most = keys[i] > most ? keys[i] : most;
    return most;
  }

  // The k that go first, in their order.
  void select(const s32* keys, Ranked* kept) const noexcept {
    s64 count = 0;
    s32 threshold = std::numeric_limits<s32>::min();
    for (s64 first = 0; first < length; first += kBlock) {
      const s64 end = std::min(first + kBlock, length);
      // What equals the k-th so far comes behind it, but before there are k everything counts.
      if (count >= k && largest_of(keys + first, end - first) <= threshold) continue;
      for (s64 i = first; i < end; ++i) {
        if (count < k || keys[i] > threshold) kept[count++] = ranked(keys[i], i);
      }
      if (count + kBlock <= room()) continue;
      std::nth_element(kept, kept + k - 1, kept + count, std::greater<Ranked>());
      threshold = key_of_ranked(kept[k - 1]);
      count = k;
    }
    std::partial_sort(kept, kept + k, kept + count, std::greater<Ranked>());
  }

  void write(const StepArgs& step, const Ranked* kept, const f32* line, s64 to) const noexcept {
    f32* values = has_values ? f32_output(step, 0) : nullptr;
    s64* indices = has_indices ? reinterpret_cast<s64*>(step.outputs[1]) : nullptr;
    for (s64 i = 0; i < k; ++i) {
      const s64 place = place_of(kept[i]);
      if (values != nullptr) values[to + i * inner] = line[place * inner];
      if (indices != nullptr) indices[to + i * inner] = place;
    }
  }

  void operator()(const StepArgs& step) const noexcept {
    const auto body = [&](s64 begin, s64 end, int thread) {
      std::byte* room_of_thread = step.workspace + thread * bytes();
      s32* keys = reinterpret_cast<s32*>(room_of_thread);
      Ranked* kept = reinterpret_cast<Ranked*>(room_of_thread + key_bytes());
      for (s64 n = begin; n < end; ++n) {
        const f32* line = f32_input(step, 0) + n / inner * inner * length + n % inner;
        write_keys(line, keys);
        select(keys, kept);
        write(step, kept, line, n / inner * inner * k + n % inner);
      }
    };
    if (is_serial()) return body(0, lines(), 0);
    pool_of(step).parallel_for(lines(), body);
  }
};

}  // namespace

Offer lower_f_top_k(const LowerRequest& request) {
  if (request.inputs[0].dtype != Dtype::f32) return Reject{"the input is not f32"};
  const Shape& shape = request.inputs[0].shape;
  // Either result may be omitted, and then has no shape.
  const Shape& result = request.outputs[request.node.outputs[0] != kNoValue ? 0 : 1].shape;
  if (result.elements() == 0) return Reject{"the result is empty"};
  const int axis = normalize_axis(attribute_of<&TopKAttributes::axis>(request.node), shape.rank());
  if (shape[axis] > std::numeric_limits<s32>::max()) return Reject{"the axis is too long"};
  const TopKStep step{dims_product(shape, 0, axis),
                      shape[axis],
                      dims_product(shape, axis + 1, shape.rank()),
                      result[axis],
                      attribute_of<&TopKAttributes::largest>(request.node),
                      request.node.outputs[0] != kNoValue,
                      request.node.outputs.size() > 1 && request.node.outputs[1] != kNoValue};
  Candidate candidate;
  candidate.kernel = "f32_top_k";
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs.assign(request.outputs.size(), Layout::linear);
  candidate.holds = {false, request.constant(1) != nullptr};
  candidate.workspace_bytes = step.bytes() * (step.is_serial() ? 1 : request.target.threads);
  candidate.bind = [step](const BindArgs&) -> RunStep { return step; };
  return candidate;
}

}  // namespace octet
