// SPDX-License-Identifier: Apache-2.0
#include "pipeline/automatic.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "calibrate/range.h"
#include "core/check.h"
#include "core/monitor.h"
#include "core/side_by_side.h"
#include "graph/op_traits.h"
#include "octet/engine.h"
#include "pipeline/output_power.h"
#include "pipeline/run_each.h"
#include "precision/roles.h"
#include "runtime/inside.h"

namespace octet {
namespace {

constexpr RangeMethod kTried[] = {
    RangeRule::entropy, RangeRule::minmax, {RangeRule::percentile, 99.99}, RangeRule::mse};

// The ranges that a tensor may get, without those whose codes are those of one before; and what each costs its readers.
struct Trial {
  std::vector<Range> ranges;
  std::vector<f64> errors;
};

Trial trial_of(const Calibration& calibration, size_t value, const std::string& name) {
  Trial trial;
  for (const RangeMethod& method : kTried) {
    Range range = estimate_range(calibration.observations[value].histogram, method, name);
    const auto same = [&](const Range& other) {
      return code_type_of(other) == code_type_of(range);
    };
    if (std::ranges::none_of(trial.ranges, same)) trial.ranges.push_back(std::move(range));
  }
  trial.errors.resize(trial.ranges.size());
  return trial;
}

Tensor through_codes(const Tensor& real, const CodeType& type) {
  const f32 scale = type.params.scale;
  const f32 zero = static_cast<f32>(type.params.zero_point);
  const f32 least = type.dtype == Dtype::u8 ? 0.0f : -128.0f;
  Tensor result(Dtype::f32, real.shape());
  const auto x = real.as<f32>();
  const auto y = result.mutable_as<f32>();
  for (size_t i = 0; i < x.size(); ++i) {
    const f32 code = std::clamp(std::nearbyint(x[i] / scale) + zero, least, least + 255.0f);
    y[i] = (code - zero) * scale;
  }
  return result;
}

// Of one sample.
f64 relative_error(const std::vector<Tensor>& truth, const std::vector<Tensor>& got) {
  return octet::relative_error({&truth, 1}, {&got, 1});
}

// One layer as a model of its own.
class Reader {
 public:
  Reader(const Graph& graph, const Node& node) {
    auto model = std::make_shared<Model>();
    Graph& own = model->graph;
    std::unordered_map<ValueId, ValueId> copies;
    Node copy = node;
    for (ValueId& id : copy.inputs) id = copy_value(graph, own, id, copies);
    for (ValueId& id : copy.outputs) {
      if (id == kNoValue) continue;
      id = own.add_value(graph.value(id).name, graph.value(id).type);
      own.outputs.push_back(id);
    }
    own.nodes.push_back(std::move(copy));
    context_ = std::make_unique<Context>(Inside::context(std::move(model), {}));
  }

  const std::vector<ValueId>& inputs() const { return inputs_; }
  std::vector<Tensor> run(std::span<const Tensor> inputs) { return context_->run(inputs); }

 private:
  ValueId copy_value(const Graph& from, Graph& to, ValueId id,
                     std::unordered_map<ValueId, ValueId>& copies) {
    if (id == kNoValue) return id;
    const auto [at, is_new] = copies.try_emplace(id, kNoValue);
    if (!is_new) return at->second;
    const Value& value = from.value(id);
    if (from.is_constant(id)) return at->second = to.add_constant(value.name, value.constant);
    at->second = to.add_value(value.name, value.type);
    to.inputs.push_back(at->second);
    inputs_.push_back(id);
    return at->second;
  }

  std::vector<ValueId> inputs_;  // of the whole graph, in the order in which the layer takes them
  std::unique_ptr<Context> context_;
};

// As the engine will have it.
Graph equalized(const FloatModel& model) {
  Graph graph = *model.graph;
  apply_exponents(graph, model.calibration->exponents);
  return graph;
}

class Automatic {
 public:
  Automatic(const FloatModel& model, std::span<const size_t> values, const StageOptions& stage)
      : graph_(equalized(model)), calibration_(*model.calibration), stage_(stage) {
    for (size_t value : values) {
      const ValueId id = calibration_.values[value];
      trials_.emplace(id, trial_of(calibration_, value, graph_.value(id).name));
      order_.push_back(id);
    }
    for (const Node& node : graph_.nodes) {
      if (computes_with_trials(node)) readers_.emplace_back(graph_, node);
    }
    make_feeder();
  }

  std::vector<Range> run() {
    const auto total = static_cast<s64>(calibration_.tried_samples.size());
    for (s64 i = 0; i < total; ++i) {
      check_stop(stage_.monitor);
      try_sample(calibration_.tried_samples[static_cast<size_t>(i)]);
      report_progress(stage_.monitor, "choose ranges", i + 1, total);
    }
    std::vector<Range> ranges;
    for (ValueId id : order_) ranges.push_back(best(trials_.at(id), id));
    return ranges;
  }

 private:
  bool computes_with_trials(const Node& node) const {
    if (has_body(node) || !has_integer_rule(graph_, node)) return false;
    if (node.op->quant.kind == QuantKind::move_codes) return false;
    return std::ranges::any_of(node.inputs, [&](ValueId id) {
      const auto trial = trials_.find(id);
      return trial != trials_.end() && trial->second.ranges.size() > 1;
    });
  }

  // The float model with whatever a reader takes as outputs.
  void make_feeder() {
    auto model = std::make_shared<Model>();
    model->graph = graph_;
    model->graph.outputs.clear();
    for (size_t i = 0; i < graph_.inputs.size(); ++i) input_at_[graph_.inputs[i]] = i;
    for (const Reader& reader : readers_) {
      for (ValueId id : reader.inputs()) {
        if (input_at_.contains(id) || output_at_.contains(id)) continue;
        output_at_[id] = model->graph.outputs.size();
        model->graph.outputs.push_back(id);
      }
    }
    feeder_ = std::make_unique<Context>(Inside::context(std::move(model), {}));
  }

  // What one candidate for one value did to one reader.
  struct Tried {
    ValueId value = kNoValue;
    size_t candidate = 0;
    f64 error = 0;
  };

  // Readers run side by side, each on one thread, and errors add up in their order: neither depends on the number of threads.
  void try_sample(const std::vector<Tensor>& sample) {
    const std::vector<Tensor> values = feeder_->run(sample);
    std::vector<std::vector<Tried>> tried(readers_.size());
    side_by_side(readers_.size(), stage_.threads, [&](size_t r) {
      std::vector<Tensor> inputs;
      for (ValueId id : readers_[r].inputs()) {
        const auto input = input_at_.find(id);
        inputs.push_back(input != input_at_.end() ? sample[input->second]
                                                  : values[output_at_.at(id)]);
      }
      tried[r] = try_reader(readers_[r], inputs);
    });
    for (const std::vector<Tried>& of_reader : tried) {
      for (const Tried& one : of_reader) trials_.at(one.value).errors[one.candidate] += one.error;
    }
  }

  std::vector<Tried> try_reader(Reader& reader, std::vector<Tensor>& inputs) const {
    std::vector<Tried> tried;
    const std::vector<Tensor> truth = reader.run(inputs);
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ValueId id = reader.inputs()[i];
      const auto trial = trials_.find(id);
      if (trial == trials_.end()) continue;
      const Tensor real = inputs[i];
      for (size_t c = 0; c < trial->second.ranges.size(); ++c) {
        inputs[i] = through_codes(real, code_type_of(trial->second.ranges[c]));
        tried.push_back({id, c, relative_error(truth, reader.run(inputs))});
      }
      inputs[i] = real;
    }
    return tried;
  }

  Range best(const Trial& trial, ValueId id) const {
    const bool was_tried = std::ranges::any_of(trial.errors, [](f64 error) { return error > 0; });
    if (was_tried) {
      const auto least = std::ranges::min_element(trial.errors) - trial.errors.begin();
      return trial.ranges[static_cast<size_t>(least)];
    }
    const auto at = std::ranges::find(calibration_.values, id) - calibration_.values.begin();
    return estimate_range(calibration_.observations[static_cast<size_t>(at)].histogram,
                          RangeRule::mse, graph_.value(id).name);
  }

  const Graph graph_;
  const Calibration& calibration_;
  const StageOptions& stage_;
  std::unordered_map<ValueId, Trial> trials_;
  std::vector<ValueId> order_;
  std::vector<Reader> readers_;
  std::unordered_map<ValueId, size_t> input_at_, output_at_;
  std::unique_ptr<Context> feeder_;
};

// The outputs of the float model and of INT8 variants, over the samples.
class WholeModel {
 public:
  WholeModel(const FloatModel& model, const StageOptions& stage) : model_(model), stage_(stage) {
    truth_ = run(quantize(model, {}));
  }

  f64 error_of(const Ranges& ranges) const {
    PrecisionPlan int8;
    int8.int8 = true;
    const auto results = run(quantize(with_ranges(model_, ranges), int8));
    f64 error = 0;
    for (size_t i = 0; i < results.size(); ++i) error += relative_error(truth_[i], results[i]);
    return error;
  }

 private:
  std::vector<std::vector<Tensor>> run(Model variant) const {
    return run_each(std::make_shared<const Model>(std::move(variant)),
                    model_.calibration->tried_samples, stage_);
  }

  const FloatModel& model_;
  const StageOptions& stage_;
  std::vector<std::vector<Tensor>> truth_;
};

Ranges replaced(Ranges ranges, const Calibration& calibration, std::span<const size_t> values,
                std::vector<Range> chosen) {
  for (size_t i = 0; i < values.size(); ++i) {
    chosen[i].seen = calibration.statistics[values[i]];
    ranges[calibration.values[values[i]]] = std::move(chosen[i]);
  }
  return ranges;
}

// One method for all the values.
Ranges uniform(const FloatModel& model, const Ranges& known, std::span<const size_t> values,
               const RangeMethod& method) {
  const Calibration& calibration = *model.calibration;
  std::vector<Range> ranges;
  for (size_t value : values) {
    ranges.push_back(estimate_range(calibration.observations[value].histogram, method,
                                    model.graph->value(calibration.values[value]).name));
  }
  return replaced(known, calibration, values, std::move(ranges));
}

}  // namespace

Ranges with_automatic_ranges(const FloatModel& model, Ranges known, std::span<const size_t> values,
                             const StageOptions& stage) {
  if (model.calibration->tried_samples.empty()) {
    fail_about("CalibrationOptions.method", Error::Code::invalid_argument,
               "the method auto tries samples, and a calibration cache has none; give data, or "
               "another method");
  }
  Ranges best = replaced(known, *model.calibration, values, Automatic(model, values, stage).run());
  const WholeModel whole(model, stage);
  f64 least = whole.error_of(best);
  for (const RangeMethod& method : kTried) {
    Ranges candidate = uniform(model, known, values, method);
    const f64 error = whole.error_of(candidate);
    if (error < least) {
      least = error;
      best = std::move(candidate);
    }
  }
  return best;
}

}  // namespace octet
