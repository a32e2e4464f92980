// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/channels.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "graph/graph_edit.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"
#include "ops/shared/channel_runs.h"

namespace octet::cuda {
namespace {

bool joins_channels(const Graph& graph, const Node& node) {
  constexpr int kImage = 4;
  return node.op->name == "Concat" && node.inputs.size() > 1 &&
         graph.value(node.outputs[0]).type.shape.rank() == kImage &&
         normalize_axis(attribute_of<&ConcatAttributes::axis>(node), kImage) == 1;
}

class Sharer {
 public:
  explicit Sharer(Graph& graph) : graph_(graph), uses_(graph) {}

  void run() {
    for (Node& node : graph_.nodes) {
      if (!joins_channels(graph_, node)) continue;
      join_parts(node.inputs);
      std::vector<ValueId> parts = node.inputs;
      join_earlier(node.inputs);
      remember({node.outputs[0], std::move(parts)});
    }
    if (changed_) erase_unread();
  }

 private:
  struct Concatenation {
    ValueId result;
    std::vector<ValueId> parts;
  };
  // Of the value `of`, from a channel on.
  struct Run {
    ValueId of = kNoValue;
    s64 first = 0;
  };

  s64 channels_of(ValueId id) const { return graph_.value(id).type.shape[1]; }

  std::optional<Run> run_of(ValueId id) const {
    const s32 n = uses_.producer(id);
    if (n < 0) return std::nullopt;
    const Node& node = graph_.nodes[static_cast<size_t>(n)];
    const std::vector<s64> firsts = channel_runs(graph_, node);
    const auto at = std::ranges::find(node.outputs, id) - node.outputs.begin();
    if (firsts.empty() || graph_.is_constant(node.inputs[0])) return std::nullopt;
    return Run{node.inputs[0], firsts[static_cast<size_t>(at)]};
  }

  // How many inputs from `at` on are all channels of one value, in their order; 0: none.
  size_t parts_at(const std::vector<ValueId>& inputs, size_t at, ValueId& of) const {
    s64 next = 0;
    for (size_t i = at; i < inputs.size(); ++i) {
      const std::optional<Run> run = run_of(inputs[i]);
      if (!run || run->first != next || (i > at && run->of != of)) return 0;
      of = run->of;
      next += channels_of(inputs[i]);
      if (next == channels_of(of)) return i + 1 - at;
    }
    return 0;
  }

  void join_parts(std::vector<ValueId>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      ValueId of = kNoValue;
      if (const size_t count = parts_at(inputs, i, of); count > 0) replace(inputs, i, count, of);
    }
  }

  // The longest that was joined before.
  void join_earlier(std::vector<ValueId>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto known = earlier_.find(inputs[i]);
      if (known == earlier_.end()) continue;
      const Concatenation* best = nullptr;
      for (const Concatenation& other : known->second) {
        const bool longer = best == nullptr || other.parts.size() > best->parts.size();
        if (longer && other.parts.size() <= inputs.size() - i &&
            std::equal(other.parts.begin(), other.parts.end(),
                       inputs.begin() + static_cast<std::ptrdiff_t>(i)))
          best = &other;
      }
      if (best != nullptr) replace(inputs, i, best->parts.size(), best->result);
    }
  }

  void replace(std::vector<ValueId>& inputs, size_t at, size_t count, ValueId by) {
    const auto first = inputs.begin() + static_cast<std::ptrdiff_t>(at);
    inputs.erase(first + 1, first + static_cast<std::ptrdiff_t>(count));
    inputs[at] = by;
    changed_ = true;
  }

  // The last few with one first part: a graph may have very many.
  void remember(Concatenation concatenation) {
    constexpr size_t kMostKnown = 4;
    std::vector<Concatenation>& known = earlier_[concatenation.parts[0]];
    if (known.size() == kMostKnown) known.erase(known.begin());
    known.push_back(std::move(concatenation));
  }

  // Slices and Splits that only concatenations read.
  void erase_unread() {
    const Uses uses(graph_);
    GraphEdit edit(graph_);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const bool unread = std::ranges::all_of(node.outputs, [&](ValueId id) {
        return uses.consumers(id).empty() && !uses.is_output(id);
      });
      if (unread && !channel_runs(graph_, node).empty()) edit.erase(n);
    }
    edit.apply();
  }

  Graph& graph_;
  const Uses uses_;
  std::map<ValueId, std::vector<Concatenation>> earlier_;  // by their first parts
  bool changed_ = false;
};

}  // namespace

void share_concatenations(Graph& graph) { Sharer(graph).run(); }

}  // namespace octet::cuda
