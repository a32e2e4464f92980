// SPDX-License-Identifier: Apache-2.0
#include "octet/sensitivity.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/memory.h"
#include "core/monitor.h"
#include "graph/op_traits.h"
#include "inspect/search/sensitivity_units.h"
#include "octet/machine.h"
#include "octet/profile.h"
#include "octet/provenance.h"
#include "onnx/text.h"
#include "pipeline/output_power.h"
#include "pipeline/resumed_runs.h"
#include "pipeline/source_inside.h"
#include "runtime/inside.h"

namespace octet {
namespace {

// What layers of an engine take, and which of them each ONNX node is in: several may be in one.
struct LayerTimes {
  std::vector<f64> microseconds;
  std::unordered_map<std::string, size_t> layer_of;

  f64 of(const Graph& graph, const SensitiveUnit& unit) const {
    std::set<size_t> layers;
    for (size_t n : unit.nodes) {
      const Node& node = graph.nodes[n];
      const auto at = layer_of.find(node.origins.empty() ? node.name : node.origins[0]);
      if (at != layer_of.end()) layers.insert(at->second);
    }
    f64 sum = 0;
    for (size_t layer : layers) sum += microseconds[layer];
    return sum;
  }
};

LayerTimes times_of(const Engine& engine, const SensitivityOptions& options, f64& total) {
  LayerTimes times;
  ProfileOptions how;
  how.threads = options.threads;
  how.device = options.device;
  how.runs = 9;
  for (const LayerTime& time : profile(engine, options.samples[0], how)) {
    total += time.microseconds;
    for (const std::string& node : time.layer.nodes)
      times.layer_of.emplace(node, times.microseconds.size());
    times.microseconds.push_back(time.microseconds);
  }
  return times;
}

class Trials {
 public:
  Trials(const SourceModel& source, const SensitivityOptions& options) : options_(options) {
    if (options.samples.empty())
      fail(Error::Code::invalid_argument, "layers are tried on samples, and none is given");
    if (options.parts < 1)
      fail(Error::Code::invalid_argument, "{} parts of the layers: expected at least 1",
           options.parts);
    if (options.part < 0 || options.part >= options.parts) {
      fail(Error::Code::invalid_argument, "part {} of the layers: expected one from 0 to {}",
           options.part, options.parts - 1);
    }
    plan_ = options.plan;
    plan_.int8 = true;
    plan_.f16 = plan_.bf16 = plan_.fastest = false;
    CompileReport report;
    model_ = SourceInside::calibrated(source, plan_, report);
    if (model_.carries_qdq) {
      fail(Error::Code::invalid_argument,
           "the model carries Q/DQ nodes: what is INT8 in it is said there, layer by layer");
    }
    if (model_.ranges == nullptr) {
      fail_about("CompileOptions.calibration", Error::Code::invalid_argument,
                 "INT8 needs calibration data or a calibration cache");
    }
    units_ = sensitive_units(model_, plan_);
    if (units_.empty())
      fail(Error::Code::invalid_argument, "no layer of the model that multiplies can be INT8");
    choose_samples();
    name_trials();
  }

  Sensitivity run() {
    result_.samples = static_cast<s64>(samples_);
    for (const SensitiveUnit& unit : units_) result_.layers.push_back(described(unit));
    total_ = 2 * units_of_part() + 1;
    try_all(
        alone(model_, units_, nullptr),
        [&](const SensitiveUnit& unit) { return alone(model_, units_, &unit); }, "alone",
        &LayerEffect::alone);
    try_all(
        {}, [&](const SensitiveUnit& unit) { return without(model_, unit); }, "without",
        &LayerEffect::without);
    if (options_.times) measure_times();
    std::ranges::stable_sort(result_.layers, std::greater(), &LayerEffect::alone);
    return std::move(result_);
  }

 private:
  // Those that try_all() goes through.
  s64 units_of_part() const {
    const s64 after = std::max<s64>(std::ssize(units_) - options_.part, 0);
    return (after + options_.parts - 1) / options_.parts;
  }

  // As many as the passes allow, and at least one.
  void choose_samples() {
    f64 share = 2;  // the float model and the INT8 one
    for (const SensitiveUnit& unit : units_) share += 2 * unit.share;
    const auto given = static_cast<f64>(options_.samples.size());
    samples_ = static_cast<size_t>(
        std::clamp(std::floor(options_.max_passes * given / share), 1.0, given));
  }

  // Whatever a loss depends on.
  void name_trials() {
    ContentHash hash;
    const auto add = [&](const std::string& text) {
      hash.add(std::as_bytes(std::span(text)));
      hash.add(static_cast<s64>(text.size()));
    };
    add(model_.hash);
    add(options_.metric);
    add(cpu_isa());
    if (options_.device != "cpu") add(device_info(options_.device).chip);
    add(std::string(octet_version()));
    for (const std::string& name : plan_.keep_float) add(name);
    for (ValueId id : values_to_observe(*model_.graph)) {
      const auto& exponents = model_.calibration->exponents;
      if (const auto at = exponents.find(id); at != exponents.end())
        add(exponents_text(at->second));
      const auto range = model_.ranges->find(id);
      if (range == model_.ranges->end()) continue;
      add(fmt::format("{} {} {} {}", range->second.tensor, range->second.threshold,
                      range->second.min, range->second.max));
    }
    for (size_t s = 0; s < samples_; ++s) {
      for (const Tensor& input : options_.samples[s]) hash.add({input.data(), input.bytes()});
    }
    fingerprint_ = hash.digest().hex();
  }

  LayerEffect described(const SensitiveUnit& unit) const {
    const Graph& graph = *model_.graph;
    LayerEffect effect;
    effect.op = graph.nodes[unit.nodes[0]].op->name;
    effect.tensor = unit.tensor;
    effect.precision = unit.precision;
    for (size_t n : unit.nodes) {
      const Node& node = graph.nodes[n];
      effect.layers.push_back(node.name);
      effect.macs +=
          count_macs(node, sized_types(graph, node.inputs), sized_types(graph, node.outputs));
    }
    return effect;
  }

  Graph graph_of(std::vector<LayerRequest> requests) const {
    return quantize_layers(model_, plan_, std::move(requests), nullptr, options_.monitor).graph;
  }

  f64 loss_of(const SampleOutputs& got) const {
    const OutputsOfSamples truth(truth_);
    const f64 loss = options_.loss ? options_.loss(truth, got) : relative_error(truth, got);
    if (!std::isfinite(loss)) {
      fail(Error::Code::invalid_argument, "the loss of a trial is no finite number");
    }
    return loss;
  }

  // Calls work() where the journal does not know the trial.
  template <class Work>
  f64 recalled(const std::string& trial, const Work& work) {
    const std::string key = fingerprint_ + " " + trial;
    std::optional<f64> known;
    if (options_.recall) known = options_.recall(key);
    const f64 loss = known ? *known : work();
    if (!known && options_.record) options_.record(key, loss);
    report_progress(options_.monitor, "layers", ++done_, total_);
    return loss;
  }

  template <class Requests>
  void try_all(std::vector<LayerRequest> base, const Requests& requests_for, const char* how,
               f64 LayerEffect::*loss) {
    const std::span<const std::vector<Tensor>> samples(options_.samples);
    const ResumedRuns runs(graph_of(std::move(base)), samples.first(samples_),
                           {options_.threads, options_.monitor, options_.device});
    if (runs.samples() < samples_) {
      samples_ = runs.samples();
      result_.samples = static_cast<s64>(samples_);
      name_trials();
    }
    count(1);
    if (truth_.empty()) {
      truth_ = runs.outputs();
    } else {
      truth_.resize(samples_);
      result_.int8 = recalled("int8", [&] { return loss_of(runs.outputs()); });
    }
    for (size_t u = static_cast<size_t>(options_.part); u < units_.size();
         u += static_cast<size_t>(options_.parts)) {
      result_.layers[u].*loss = recalled(trial_name(how, u), [&] {
        const ResumedRuns::Rest rest = runs.rest_of(graph_of(requests_for(units_[u])));
        count(units_[u].share);
        return loss_of(runs.run(rest, samples_));
      });
    }
  }

  std::string trial_name(const char* how, size_t unit) const {
    // Names may be shortened: the number tells them apart.
    std::string name = fmt::format("{} {}", how, unit);
    for (const std::string& layer : result_.layers[unit].layers) name += " " + quote_name(layer);
    return name;
  }

  void count(f64 share) {
    result_.passes +=
        share * static_cast<f64>(samples_) / static_cast<f64>(options_.samples.size());
  }

  void measure_times() {
    const auto engine = [&](std::vector<LayerRequest> requests) {
      return Inside::engine(std::make_shared<const Model>(
          quantize_layers(model_, plan_, std::move(requests), nullptr, options_.monitor)));
    };
    const LayerTimes real =
        times_of(engine(alone(model_, units_, nullptr)), options_, result_.fp32_us);
    const LayerTimes codes = times_of(engine({}), options_, result_.int8_us);
    for (size_t u = 0; u < units_.size(); ++u) {
      result_.layers[u].saved_us =
          real.of(*model_.graph, units_[u]) - codes.of(*model_.graph, units_[u]);
    }
  }

  const SensitivityOptions& options_;
  PrecisionPlan plan_;
  FloatModel model_;
  std::vector<SensitiveUnit> units_;
  size_t samples_ = 0;
  std::string fingerprint_;
  SampleOutputs truth_;
  s64 done_ = 0, total_ = 0;
  Sensitivity result_;
};

}  // namespace

Sensitivity sensitivity(const SourceModel& source, const SensitivityOptions& options) {
  return without_bad_alloc([&] { return Trials(source, options).run(); });
}

std::string to_json(const Sensitivity& sensitivity) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (const LayerEffect& effect : sensitivity.layers) {
    layers.push_back({{"layers", effect.layers},
                      {"op", effect.op},
                      {"tensor", effect.tensor},
                      {"precision", to_string(effect.precision)},
                      {"macs", effect.macs},
                      {"alone", effect.alone},
                      {"without", effect.without},
                      {"saved_us", effect.saved_us}});
  }
  return nlohmann::ordered_json{{"samples", sensitivity.samples}, {"passes", sensitivity.passes},
                                {"int8", sensitivity.int8},       {"fp32_us", sensitivity.fp32_us},
                                {"int8_us", sensitivity.int8_us}, {"layers", std::move(layers)}}
      .dump();
}

}  // namespace octet
