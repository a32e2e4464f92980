// SPDX-License-Identifier: Apache-2.0
// The cost of a choice is what passes between a core and the memory beyond its own cache, in bytes: activations where a group's
// working set does not fit, weights again for each group, and values that go from one number of groups to another.
#include "plan/groups.h"

#include <fmt/format.h>

#include <algorithm>
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
constexpr f64 kNever = std::numeric_limits<f64>::infinity();

struct StepBytes {
  f64 touched = 0;  // activations of one image that the step reads and writes
  f64 live = 0;     // these and what waits for later steps
  f64 kept = 0;     // what lies in memory between the step before and this one
  f64 weights = 0;
  bool by_image = false;
};

class Grouping {
 public:
  Grouping(const Plan& plan, std::span<const Candidate> candidates, const Target& target)
      : plan_(plan),
        candidates_(candidates),
        batch_(batch_of(plan)),
        threads_(static_cast<f64>(target.threads)),
        start_(start_bytes(target)),
        cache_(kShare * static_cast<f64>(target.device->costs().cache_bytes)),
        steps_(plan.steps.size()) {}

  std::vector<s64> run() {
    std::vector<s64> groups(steps_.size(), 1);
    if (batch_ < 2 || cache_ <= 0) return groups;
    for (s64 images = 1; images <= std::min(kMostImages, batch_ - 1); ++images) {
      if (batch_ % images == 0) counts_.push_back(batch_ / images);
    }
    counts_.push_back(1);
    for (size_t s = 0; s < steps_.size(); ++s) read_step(s);
    add_lives();
    return cheapest_path();
  }

 private:
  static f64 start_bytes(const Target& target) {
    const DeviceCosts& costs = target.device->costs();
    return costs.start_bytes + (target.threads > 1 ? costs.meeting_bytes : 0);
  }

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
    if (step.node >= plan_.graph.nodes.size())
      return;  // a conversion, which does what its reader does
    const Node& node = plan_.graph.nodes[step.node];
    bytes.by_image = bytes.by_image && possible_groups(plan_, node, batch_) > 1;
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

  f64 cost(const StepBytes& step, s64 groups) const {
    if (groups > 1 && !step.by_image) return kNever;
    const f64 images = static_cast<f64>(batch_ / groups), batch = static_cast<f64>(batch_);
    const f64 again = static_cast<f64>(groups) * (step.weights + start_);
    const f64 held = images * step.live / threads_ + step.weights;
    if (held <= cache_) return again;
    // The larger the working set, the further away it lies: in a cache that others use too, or in memory.
    const f64 far = images * step.live / (8 * cache_);
    return again + batch * step.touched * (1 + far / (1 + far));
  }

  // Where the number changes, the side that works in groups meets the whole batch of the values that go over.
  f64 change_cost(const StepBytes& step, s64 before, s64 after) const {
    const f64 bytes = step.kept * static_cast<f64>(batch_);
    if (before == after) return 0;
    return kChange + bytes * ((before > 1 ? 1 : 0) + (after > 1 ? 1 : 0));
  }

  std::vector<s64> cheapest_path() const {
    const size_t choices = counts_.size();
    std::vector<f64> least(choices, 0), next(choices);
    std::vector<std::vector<size_t>> from(steps_.size(), std::vector<size_t>(choices, 0));
    for (size_t s = 0; s < steps_.size(); ++s) {
      for (size_t to = 0; to < choices; ++to) {
        next[to] = kNever;
        for (size_t c = 0; c < choices; ++c) {
          const f64 way = s == 0 ? 0 : least[c] + change_cost(steps_[s], counts_[c], counts_[to]);
          if (way >= next[to]) continue;
          next[to] = way;
          from[s][to] = c;
        }
        next[to] += cost(steps_[s], counts_[to]);
      }
      least.swap(next);
    }
    std::vector<s64> groups(steps_.size());
    size_t at = static_cast<size_t>(std::ranges::min_element(least) - least.begin());
    for (size_t s = steps_.size(); s-- > 0; at = from[s][at]) groups[s] = counts_[at];
    return groups;
  }

  const Plan& plan_;
  std::span<const Candidate> candidates_;
  const s64 batch_;
  const f64 threads_, start_, cache_;
  std::vector<StepBytes> steps_;
  std::vector<s64> counts_;  // numbers of groups to choose from; the whole batch last
};

}  // namespace

s64 batch_of(const Plan& plan) {
  const bool none = plan.input_types.empty() || plan.input_types[0].shape.rank() == 0;
  return none ? 1 : plan.input_types[0].shape[0];
}

s64 possible_groups(const Plan& plan, const Node& node, s64 groups) {
  const s64 batch = batch_of(plan);
  if (batch < 2 || batch % groups != 0) return 1;
  for (const std::vector<ValueId>* values : {&node.inputs, &node.outputs}) {
    for (ValueId id : *values) {
      if (id == kNoValue || plan.graph.is_constant(id)) continue;
      const Shape& shape = plan.graph.value(id).type.shape;
      if (shape.rank() == 0 || shape[0] != batch) return 1;
    }
  }
  return groups;
}

TensorType group_type(TensorType type, s64 groups) {
  if (groups > 1) type.shape[0] /= groups;
  return type;
}

std::vector<s64> choose_groups(const Plan& plan, std::span<const Candidate> candidates,
                               const Target& target) {
  return Grouping(plan, candidates, target).run();
}

std::string group_note(const Plan& plan, const PlanStep& step) {
  const s64 batch = batch_of(plan);
  return fmt::format("{}{} of {} images at a time, to stay in the cache",
                     step.note.empty() ? "" : "; ", batch / step.groups, batch);
}

void size_by_groups(Plan& plan) {
  // Runs of neighbouring steps with one number of groups; what two runs touch is whole.
  constexpr size_t kNone = std::numeric_limits<size_t>::max();
  std::vector<size_t> run_of(plan.buffers.size(), kNone);
  size_t run = 0;
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const PlanStep& step = plan.steps[s];
    if (s > 0 && plan.steps[s - 1].groups != step.groups) ++run;
    for (const std::vector<u32>* buffers : {&step.inputs, &step.outputs}) {
      for (u32 b : *buffers) {
        if (b == kNoBuffer) continue;
        Buffer& buffer = plan.buffers[b];
        if (run_of[b] == kNone) {
          run_of[b] = run;
          buffer.groups = buffer.kind == Buffer::Kind::arena ? step.groups : 1;
        } else if (run_of[b] != run) {
          buffer.groups = 1;
        }
      }
    }
  }
}

}  // namespace octet
