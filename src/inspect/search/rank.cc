// SPDX-License-Identifier: Apache-2.0
#include "inspect/search/rank.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>
#include <utility>

#include "core/check.h"
#include "inspect/search/sensitivity_units.h"
#include "inspect/search/trials.h"
#include "onnx/text.h"

namespace octet {
namespace {

constexpr size_t kMostSamples = 32;

// Passes over all samples that the rank may take.
f64 rank_passes(int effort) { return effort == 1 ? 1 : effort == 2 ? 4 : 16; }

// A rank of more effort is another, and so are its times.
std::string rank_name(const SearchOptions& options, const char* what) {
  return fmt::format("rank {} {}", options.effort, what);
}

std::string layer_names(const LayerEffect& layer) {
  std::string key;
  for (const std::string& name : layer.layers) key += " " + quote_name(name);
  return key;
}

// What the journal has of an earlier rank, if it has all: of this machine or of another.
class KnownRank {
 public:
  KnownRank(const SearchOptions& options, TrialRuns& runs) : options_(options), runs_(runs) {
    PrecisionPlan plan = options.plan;
    plan.int8 = true;
    const FloatModel& model = runs.model();
    if (model.carries_qdq || model.ranges == nullptr) return;
    for (const SensitiveUnit& unit : sensitive_units(model, plan)) {
      LayerEffect layer;
      layer.op = model.graph->nodes[unit.nodes[0]].op->name;
      layer.tensor = unit.tensor;
      layer.precision = unit.precision;
      for (size_t n : unit.nodes) layer.layers.push_back(model.graph->nodes[n].name);
      layers_.push_back(std::move(layer));
    }
  }

  bool recall(Rank& rank) {
    const auto fp32 = runs_.known(rank_name(options_, "fp32_us")),
               int8 = runs_.known(rank_name(options_, "int8_us"));
    if (!fp32 || !int8 || layers_.empty()) return false;
    for (LayerEffect& layer : layers_) {
      const auto alone = runs_.known(rank_name(options_, "alone") + layer_names(layer));
      const auto saved = runs_.known(rank_name(options_, "saved_us") + layer_names(layer));
      if (!alone || !saved) return false;
      layer.alone = *alone;
      layer.saved_us = *saved;
    }
    std::ranges::stable_sort(layers_, std::greater(), &LayerEffect::alone);
    rank.layers = std::move(layers_);
    rank.fp32_us = *fp32;
    rank.int8_us = *int8;
    return true;
  }

 private:
  const SearchOptions& options_;
  TrialRuns& runs_;
  std::vector<LayerEffect> layers_;
};

void keep_rank(const SearchOptions& options, const Rank& rank, TrialRuns& runs) {
  for (const LayerEffect& layer : rank.layers) {
    runs.keep(rank_name(options, "alone") + layer_names(layer), layer.alone);
    runs.keep(rank_name(options, "saved_us") + layer_names(layer), layer.saved_us);
  }
  runs.keep(rank_name(options, "fp32_us"), rank.fp32_us);
  runs.keep(rank_name(options, "int8_us"), rank.int8_us);
}

SensitivityOptions how_to_rank(const SearchOptions& options, const TrialRuns& runs) {
  SensitivityOptions how;
  how.plan = options.plan;
  const std::vector<size_t>& which = runs.searched().which;
  const size_t count = std::min(which.size(), kMostSamples);
  for (size_t i = 0; i < count; ++i)
    how.samples.push_back(options.samples[which[i * which.size() / count]]);
  how.max_passes = rank_passes(options.effort) * static_cast<f64>(options.samples.size()) /
                   static_cast<f64>(count);
  how.threads = options.threads;
  how.monitor = options.monitor;
  how.recall = options.recall;
  how.record = options.record;
  return how;
}

void measure_rank(const SourceModel& source, const SearchOptions& options, TrialRuns& runs,
                  Rank& rank) {
  Sensitivity found = sensitivity(source, how_to_rank(options, runs));
  rank.layers = std::move(found.layers);
  rank.fp32_us = found.fp32_us;
  rank.int8_us = found.int8_us;
  keep_rank(options, rank, runs);
}

std::string part_name(const SearchOptions& options, int part) {
  return rank_name(options, "part") + fmt::format(" {} of {}", part, SearchSteps::kRankParts);
}

// Its parts, where several may be done at once, and then the whole, which takes the times and what the parts found.
void tell_rank(const SearchOptions& options, const TrialRuns& runs) {
  bool all = true;
  for (int part = 0; runs.told_at_most() > 1 && part < SearchSteps::kRankParts; ++part) {
    if (runs.known(part_name(options, part))) continue;
    runs.only_tells({.kind = SearchStep::Kind::rank_part, .trial = {}, .part = part});
    all = false;
  }
  if (all) runs.only_tells({.kind = SearchStep::Kind::rank});
}

// Error for time. A small part of a run counts as time even where none is saved, and what differs less than a factor of two is ordered by the
// error: times never measure the same twice.
int urgency(const LayerEffect& layer, f64 int8_us) {
  constexpr f64 kLeast = 0.02;
  const f64 share = int8_us > 0 ? std::max(0.0, layer.saved_us) / int8_us : 0;
  return layer.alone > 0 ? std::ilogb(layer.alone / (share + kLeast)) : -4000;
}

}  // namespace

std::vector<const LayerEffect*> Rank::by_time() const {
  std::vector<const LayerEffect*> single;
  for (const LayerEffect& layer : layers) {
    if (layer.layers.size() == 1) single.push_back(&layer);
  }
  std::ranges::stable_sort(
      single, [](const LayerEffect* a, const LayerEffect* b) { return a->saved_us > b->saved_us; });
  return single;
}

f64 Rank::time_of(const SearchTrial& trial) const {
  if (!trial.int8) return fp32_us;
  std::unordered_map<std::string_view, f64> saved;
  for (const LayerEffect& layer : layers) {
    if (layer.layers.size() == 1) saved[layer.layers[0]] = layer.saved_us;
  }
  f64 us = int8_us;
  for (const std::string& name : trial.real) us += saved[name];
  for (const std::string& name : trial.codes) us -= saved[name];
  return us;
}

void try_part(const SourceModel& source, const SearchOptions& options, TrialRuns& runs, int part) {
  if (runs.known(part_name(options, part))) return;
  SensitivityOptions how = how_to_rank(options, runs);
  how.part = part;
  how.parts = SearchSteps::kRankParts;
  how.times = false;
  sensitivity(source, how);
  runs.keep(part_name(options, part), 1);
}

std::optional<Rank> rank_layers(const SourceModel& source, const SearchOptions& options,
                                TrialRuns& runs) {
  Rank rank;
  runs.add_passes(rank_passes(options.effort));
  if (!KnownRank(options, runs).recall(rank)) {
    if (runs.only_tells()) {
      tell_rank(options, runs);
      return std::nullopt;
    }
    measure_rank(source, options, runs, rank);
  }
  for (const LayerEffect& layer : rank.layers) {
    if (layer.precision == Precision::int8) rank.order.push_back(layer);
  }
  std::ranges::stable_sort(rank.order, [&](const LayerEffect& a, const LayerEffect& b) {
    return urgency(a, rank.int8_us) > urgency(b, rank.int8_us);
  });
  return rank;
}

}  // namespace octet
