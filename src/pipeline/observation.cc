// SPDX-License-Identifier: Apache-2.0
#include "octet/observation.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/archive.h"
#include "core/check.h"
#include "core/memory.h"
#include "data/input_watch_parts.h"
#include "data/sample_feed.h"
#include "octet/provenance.h"
#include "pipeline/bodies.h"
#include "pipeline/choose_ranges.h"
#include "pipeline/equalization.h"
#include "pipeline/seen_samples.h"
#include "pipeline/source_inside.h"

namespace octet {
namespace {

constexpr std::array<char, 8> kObservationMagic = {'O', 'C', 'T', 'E', 'T', 'O', 'B', '1'};

// Models whose observations may be added: they observe the same values, computed in the same way.
ContentDigest key_of(const FloatModel& model, const CalibrationOptions& options) {
  ContentHash hash;
  const auto add = [&](const std::string& text) {
    hash.add(static_cast<s64>(text.size()));
    hash.add(std::as_bytes(std::span(text)));
  };
  add(model.hash);
  for (const FloatModel* part : with_bodies(model)) {
    for (const ValueId id : values_to_observe(*part->graph)) {
      add(part->place + part->graph->value(id).name);
      add(to_string(part->graph->value(id).type));
    }
  }
  for (const PassTrace& pass : model.passes) {
    add(pass.pass);
    hash.add(pass.rewrites);
  }
  hash.add(options.equalize ? 1 : 0);
  return hash.digest();
}

bool fit(const TensorObservation& a, const TensorObservation& b) {
  return a.power.fits(b.power) && (a.channels.channels() == 0 || b.channels.channels() == 0 ||
                                   a.channels.channels() == b.channels.channels());
}

bool fit(const std::vector<TensorObservation>& a, const std::vector<TensorObservation>& b) {
  return std::ranges::equal(
      a, b, [](const TensorObservation& x, const TensorObservation& y) { return fit(x, y); });
}

bool is_sound(const TensorObservation& seen) {
  return seen.histogram.is_sound() && seen.power.is_sound() && seen.channels.is_sound();
}

void merge(std::vector<TensorObservation>& into, const std::vector<TensorObservation>& other) {
  for (size_t i = 0; i < into.size(); ++i) into[i].merge(other[i]);
}

}  // namespace

struct Observation::Impl {
  ContentDigest key;
  u64 inputs = 0;
  std::optional<SeenSamples> seen;  // nothing: of no model

  std::vector<std::byte> to_bytes() {
    ArchiveWriter writer;
    auto magic = kObservationMagic;
    std::string version(octet_version());
    u64 any = seen ? 1 : 0;
    writer(magic, version, key, inputs, any);
    if (seen) {
      std::vector<std::byte> watch = InputWatchParts::to_bytes(seen->watch);
      writer(seen->values, seen->bodies, seen->samples, seen->data_hash, seen->statistics, watch);
    }
    std::vector<std::byte> bytes = writer.take();
    const ContentDigest digest = digest_of(bytes);
    const auto sum = std::as_bytes(std::span(&digest, 1));
    bytes.insert(bytes.end(), sum.begin(), sum.end());
    return bytes;
  }

  void read(std::span<const std::byte> bytes) {
    ContentDigest digest;
    if (bytes.size() < sizeof(digest)) refuse("they end too early");
    const auto content = bytes.first(bytes.size() - sizeof(digest));
    std::memcpy(&digest, bytes.data() + content.size(), sizeof(digest));
    ArchiveReader reader(content);
    auto magic = kObservationMagic;
    std::string version;
    u64 any = 0;
    reader(magic);
    if (magic != kObservationMagic) refuse("they do not begin as one");
    reader(version);
    if (version != octet_version())
      refuse(fmt::format("they are of Octet {}, and this is {}", version, octet_version()));
    if (digest_of(content) != digest) refuse("their hash does not fit: they are damaged");
    reader(key, inputs, any);
    if (any == 1) read_seen(reader);
    if (any > 1 || !reader.at_end()) refuse("they are damaged");
  }

  void read_seen(ArchiveReader& reader) {
    constexpr u64 kMostInputs = 1 << 16;
    if (inputs > kMostInputs) refuse("they are damaged");
    const std::vector<TensorInfo> unnamed(inputs);
    SeenSamples& of = seen.emplace(unnamed);
    std::vector<std::byte> watch;
    reader(of.values, of.bodies, of.samples, of.data_hash, of.statistics, watch);
    InputWatchParts::read(of.watch, watch);
    bool sound = of.samples >= 0 && std::ranges::all_of(of.values, octet::is_sound);
    for (const auto& body : of.bodies) sound = sound && std::ranges::all_of(body, octet::is_sound);
    if (!sound) refuse("they are damaged");
  }

  [[noreturn]] static void refuse(const std::string& why) {
    fail(Error::Code::invalid_argument, "these bytes are no observation that can be read: {}", why);
  }

  void merge(const Impl& other) {
    if (!other.seen) return;
    if (!seen) {
      key = other.key;
      inputs = other.inputs;
      seen.emplace(std::vector<TensorInfo>(inputs));
      seen->values.resize(other.seen->values.size());
      for (const auto& body : other.seen->bodies) seen->bodies.emplace_back(body.size());
    }
    check_same(other);
    octet::merge(seen->values, other.seen->values);
    for (size_t b = 0; b < seen->bodies.size(); ++b)
      octet::merge(seen->bodies[b], other.seen->bodies[b]);
    seen->samples += other.seen->samples;
    seen->data_hash += other.seen->data_hash;
    seen->statistics.merge(other.seen->statistics);
    InputWatchParts::merge(seen->watch, other.seen->watch);
  }

  void check_same(const Impl& other) const {
    const bool same = key == other.key && inputs == other.inputs &&
                      fit(seen->values, other.seen->values) &&
                      std::ranges::equal(seen->bodies, other.seen->bodies,
                                         [](const auto& a, const auto& b) { return fit(a, b); });
    if (same) return;
    fail(Error::Code::invalid_argument,
         "these observations cannot be added: they are of different models, or of one that was "
         "read with different options");
  }
};

Observation::Observation() : impl_(std::make_unique<Impl>()) {}
Observation::~Observation() = default;
Observation::Observation(Observation&&) noexcept = default;
Observation& Observation::operator=(Observation&&) noexcept = default;

void Observation::merge(const Observation& other) {
  without_bad_alloc([&] { impl_->merge(*other.impl_); });
}

int64_t Observation::samples() const { return impl_->seen ? impl_->seen->samples : 0; }

std::vector<std::byte> Observation::to_bytes() const {
  return without_bad_alloc([&] { return impl_->to_bytes(); });
}

Observation Observation::from_bytes(std::span<const std::byte> bytes) {
  return without_bad_alloc([&] {
    Observation observation;
    observation.impl_->read(bytes);
    return observation;
  });
}

struct ObservationInside {
  static Observation::Impl& impl(Observation& observation) { return *observation.impl_; }
  static const Observation::Impl& impl(const Observation& observation) {
    return *observation.impl_;
  }
};

std::vector<BodyValues> body_values(const FloatModel& model) {
  std::vector<BodyValues> values;
  for (const FloatModel* body : with_bodies(model)) {
    if (body != &model) values.push_back({body->graph.get(), values_to_observe(*body->graph)});
  }
  return values;
}

const SeenSamples& seen_for(const Observation& observation, const FloatModel& model,
                            const CalibrationOptions& options) {
  const Observation::Impl& impl = ObservationInside::impl(observation);
  if (!impl.seen)
    fail(Error::Code::invalid_argument, "the observation is of no samples: merge some into it");
  const std::vector<BodyValues> bodies = body_values(model);
  bool same = impl.key == key_of(model, options) && impl.inputs == model.graph->inputs.size() &&
              impl.seen->values.size() == values_to_observe(*model.graph).size() &&
              impl.seen->bodies.size() == bodies.size();
  for (size_t b = 0; same && b < bodies.size(); ++b)
    same = impl.seen->bodies[b].size() == bodies[b].values.size();
  if (!same) {
    fail(Error::Code::invalid_argument,
         "the observation is of another model, or of this one read with other options");
  }
  return *impl.seen;
}

SampleObserver::SampleObserver(const SourceModel& model, int threads)
    : model_(model), threads_(threads) {
  const FloatModel& read = SourceInside::imported(model);
  const CompileOptions& options = SourceInside::options(model);
  if (read.carries_qdq) {
    fail(Error::Code::unsupported,
         "the model carries Q/DQ nodes or integer operators: its own scales are used, and no "
         "samples are to be observed");
  }
  if (!options.calibration) return;
  if (!options.calibration->states.empty())
    fail(Error::Code::unsupported, "states of sequences cannot be observed in parts");
  if (options.calibration->device != "cpu") {
    fail(Error::Code::unsupported, "samples are observed in parts on the CPU, not on '{}'",
         options.calibration->device);
  }
  if (tries_samples(*options.calibration)) {
    fail(Error::Code::unsupported,
         "the method 'auto' tries samples, and an observation keeps none; give another method");
  }
}

Observation SampleObserver::observe(const SampleSource& samples) const {
  return without_bad_alloc([&] {
    const FloatModel& model = SourceInside::imported(model_);
    const auto& given = SourceInside::options(model_).calibration;
    const CalibrationOptions options = given ? *given : CalibrationOptions();
    const std::vector<TensorInfo> inputs = input_infos(*model.graph);
    Observation observation;
    Observation::Impl& impl = ObservationInside::impl(observation);
    impl.key = key_of(model, options);
    impl.inputs = inputs.size();
    SeenSamples& seen = impl.seen.emplace(inputs);
    const std::vector<ValueId> values = values_to_observe(*model.graph);
    const std::vector<BodyValues> bodies = body_values(model);
    const std::vector<ValueId> channels =
        options.equalize ? values_to_equalize(*model.graph, values) : std::vector<ValueId>();
    const auto feed = feed_of(samples, inputs, &seen.statistics, &seen.watch);
    Observations all = octet::observe({*model.graph, values, bodies, {}, channels}, *feed,
                                      {threads_, SourceInside::options(model_).monitor});
    seen.values = std::move(all.values);
    seen.bodies = std::move(all.bodies);
    seen.samples = all.samples;
    seen.data_hash = all.data_hash;
    return observation;
  });
}

}  // namespace octet
