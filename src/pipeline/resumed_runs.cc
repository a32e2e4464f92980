// SPDX-License-Identifier: Apache-2.0
#include "pipeline/resumed_runs.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/check.h"
#include "core/memory.h"
#include "core/monitor.h"
#include "core/side_by_side.h"
#include "pipeline/sample_run.h"
#include "runtime/inside.h"

namespace octet {
namespace {

bool is_same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  return a.data() == b.data() || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

bool is_same(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (const auto* tensor = std::get_if<Tensor>(&a)) return is_same(*tensor, std::get<Tensor>(b));
  return std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Tensor>) {
          return false;
        } else {
          return value == std::get<T>(b);
        }
      },
      a);
}

bool is_same(const Attrs& a, const Attrs& b) {
  return std::ranges::equal(a.entries(), b.entries(), [](const auto& one, const auto& other) {
    return one.first == other.first && is_same(one.second, other.second);
  });
}

// Whose values are worth keeping: reals and codes. Sizes are made again, so that a plan knows them.
bool is_kept(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::u8 || dtype == Dtype::s8;
}

// What a variant has in common with the base.
class Common {
 public:
  Common(const Graph& base, const Graph& variant)
      : base_(base), variant_(variant), of_base_(variant.value_count(), kNoValue) {
    for (const Node& node : base.nodes) {
      if (!node.outputs.empty()) by_result_[base.value(node.outputs[0]).name] = &node;
    }
    for (ValueId id : variant.inputs) of_base_[id] = base.find_value(variant.value(id).name);
    for (const Node& node : variant.nodes) {
      const Node* same = counterpart(node);
      for (size_t i = 0; same != nullptr && i < node.outputs.size(); ++i) {
        if (node.outputs[i] != kNoValue) of_base_[node.outputs[i]] = same->outputs[i];
      }
    }
  }

  // kNoValue: the variant alone has it.
  ValueId of_base(ValueId id) const { return of_base_[id]; }

 private:
  const Node* counterpart(const Node& node) const {
    if (node.outputs.empty() || node.outputs[0] == kNoValue) return nullptr;
    const auto at = by_result_.find(variant_.value(node.outputs[0]).name);
    if (at == by_result_.end()) return nullptr;
    const Node& other = *at->second;
    if (node.op != other.op || node.inputs.size() != other.inputs.size() ||
        node.outputs.size() != other.outputs.size() || !is_same(node.attrs, other.attrs))
      return nullptr;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!reads_same(node.inputs[i], other.inputs[i])) return nullptr;
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!makes_same(node.outputs[i], other.outputs[i])) return nullptr;
    }
    return &other;
  }

  bool reads_same(ValueId id, ValueId other) const {
    if (id == kNoValue || other == kNoValue) return id == other;
    if (!variant_.is_constant(id)) return of_base_[id] == other;
    return base_.is_constant(other) &&
           is_same(variant_.value(id).constant, base_.value(other).constant);
  }

  bool makes_same(ValueId id, ValueId other) const {
    if (id == kNoValue || other == kNoValue) return id == other;
    const Value &a = variant_.value(id), &b = base_.value(other);
    return a.name == b.name && a.type.dtype == b.type.dtype;
  }

  const Graph &base_, &variant_;
  std::unordered_map<std::string_view, const Node*> by_result_;
  std::vector<ValueId> of_base_;  // of each value of the variant
};

}  // namespace

ResumedRuns::ResumedRuns(const Graph& base, std::span<const std::vector<Tensor>> samples,
                         const StageOptions& stage)
    : base_(base), stage_(stage), store_(std::make_shared<PreparedStore>()) {
  auto model = std::make_shared<Model>();
  model->graph = base_;
  for (const Node& node : base_.nodes) {
    for (ValueId id : node.outputs) {
      if (id == kNoValue || !is_kept(base_.value(id).type.dtype)) continue;
      values_.push_back(id);
      model->graph.outputs.push_back(id);
    }
  }
  Context context = Inside::context(std::move(model), {.device = stage_.device}, store_);
  const size_t own = base_.outputs.size();
  s64 room = 1;
  for (const std::vector<Tensor>& sample : samples) {
    check_stop(stage_.monitor);
    if (room <= 0) break;
    const s64 before = counted_bytes();
    std::vector<Tensor> results = context.run(sample);
    std::vector<Tensor> kept(std::make_move_iterator(results.begin() + static_cast<ptrdiff_t>(own)),
                             std::make_move_iterator(results.end()));
    results.resize(own);
    outputs_.push_back(std::move(results));
    kept.insert(kept.end(), sample.begin(), sample.end());
    kept_.push_back(std::move(kept));
    room = more_that_fit(2 * std::max<s64>(1, counted_bytes() - before));
  }
  values_.insert(values_.end(), base_.inputs.begin(), base_.inputs.end());
}

namespace {

// Nodes all of whose results are there already.
std::vector<u32> nodes_done(const Graph& graph, const std::vector<bool>& there) {
  std::vector<u32> done;
  for (u32 n = 0; n < graph.nodes.size(); ++n) {
    const std::vector<ValueId>& made = graph.nodes[n].outputs;
    const auto is_done = [&](ValueId id) { return id == kNoValue || there[id]; };
    if (!made.empty() && std::ranges::all_of(made, is_done)) done.push_back(n);
  }
  return done;
}

// What is there and is read.
std::vector<ValueId> values_read(const Graph& graph, std::vector<bool> there) {
  std::vector<ValueId> read;
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.inputs) {
      if (id == kNoValue || !there[id]) continue;
      there[id] = false;
      read.push_back(id);
    }
  }
  return read;
}

}  // namespace

ResumedRuns::Rest ResumedRuns::rest_of(const Graph& variant) const {
  const Common common(base_, variant);
  std::unordered_map<ValueId, size_t> places;
  for (size_t i = 0; i < values_.size(); ++i) places.emplace(values_[i], i);
  std::vector<size_t> place(variant.value_count(), 0);
  std::vector<bool> there(variant.value_count(), false);
  for (ValueId id = 0; id < variant.value_count(); ++id) {
    const auto at = places.find(common.of_base(id));
    if (at == places.end()) continue;
    there[id] = true;
    place[id] = at->second;
  }
  Rest rest;
  rest.model_ = std::make_shared<Model>();
  Graph& graph = rest.model_->graph;
  graph = variant;
  erase_nodes(graph, nodes_done(variant, there));
  graph.outputs.clear();
  for (ValueId id : variant.outputs) {
    rest.made_.push_back(there[id] ? -1 : std::ssize(graph.outputs));
    rest.shared_.push_back(place[id]);
    if (!there[id]) graph.outputs.push_back(id);
  }
  remove_dead_nodes(graph);
  graph.inputs = values_read(graph, there);
  for (ValueId id : graph.inputs) rest.inputs_.push_back(place[id]);
  graph.compact();
  return rest;
}

std::vector<Tensor> ResumedRuns::run_one(const Rest& rest, Context& context, size_t sample) const {
  std::vector<Tensor> inputs;
  for (size_t place : rest.inputs_) inputs.push_back(kept_[sample][place]);
  std::vector<Tensor> made = context.run(inputs);
  std::vector<Tensor> outputs;
  for (size_t o = 0; o < rest.made_.size(); ++o) {
    const ptrdiff_t at = rest.made_[o];
    outputs.push_back(at < 0 ? kept_[sample][rest.shared_[o]] : made[static_cast<size_t>(at)]);
  }
  return outputs;
}

SampleOutputs ResumedRuns::run(const Rest& rest, size_t count) const {
  OCTET_CHECK(count <= kept_.size());
  SampleOutputs results(count);
  std::vector<Context> idle;
  std::mutex mutex;
  side_by_side(count, stage_.threads, [&](size_t i) {
    check_stop(stage_.monitor);
    std::unique_lock lock(mutex);
    if (idle.empty())
      idle.push_back(Inside::context(rest.model_, {.device = stage_.device}, store_));
    Context context = std::move(idle.back());
    idle.pop_back();
    lock.unlock();
    results[i] = run_one(rest, context, i);
    lock.lock();
    idle.push_back(std::move(context));
  });
  return results;
}

}  // namespace octet
