// SPDX-License-Identifier: Apache-2.0
// The cost of a choice is what passes between a core and the memory beyond its own cache, in bytes: activations where a group's
// working set does not fit, weights again for each group, and values that go from one share to another. Where threads would
// wait for each other, or some of them have nothing to do, the time that is lost counts as the bytes that it would take.
#include "plan/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/op_def.h"

namespace octet {
namespace {

// Groups of more images fit only where the whole batch would cost little.
constexpr s64 kMostImages = 64;
// The cache also holds what kernels copy, and its lines collide: a working set of more than this does not stay.
constexpr f64 kShare = 0.75;
// What a change of the number must save at least: estimates are not exact enough for less.
constexpr f64 kChange = 131072;
// A core's bytes from beyond its cache for each estimated cycle of a kernel.
constexpr f64 kBytesPerCycle = 8;
// What threads lose that share a step, each further one by this part of their time: they wait for the slowest, and read what
// others wrote. A single image of RetinaFace is 1.5, 2.2, 3.3 and 3.8 times as fast with 2, 4, 8 and 16 threads as with one.
constexpr f64 kWaiting = 0.2;
constexpr f64 kNever = std::numeric_limits<f64>::infinity();

struct StepBytes {
  f64 touched = 0;  // activations of one image that the step reads and writes
  f64 live = 0;     // these and what waits for later steps
  f64 kept = 0;     // what lies in memory between the step before and this one
  f64 weights = 0;
  f64 work = 0;  // one core's time for the whole batch, in bytes
  bool by_image = false;
};

class Grouping {
 public:
  Grouping(const Plan& plan, std::span<const Candidate> candidates, const Target& target)
      : plan_(plan),
        candidates_(candidates),
        batch_(batch_of(plan)),
        threads_(static_cast<f64>(target.threads)),
        costs_(target.device->costs()),
        cache_(kShare * static_cast<f64>(costs_.cache_bytes)),
        steps_(plan.steps.size()) {}

  std::vector<BatchShare> run() {
    if (batch_ < 2 || cache_ <= 0) return std::vector<BatchShare>(steps_.size());
    for (s64 images = 1; images <= std::min(kMostImages, batch_ - 1); ++images) {
      if (batch_ % images != 0) continue;
      choices_.push_back({batch_ / images, false});
      if (threads_ > 1 && plan_.devices.size() == 1) choices_.push_back({batch_ / images, true});
    }
    choices_.push_back({});
    for (size_t s = 0; s < steps_.size(); ++s) read_step(s);
    add_lives();
    return cheapest_path();
  }

 private:
  // The caller's memory is read once, or written once, whatever we choose.
  f64 kept_bytes(u32 b) const {
    return plan_.buffers[b].kind == Buffer::Kind::arena ? image_bytes(b) : 0;
  }

  f64 image_bytes(u32 b) const {
    const Buffer& buffer = plan_.buffers[b];
    return static_cast<f64>(plan_.graph.value(buffer.value).type.bytes()) /
           static_cast<f64>(batch_);
  }

  void read_step(size_t s) {
    const PlanStep& step = plan_.steps[s];
    StepBytes& bytes = steps_[s];
    for (const std::vector<u32>* buffers : {&step.inputs, &step.outputs}) {
      for (u32 b : *buffers) {
        if (b != kNoBuffer) bytes.touched += kept_bytes(b);
      }
    }
    bytes.by_image = candidates_[s].by_image;
    bytes.work = std::max(kBytesPerCycle * step.cost, bytes.touched * static_cast<f64>(batch_));
    if (step.node >= plan_.graph.nodes.size())
      return;  // a conversion, which does what its reader does
    const Node& node = plan_.graph.nodes[step.node];
    bytes.by_image = bytes.by_image && possible_share(plan_, node, {batch_, false}).groups > 1;
    for (ValueId id : node.inputs) {
      if (plan_.graph.is_constant(id))
        bytes.weights += static_cast<f64>(plan_.graph.value(id).constant.bytes());
    }
  }

  // Each buffer lives from its first step to its last.
  void add_lives() {
    constexpr size_t kNone = std::numeric_limits<size_t>::max();
    std::vector<size_t> first(plan_.buffers.size(), kNone), last(plan_.buffers.size(), 0);
    for (size_t s = 0; s < steps_.size(); ++s) {
      for (const std::vector<u32>* buffers : {&plan_.steps[s].inputs, &plan_.steps[s].outputs}) {
        for (u32 b : *buffers) {
          if (b == kNoBuffer) continue;
          first[b] = std::min(first[b], s);
          last[b] = s;
        }
      }
    }
    std::vector<f64> change(steps_.size() + 1, 0), crossing(steps_.size() + 2, 0);
    for (u32 b = 0; b < plan_.buffers.size(); ++b) {
      if (first[b] == kNone) continue;
      change[first[b]] += image_bytes(b);
      change[last[b] + 1] -= image_bytes(b);
      crossing[first[b] + 1] += kept_bytes(b);
      crossing[last[b] + 1] -= kept_bytes(b);
    }
    f64 live = 0, kept = 0;
    for (size_t s = 0; s < steps_.size(); ++s) {
      steps_[s].live = live += change[s];
      steps_[s].kept = kept += crossing[s];
      // A result that takes the memory of an input needs none.
      const std::vector<u32>& outputs = plan_.steps[s].outputs;
      if (candidates_[s].overwrites.empty() || outputs[0] == kNoBuffer) continue;
      steps_[s].live -= image_bytes(outputs[0]);
    }
  }

  f64 meeting() const { return threads_ > 1 ? costs_.meeting_bytes : 0; }

  f64 cost(const StepBytes& step, BatchShare share) const {
    if (share.groups > 1 && !step.by_image) return kNever;
    return share.by_thread ? cost_by_thread(step, share.groups) : cost_shared(step, share.groups);
  }

  // Both costs are the time of one thread, in bytes: what all read from beyond their caches, they read at the same time.
  // All threads share every group.
  f64 cost_shared(const StepBytes& step, s64 groups) const {
    const f64 waiting = (threads_ - 1) * kWaiting * step.work / threads_;
    const f64 images = static_cast<f64>(batch_ / groups);
    return waiting + static_cast<f64>(groups) * (step.weights + costs_.start_bytes + meeting()) +
           far_bytes(step, images, threads_) * static_cast<f64>(batch_) / threads_;
  }

  // Each thread goes through its groups alone; in the last round some may have none.
  f64 cost_by_thread(const StepBytes& step, s64 groups) const {
    const f64 images = static_cast<f64>(batch_ / groups);
    const f64 rounds = std::ceil(static_cast<f64>(groups) / threads_);
    const f64 of_batch = rounds * images * threads_ / static_cast<f64>(batch_);
    return (of_batch - 1) * step.work / threads_ + rounds * (step.weights + costs_.start_bytes) +
           of_batch * far_bytes(step, images, 1) * static_cast<f64>(batch_) / threads_;
  }

  // Of one image, what comes from beyond the caches where so many threads take `images` at a time.
  f64 far_bytes(const StepBytes& step, f64 images, f64 threads) const {
    if (images * step.live / threads + step.weights <= cache_) return 0;
    // The larger the working set, the further away it lies: in a cache that others use too, or in memory.
    const f64 far = images * step.live / (8 * cache_);
    return step.touched * (1 + far / (1 + far));
  }

  // Where the share changes, the side that works in groups meets the whole batch of the values that go over.
  f64 change_cost(const StepBytes& step, BatchShare before, BatchShare after) const {
    if (before == after) return 0;
    const f64 bytes = step.kept * static_cast<f64>(batch_) / threads_;
    const f64 met = before.by_thread || after.by_thread ? meeting() : 0;
    return kChange + met + bytes * ((before.groups > 1 ? 1 : 0) + (after.groups > 1 ? 1 : 0));
  }

  std::vector<BatchShare> cheapest_path() const {
    const size_t choices = choices_.size();
    std::vector<f64> least(choices, 0), next(choices);
    std::vector<std::vector<size_t>> from(steps_.size(), std::vector<size_t>(choices, 0));
    for (size_t s = 0; s < steps_.size(); ++s) {
      for (size_t to = 0; to < choices; ++to) {
        next[to] = kNever;
        for (size_t c = 0; c < choices; ++c) {
          const f64 way = s == 0 ? 0 : least[c] + change_cost(steps_[s], choices_[c], choices_[to]);
          if (way >= next[to]) continue;
          next[to] = way;
          from[s][to] = c;
        }
        next[to] += cost(steps_[s], choices_[to]);
      }
      least.swap(next);
    }
    std::vector<BatchShare> shares(steps_.size());
    size_t at = static_cast<size_t>(std::ranges::min_element(least) - least.begin());
    for (size_t s = steps_.size(); s-- > 0; at = from[s][at]) shares[s] = choices_[at];
    return shares;
  }

  const Plan& plan_;
  std::span<const Candidate> candidates_;
  const s64 batch_;
  const f64 threads_;
  const DeviceCosts& costs_;
  const f64 cache_;
  std::vector<StepBytes> steps_;
  std::vector<BatchShare> choices_;  // the whole batch last
};

}  // namespace

s64 batch_of(const Plan& plan) {
  const bool none = plan.input_types.empty() || plan.input_types[0].shape.rank() == 0;
  return none ? 1 : plan.input_types[0].shape[0];
}

BatchShare possible_share(const Plan& plan, const Node& node, BatchShare share) {
  const s64 batch = batch_of(plan);
  if (batch < 2 || share.groups < 2 || batch % share.groups != 0) return {};
  for (const std::vector<ValueId>* values : {&node.inputs, &node.outputs}) {
    for (ValueId id : *values) {
      if (id == kNoValue || plan.graph.is_constant(id)) continue;
      const Shape& shape = plan.graph.value(id).type.shape;
      if (shape.rank() == 0 || shape[0] != batch) return {};
    }
  }
  // Threads are the host's: steps of another device's queue share none.
  if (plan.devices.size() > 1) share.by_thread = false;
  return share;
}

TensorType group_type(TensorType type, s64 groups) {
  if (groups > 1) type.shape[0] /= groups;
  return type;
}

std::vector<BatchShare> choose_shares(const Plan& plan, std::span<const Candidate> candidates,
                                      const Target& target) {
  return Grouping(plan, candidates, target).run();
}

std::string share_note(const Plan& plan, const PlanStep& step) {
  const s64 batch = batch_of(plan);
  return fmt::format("{}{} of {} images at a time, {}", step.note.empty() ? "" : "; ",
                     batch / step.share.groups, batch,
                     step.share.by_thread ? "each by one thread" : "to stay in the cache");
}

void size_by_shares(Plan& plan, int threads) {
  // Runs of neighbouring steps with one share; what two runs touch is whole.
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  std::vector<size_t> run_of(plan.buffers.size(), kNone);
  size_t run = 0;
  const auto touch = [&](u32 b, BatchShare share) {
    if (b == kNoBuffer) return;
    Buffer& buffer = plan.buffers[b];
    if (run_of[b] == kNone) {
      run_of[b] = run;
      buffer.groups = buffer.kind == Buffer::Kind::arena ? share.groups : 1;
    } else if (run_of[b] != run) {
      buffer.groups = 1;
    }
    buffer.sliced = buffer.groups > 1 && share.by_thread;
  };
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    if (s > 0 && plan.steps[s - 1].share != step.share) ++run;
    if (step.share.by_thread)
      plan.slices.count = std::max(plan.slices.count, std::min<s64>(threads, step.share.groups));
    for (u32 b : step.inputs) touch(b, step.share);
    for (u32 b : step.outputs) touch(b, step.share);
  }
}

}  // namespace octet
