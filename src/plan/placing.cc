// SPDX-License-Identifier: Apache-2.0
// Where values lie beside each other: borders, sizes and strides, and steps that become free because their output is written, or
// lies already, where it belongs.
#include <algorithm>

#include "plan/groups.h"
#include "plan/plan.h"

namespace octet {
namespace {

class Placing {
 public:
  Placing(Plan& plan, std::span<const Candidate> candidates)
      : plan_(plan), candidates_(candidates) {}

  void run() {
    choose_borders();
    size_buffers();
    share_bytes();
    join_channels();
  }

 private:
  // A buffer gets the border that its readers want where its writer and all its readers can live with it.
  void choose_borders() {
    std::vector<s64> wanted(plan_.buffers.size(), 0);
    std::vector<bool> possible(plan_.buffers.size(), true);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      const Candidate& candidate = candidates_[s];
      for (size_t i = 0; i < step.inputs.size(); ++i) {
        const u32 b = step.inputs[i];
        if (b == kNoBuffer) continue;
        if (i == 0) wanted[b] = std::max(wanted[b], candidate.wanted_border);
        if (!candidate.strided) possible[b] = false;
      }
      for (u32 b : step.outputs) {
        if (b != kNoBuffer && !candidate.strided) possible[b] = false;
      }
    }
    for (size_t b = 0; b < wanted.size(); ++b) {
      Buffer& buffer = plan_.buffers[b];
      const bool codes = plan_.graph.value(buffer.value).type.dtype == Dtype::u8 &&
                         plan_.graph.value(buffer.value).quant;
      const bool free =
          buffer.kind == Buffer::Kind::arena && buffer.placement.layout == Layout::nhwc;
      const bool filled = plan_.devices[buffer.space]->backend().fill_border != nullptr;
      if (free && codes && filled && possible[b]) buffer.placement.border = wanted[b];
    }
  }

  void size_buffers() {
    for (Buffer& buffer : plan_.buffers) {
      const TensorType type = group_type(plan_.graph.value(buffer.value).type, buffer.groups);
      buffer.placement = dense_placement(type, buffer.placement.layout, buffer.placement.border);
      buffer.bytes = format_bytes(type, buffer.placement);
      buffer.origin_bytes = origin_bytes(type, buffer.placement);
    }
  }

  // What only changes the shape of a value needs no memory of its own.
  void share_bytes() {
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      if (!candidates_[s].same_bytes) continue;
      const u32 from = plan_.steps[s].inputs[0];
      Buffer& result = plan_.buffers[plan_.steps[s].outputs[0]];
      if (from == kNoBuffer || result.kind != Buffer::Kind::arena) continue;
      const Buffer& source = plan_.buffers[from];
      if (source.kind == Buffer::Kind::constant) continue;
      if (source.bytes != result.bytes || source.origin_bytes != 0 || result.origin_bytes != 0)
        continue;
      if (source.groups != result.groups) continue;  // one holds the batch, the other a group
      result.kind = source.kind;
      result.index = source.index;
      if (source.kind == Buffer::Kind::arena)
        result.same_as = source.same_as == kNoBuffer ? from : source.same_as;
    }
  }

  // Inputs of a concatenation are written where they belong in its output.
  void join_channels() {
    const std::vector<bool> possible = possible_slices();
    const std::vector<s64> alignment = alignments();
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      if (!candidates_[s].joins_channels) continue;
      const u32 out = plan_.steps[s].outputs[0];
      const Buffer& whole = plan_.buffers[out];
      if (whole.kind != Buffer::Kind::arena || whole.same_as != kNoBuffer) continue;
      if (whole.placement.border != 0) continue;
      s64 channel = 0;
      for (u32 in : plan_.steps[s].inputs) {
        Buffer& part = plan_.buffers[in];
        const TensorType& type = plan_.graph.value(part.value).type;
        // A part of which one group is kept may lie in a whole of which all are, but not the other way round.
        const bool held = whole.groups == part.groups || whole.groups == 1;
        const s64 bytes = static_cast<s64>(dtype_bytes(type.dtype));
        const bool aligned = channel * bytes % alignment[in] == 0 &&
                             whole.placement.pixel_stride * bytes % alignment[in] == 0;
        if (possible[in] && held && aligned && part.same_as == kNoBuffer) {
          part.placement = whole.placement;
          part.same_as = out;
          part.groups = whole.groups;
          part.sliced = whole.sliced;
          part.origin_bytes = channel * bytes;
        }
        channel += type.shape[1];
      }
    }
  }

  // Buffers whose writer and readers take any strides, that no other shares and that are not joined themselves.
  std::vector<bool> possible_slices() const {
    std::vector<bool> possible(plan_.buffers.size());
    for (size_t b = 0; b < possible.size(); ++b)
      possible[b] =
          plan_.buffers[b].kind == Buffer::Kind::arena && plan_.buffers[b].origin_bytes == 0;
    for (const Buffer& buffer : plan_.buffers) {
      if (buffer.same_as != kNoBuffer) possible[buffer.same_as] = false;
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      for (u32 b : plan_.steps[s].outputs) {
        if (b != kNoBuffer && !candidates_[s].writes_slices) possible[b] = false;
      }
      for (u32 b : plan_.steps[s].inputs) {
        if (b != kNoBuffer && !candidates_[s].strided) possible[b] = false;
      }
    }
    return possible;
  }

  // What the steps that touch each buffer ask for.
  std::vector<s64> alignments() const {
    std::vector<s64> alignment(plan_.buffers.size(), 1);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const auto ask = [&](u32 b) {
        if (b != kNoBuffer) alignment[b] = std::max(alignment[b], candidates_[s].alignment);
      };
      std::ranges::for_each(plan_.steps[s].inputs, ask);
      std::ranges::for_each(plan_.steps[s].outputs, ask);
    }
    return alignment;
  }

  Plan& plan_;
  const std::span<const Candidate> candidates_;  // of each step
};

}  // namespace

void place_buffers(Plan& plan, std::span<const Candidate> candidates) {
  Placing(plan, candidates).run();
}

}  // namespace octet
