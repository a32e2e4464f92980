// SPDX-License-Identifier: Apache-2.0
// Where values lie beside each other: borders, sizes and strides, and steps that become free because their output is written, or
// lies already, where it belongs.
#include <algorithm>

#include "ops/shared/channel_runs.h"
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
    view_channels();
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

  // Of a step that knows channels in their place: it joins those of its inputs, or else takes some of one.
  bool is_concatenation(const PlanStep& step) const {
    return channel_runs(plan_.graph, plan_.graph.nodes[step.node]).empty();
  }

  // Inputs of a concatenation are written where they belong in its output. Of those that are concatenations themselves the last comes first: its place is their whole's.
  void join_channels() {
    const Fit fit{possible_slices(), alignments()};
    std::vector<bool> joins(plan_.steps.size()), is_joined(plan_.buffers.size());
    for (size_t s = 0; s < joins.size(); ++s) {
      joins[s] = candidates_[s].joins_channels && is_concatenation(plan_.steps[s]);
      if (joins[s]) is_joined[plan_.steps[s].outputs[0]] = true;
    }
    for (size_t s = joins.size(); s-- > 0;) {
      if (joins[s]) join_inputs(plan_.steps[s], fit, [&](u32 in) { return is_joined[in]; });
    }
    for (size_t s = 0; s < joins.size(); ++s) {
      if (joins[s]) join_inputs(plan_.steps[s], fit, [&](u32 in) { return !is_joined[in]; });
    }
  }

  // Of buffers: whether they may be slices of others, and the multiples that their addresses must be.
  struct Fit {
    std::vector<bool> possible;
    std::vector<s64> alignment;

    bool aligned(u32 b, s64 origin, s64 pixel) const {
      return origin % alignment[b] == 0 && pixel % alignment[b] == 0;
    }
  };

  template <class Means>
  void join_inputs(const PlanStep& step, const Fit& fit, const Means& means) {
    const u32 out = step.outputs[0];
    const Buffer& whole = plan_.buffers[out];
    const bool is_slice =
        whole.origin_bytes != 0 || whole.placement.pixel_stride != channels_of(whole);
    if (whole.kind != Buffer::Kind::arena || (whole.same_as != kNoBuffer && !is_slice)) return;
    if (whole.placement.border != 0) return;
    s64 channel = 0;
    for (u32 in : step.inputs) {
      Buffer& part = plan_.buffers[in];
      const s64 bytes = element_bytes(part), origin = whole.origin_bytes + channel * bytes;
      // A part of which one group is kept may lie in a whole of which all are, but not the other way round.
      const bool held = whole.groups == part.groups || whole.groups == 1;
      if (means(in) && fit.possible[in] && held && part.same_as == kNoBuffer &&
          fit.aligned(in, origin, whole.placement.pixel_stride * bytes)) {
        part.placement = whole.placement;
        part.same_as = whole.same_as == kNoBuffer ? out : whole.same_as;
        part.groups = whole.groups;
        part.sliced = whole.sliced;
        part.origin_bytes = origin;
      }
      channel += channels_of(part);
    }
  }

  // What only takes neighbouring channels of an image is read where they lie.
  void view_channels() {
    const Fit fit{possible_slices(), alignments()};
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      if (!candidates_[s].joins_channels || is_concatenation(step)) continue;
      const u32 from = step.inputs[0];
      const Buffer& whole = plan_.buffers[from];
      if (whole.kind != Buffer::Kind::arena || whole.placement.border != 0) continue;
      const std::vector<s64> first = channel_runs(plan_.graph, plan_.graph.nodes[step.node]);
      for (size_t i = 0; i < step.outputs.size(); ++i) {
        const u32 out = step.outputs[i];
        Buffer& part = plan_.buffers[out];
        const s64 bytes = element_bytes(part), origin = whole.origin_bytes + first[i] * bytes;
        const s64 pixel = whole.placement.pixel_stride;
        if (!fit.possible[out] || part.same_as != kNoBuffer || part.groups != whole.groups ||
            pixel == channels_of(part) || !fit.aligned(out, origin, pixel * bytes))
          continue;
        part.placement = whole.placement;
        part.same_as = whole.same_as == kNoBuffer ? from : whole.same_as;
        part.sliced = whole.sliced;
        part.origin_bytes = origin;
      }
    }
  }

  const TensorType& type_of(const Buffer& buffer) const {
    return plan_.graph.value(buffer.value).type;
  }
  s64 channels_of(const Buffer& buffer) const { return type_of(buffer).shape[1]; }
  s64 element_bytes(const Buffer& buffer) const {
    return static_cast<s64>(dtype_bytes(type_of(buffer).dtype));
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
