// SPDX-License-Identifier: Apache-2.0
#include "pipeline/provenance.h"

#include <algorithm>
#include <bit>

#include "core/check.h"
#include "core/content_hash.h"
#include "core/memory.h"
#include "octet/provenance.h"
#include "pipeline/bodies.h"
#include "runtime/equalized.h"
#include "runtime/inside.h"

namespace octet {
namespace {

void add_text(ContentHash& hash, std::string_view text) {
  hash.add(static_cast<s64>(text.size()));
  hash.add(std::as_bytes(std::span(text)));
}

// Hashes ranges in the order of the graph, and keeps those by hand.
class RangeSummary {
 public:
  void add(const FloatModel& model) {
    if (model.ranges == nullptr) return;
    for (const ValueId id : values_to_observe(*model.graph)) {
      const auto range = model.ranges->find(id);
      if (range != model.ranges->end()) add(range->second);
      if (model.calibration != nullptr) add_exponents(*model.calibration, id);
    }
  }

  void add(const std::vector<LayerLoss>& losses) {
    for (const LayerLoss& loss : losses) {
      add_text(hash_, loss.layer);
      for (const f64 number : {loss.lost, loss.slower, loss.macs})
        hash_.add(std::bit_cast<s64>(number));
    }
  }

  void finish(const FloatModel& model, Provenance& into) && {
    into.data_hash = model.calibration->data_hash;
    into.device = model.calibration->device;
    into.equalize = model.calibration->equalize;
    if (scaled_by_cache_) into.cache_hash = model.calibration->cache_hash;
    into.ranges_hash = hash_.digest().hex();
    into.given = std::move(given_);
  }

 private:
  void add_exponents(const Calibration& calibration, ValueId id) {
    const auto own = calibration.exponents.find(id);
    if (own != calibration.exponents.end()) add_text(hash_, exponents_text(own->second));
  }

  void add(const Range& range) {
    const RangeMethod method = range.method.value_or(RangeMethod());
    add_text(hash_, range.tensor);
    add_text(hash_, to_string(method));
    for (const f64 number : {f64{range.min}, f64{range.max}, range.threshold})
      hash_.add(std::bit_cast<s64>(number));
    scaled_by_cache_ = scaled_by_cache_ || method.rule == RangeRule::cache;
    if (method.rule == RangeRule::given) given_.push_back({range.tensor, range.min, range.max});
  }

  ContentHash hash_;
  std::vector<GivenRange> given_;
  bool scaled_by_cache_ = false;
};

Provenance read_provenance(const Model& model) {
  Provenance read = provenance_from_json(model.provenance, "the engine's provenance");
  read.model = model.source;
  read.producer = model.producer;
  read.preprocess = model.preprocess;
  read.methods = model.range_method;
  read.samples = model.calibration_samples;
  return read;
}

}  // namespace

std::string provenance_of(const FloatModel& model, const PrecisionPlan& plan, bool calibrated) {
  Provenance made;
  made.version = octet_version();
  made.compiler = octet_compiler();
  made.model_hash = model.hash;
  made.plan = plan;
  made.input_shapes = model.input_shapes;
  if (calibrated && model.calibration != nullptr) {
    RangeSummary ranges;
    for (const FloatModel* part : with_bodies(model)) ranges.add(*part);
    // An engine whose layers were estimated is the same without them.
    if (plan.accuracy_time) ranges.add(model.calibration->losses);
    std::move(ranges).finish(model, made);
  }
  return to_json(made);
}

std::optional<Provenance> provenance(const Engine& engine) {
  return without_bad_alloc([&]() -> std::optional<Provenance> {
    const Model& model = Inside::model(engine);
    if (model.provenance.empty()) return std::nullopt;
    try {
      return read_provenance(model);
    } catch (const Error& error) {
      if (error.code() != Error::Code::invalid_argument) throw;
      fail(Error::Code::invalid_model, "{}", error.message());
    }
  });
}

std::optional<RangeMethod> range_method(const Provenance& provenance) {
  constexpr std::string_view kBetween = ", ";
  std::optional<RangeMethod> found;
  std::string_view rest = provenance.methods;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find(kBetween));
    rest.remove_prefix(std::min(rest.size(), name.size() + kBetween.size()));
    if (name == to_string(RangeMethod(RangeRule::given))) continue;
    if (found || name == to_string(RangeMethod(RangeRule::cache))) return std::nullopt;
    found = parse_range_method(name);
  }
  return found;
}

std::string engine_hash(const Engine& engine) { return digest_of(engine.to_bytes()).hex(); }

}  // namespace octet
