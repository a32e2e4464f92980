// SPDX-License-Identifier: Apache-2.0
#include "pipeline/measure_losses.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/check.h"
#include "core/divide.h"
#include "core/memory.h"
#include "core/monitor.h"
#include "core/side_by_side.h"
#include "graph/op_traits.h"
#include "passes/infer_types.h"
#include "pipeline/output_power.h"
#include "pipeline/resumed_runs.h"
#include "precision/constraints.h"
#include "precision/equalize.h"
#include "precision/roles.h"

namespace octet {
namespace {

// Of runs over all samples.
constexpr f64 kMostPasses = 2;
constexpr const char* kBy = "calibration";

std::vector<TensorType> types_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<TensorType> types;
  for (ValueId id : ids) types.push_back(id == kNoValue ? TensorType{} : graph.value(id).type);
  return types;
}

// As the samples have them: the model may leave them open.
Graph sized(Graph graph, const std::vector<Tensor>& sample) {
  for (size_t i = 0; i < graph.inputs.size(); ++i)
    graph.value(graph.inputs[i]).type.shape = sample[i].shape();
  infer_types(graph);
  return graph;
}

// Work counts multiplications of f32: codes are multiplied four at a time.
constexpr f64 kByte = 2;  // that is read or written
// An element of a function that computes in f32, and is a table of codes in INT8.
constexpr f64 kFunction = 4;

f64 bytes_moved(const std::vector<TensorType>& types) {
  f64 bytes = 0;
  for (const TensorType& type : types)
    bytes +=
        static_cast<f64>(element_count(type.shape)) * static_cast<f64>(dtype_bytes(type.dtype));
  return bytes;
}

// Of an engine's graph: what stands around a layer in f32 (conversions, moves that no reader wants as codes) counts, too.
f64 work_of(const Graph& graph) {
  f64 work = 0;
  for (const Node& node : graph.nodes) {
    const auto inputs = types_of(graph, node.inputs), outputs = types_of(graph, node.outputs);
    const auto macs = static_cast<f64>(count_macs(node, inputs, outputs));
    const bool codes = node.decision.precision == Precision::int8;
    work += (codes ? macs / 4 : macs) + kByte * (bytes_moved(inputs) + bytes_moved(outputs));
    if (!codes && node.op->quant.kind == QuantKind::table)
      work += kFunction * static_cast<f64>(element_count(outputs[0].shape));
  }
  return work;
}

// What nodes of the float model take.
struct Work {
  std::vector<f64> real, macs;
  f64 all_real = 0, all_macs = 0;

  explicit Work(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      const auto inputs = types_of(graph, node.inputs), outputs = types_of(graph, node.outputs);
      macs.push_back(static_cast<f64>(count_macs(node, inputs, outputs)));
      real.push_back(macs.back() + kByte * (bytes_moved(inputs) + bytes_moved(outputs)));
      all_real += real.back();
      all_macs += macs.back();
    }
  }

  // Of the node and of whatever depends on it.
  f64 behind(const Graph& graph, const Uses& uses, size_t first) const {
    std::vector<bool> reached(graph.nodes.size(), false);
    reached[first] = true;
    f64 sum = 0;
    for (size_t n = first; n < reached.size(); ++n) {
      if (!reached[n]) continue;
      sum += real[n];
      for (ValueId id : graph.nodes[n].outputs) {
        if (id == kNoValue) continue;
        for (u32 reader : uses.consumers(id)) reached[reader] = true;
      }
    }
    return all_real > 0 ? sum / all_real : 0;
  }
};

class Measurement {
 public:
  Measurement(const FloatModel& model, const StageOptions& stage)
      : model_(model),
        stage_(stage),
        samples_(model.calibration->compared_samples),
        decided_(decided(model)),
        work_(sized(*model.graph, samples_[0])) {
    plan_.int8 = true;
    all_real_.resize(decided_.nodes.size());
    for (size_t n = 0; n < decided_.nodes.size(); ++n) {
      const Node& node = decided_.nodes[n];
      if (node.op->quant.kind != QuantKind::compute || !has_integer_rule(decided_, node)) continue;
      all_real_[n] = {Precision::f32, Precision::none, kBy, {}};
      if (is_candidate(node)) candidates_.push_back(n);
    }
  }

  std::vector<LayerLoss> run() {
    choose();
    if (candidates_.empty()) return {};
    // Layers side by side, the samples of each one after another.
    const ResumedRuns runs(graph_of(all_real_), samples_, {1, stage_.monitor});
    if (runs.samples() < samples_.size())
      fail(Error::Code::out_of_memory, "no room for what {} samples compute", samples_.size());
    std::vector<std::optional<f64>> lost(candidates_.size());
    std::vector<f64> slower(candidates_.size());
    const f64 fastest = work_with_real(decided_.nodes.size());
    const auto try_layer = [&](size_t i) {
      slower[i] = std::max(0.0, work_with_real(candidates_[i]) / fastest - 1);
      std::vector<LayerRequest> requests = all_real_;
      requests[candidates_[i]].precision = Precision::int8;
      const ResumedRuns::Rest rest = runs.rest_of(graph_of(std::move(requests)));
      lost[i] = mean_relative_error(runs.outputs(), runs.run(rest, samples_.size()));
    };
    const size_t at_once = static_cast<size_t>(stage_.threads), total = candidates_.size();
    for (size_t first = 0; first < total; first += at_once) {
      report_progress(stage_.monitor, "try layers", static_cast<s64>(first),
                      static_cast<s64>(total));
      side_by_side(std::min(at_once, total - first), stage_.threads,
                   [&](size_t i) { try_layer(first + i); });
    }
    std::vector<LayerLoss> losses;
    for (size_t i = 0; i < candidates_.size(); ++i) {
      const size_t n = candidates_[i];
      if (!lost[i]) return {};
      losses.push_back({decided_.nodes[n].name, coarse(*lost[i]), coarse(slower[i]),
                        coarse(work_.macs[n] / work_.all_macs)});
    }
    return losses;
  }

 private:
  static Graph decided(const FloatModel& model) {
    Graph graph = *model.graph;
    apply_exponents(graph, model.calibration->exponents);
    assign_precision(graph, *model.ranges, {});
    return graph;
  }

  // One that the default makes INT8, or the estimate keeps real.
  bool is_candidate(const Node& node) const {
    if (!is_guarded(decided_, node)) return false;
    return node.decision.precision == Precision::int8 ||
           node.decision.code == ReasonCode::channel_loss;
  }

  // So many samples, and of so many layers, that they take the time that they may.
  void choose() {
    const Uses uses(decided_);
    std::vector<f64> behind(decided_.nodes.size(), 0);
    f64 all = 1;
    for (const size_t n : candidates_) all += behind[n] = work_.behind(decided_, uses, n);
    const Calibration& seen = *model_.calibration;
    const f64 most = kMostPasses * static_cast<f64>(ceil_div(seen.samples, seen.rows));
    const f64 fit = std::floor(most / all);
    samples_ = samples_.first(
        static_cast<size_t>(std::clamp(fit, 1.0, static_cast<f64>(samples_.size()))));
    if (fit >= 1) return;
    // Of layers that the time does not suffice for, those that cost the least to keep real.
    std::ranges::stable_sort(candidates_, {}, [&](size_t n) { return work_.real[n]; });
    f64 left = most - 1;
    const auto end =
        std::ranges::find_if(candidates_, [&](size_t n) { return (left -= behind[n]) < 0; });
    candidates_.erase(end, candidates_.end());
  }

  // Of an engine in which one layer that was tried is real, or none.
  f64 work_with_real(size_t real) const {
    std::vector<LayerRequest> requests(decided_.nodes.size());
    for (const size_t n : candidates_)
      requests[n] = {n == real ? Precision::f32 : Precision::int8, Precision::none, kBy, {}};
    return work_of(sized(graph_of(std::move(requests)), samples_[0]));
  }

  Graph graph_of(std::vector<LayerRequest> requests) const {
    return quantize_layers(model_, plan_, std::move(requests), nullptr, stage_.monitor).graph;
  }

  const FloatModel& model_;
  const StageOptions stage_;
  std::span<const std::vector<Tensor>> samples_;
  const Graph decided_;
  const Work work_;
  PrecisionPlan plan_;
  std::vector<LayerRequest> all_real_;
  std::vector<size_t> candidates_;  // nodes
};

}  // namespace

std::vector<LayerLoss> measure_losses(const FloatModel& model, const CalibrationOptions& options,
                                      const StageOptions& stage, std::vector<std::string>& notes) {
  const auto estimated = [&](const char* why) {
    notes.push_back(fmt::format(
        "{}: which layers stay in f32 for accuracy is estimated, whatever time they may take",
        why));
    return std::vector<LayerLoss>();
  };
  if (!model.bodies.empty()) return estimated("layers of models with loops are not tried");
  // A step says nothing without those before it.
  if (!options.states.empty()) return estimated("layers are not tried on steps of sequences");
  if (model.calibration->compared_samples.empty())
    return estimated("samples are too large to be kept for layers to be tried on");
  // What many threads have no room for, one may have.
  for (int threads = stage.threads;; threads = 1) {
    try {
      std::vector<LayerLoss> losses = without_bad_alloc([&] {
        return Measurement(model, {threads, stage.monitor}).run();
      });
      if (losses.empty()) return estimated("no layer could be tried on the samples");
      return losses;
    } catch (const Error& error) {
      if (error.code() != Error::Code::out_of_memory) throw;
    }
    if (threads == 1) return estimated("memory has no room to try layers on samples");
  }
}

}  // namespace octet
