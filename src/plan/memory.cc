// SPDX-License-Identifier: Apache-2.0
// Arena offsets: largest buffer first, at the lowest offset that is free for its whole life.
#include <algorithm>
#include <vector>

#include "core/check.h"
#include "core/checked.h"
#include "plan/plan.h"

namespace octet {
namespace {

constexpr s64 kAlignment = 64;
// Kernels may read (never write) this far past the end of a buffer.
constexpr s64 kSlack = 64;

struct Life {
  u32 buffer;
  s64 first;  // step that writes it
  s64 last;   // last step that reads it
  s64 bytes;
};

s64 aligned(s64 bytes) { return (bytes + kSlack + kAlignment - 1) / kAlignment * kAlignment; }

std::vector<Life> lives(const Plan& plan) {
  std::vector<Life> all(plan.buffers.size());
  for (u32 b = 0; b < all.size(); ++b) all[b] = {b, -1, -1, aligned(plan.buffers[b].bytes)};
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const s64 step = static_cast<s64>(s);
    for (u32 b : plan.steps[s].outputs) {
      if (b == kNoBuffer) continue;
      if (all[b].first < 0) all[b].first = step;
      all[b].last = std::max(all[b].last, step);
    }
    for (u32 b : plan.steps[s].inputs) {
      if (b != kNoBuffer) all[b].last = std::max(all[b].last, step);
    }
  }
  std::erase_if(all, [&](const Life& life) {
    return life.first < 0 || plan.buffers[life.buffer].kind != Buffer::Kind::arena;
  });
  return all;
}

// The lowest offset where `life` fits between the placed buffers that live at the same time (sorted by offset).
s64 lowest_gap(const Life& life, const std::vector<const Life*>& placed, const Plan& plan) {
  s64 offset = 0;
  for (const Life* other : placed) {
    if (other->last < life.first || other->first > life.last) continue;
    const s64 start = plan.buffers[other->buffer].offset;
    if (offset + life.bytes <= start) break;
    offset = std::max(offset, start + other->bytes);
  }
  return offset;
}

}  // namespace

void plan_memory(Plan& plan) {
  std::vector<Life> all = lives(plan);
  std::stable_sort(all.begin(), all.end(),
                   [](const Life& a, const Life& b) { return a.bytes > b.bytes; });
  std::vector<const Life*> placed;
  s64 end = 0;
  for (const Life& life : all) {
    Buffer& buffer = plan.buffers[life.buffer];
    buffer.offset = lowest_gap(life, placed, plan);
    const auto stop = checked_add(buffer.offset, life.bytes);
    if (!stop) fail(Error::Code::out_of_memory, "the activations of this model pass 63 bits");
    end = std::max(end, *stop);
    const auto at = std::upper_bound(
        placed.begin(), placed.end(), buffer.offset,
        [&](s64 offset, const Life* other) { return offset < plan.buffers[other->buffer].offset; });
    placed.insert(at, &life);
  }
  s64 workspace = 0;
  for (const PlanStep& step : plan.steps) workspace = std::max(workspace, step.workspace_bytes);
  plan.workspace_offset = end;
  plan.arena_bytes = end + aligned(workspace);
}

}  // namespace octet
