// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sample_run.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/check.h"
#include "core/memory.h"
#include "octet/limits.h"
#include "runtime/context.h"
#include "runtime/inside.h"

namespace octet {
namespace {

// A plan's copy of a node with its values, and its steps.
constexpr s64 kBytesOfNode = s64{8} << 10;
constexpr s64 kBytesOfObservation = Histogram::kBins * sizeof(u64);

// What a value holds of the samples themselves, not of their repetition at the end of a run.
Tensor of_samples(const Tensor& tensor, const FedSample& sample) {
  Shape shape = tensor.shape();
  if (sample.samples == sample.rows || shape.rank() == 0 || shape[0] % sample.rows != 0)
    return tensor;
  shape[0] = shape[0] / sample.rows * sample.samples;
  const auto owner = std::make_shared<const Tensor>(tensor);
  return {{tensor.dtype(), shape}, std::shared_ptr<const std::byte>(owner, owner->data())};
}

void observe(TensorObservation& into, const Tensor& value) {
  into.histogram.observe(value.as<f32>());
  into.power.observe(value);
}

void clear(std::vector<TensorObservation>& observations) {
  for (TensorObservation& observation : observations) {
    observation.histogram.clear();
    observation.power.clear();
    observation.channels.clear();
  }
}

std::vector<bool> with_channels(const Observed& observed) {
  const std::unordered_set<ValueId> counted(observed.channels.begin(), observed.channels.end());
  std::vector<bool> by_channels;
  for (ValueId id : observed.values) by_channels.push_back(counted.contains(id));
  return by_channels;
}

s64 bytes_of_channels(const Observed& observed) {
  s64 channels = 0;
  for (ValueId id : observed.channels) {
    const Shape& shape = observed.graph.value(id).type.shape;
    if (shape.rank() == 4) channels += std::max<s64>(0, shape[1]);
  }
  return channels * ChannelHistograms::kBytesOfChannel;
}

s64 bytes_of(std::span<const Tensor> tensors) {
  s64 bytes = 0;
  for (const Tensor& tensor : tensors) bytes += static_cast<s64>(tensor.bytes());
  return bytes;
}

}  // namespace

void TensorObservation::merge(const TensorObservation& other) {
  histogram.merge(other.histogram);
  power.merge(other.power);
  channels.merge(other.channels);
}

Seen::Seen(const Observed& observed) : values(observed.values.size()) {
  for (const BodyValues& body : observed.bodies) bodies.emplace_back(body.values.size());
}

void Seen::clear() {
  octet::clear(values);
  for (std::vector<TensorObservation>& body : bodies) octet::clear(body);
}

SampleModel::SampleModel(const Observed& observed, std::string on)
    : store(std::make_shared<PreparedStore>()), device(std::move(on)) {
  auto watched = std::make_shared<Model>();
  watched->graph = observed.graph;
  // Without a reader the nodes whose bodies are observed would not run, and the next step of a sequence reads states.
  if (observed.bodies.empty() && observed.states.empty()) watched->graph.outputs.clear();
  outputs = watched->graph.outputs.size();
  add_watches(watched->graph, observed.values);
  model = std::move(watched);
}

s64 more_that_fit(s64 bytes) {
  const s64 room = std::max<s64>(0, limits().memory - counted_bytes()) / 4 * 3;
  return room / std::max<s64>(bytes, 1);
}

SampleRun::SampleRun(const Observed& observed, const SampleModel& shared)
    : observed_(observed),
      shared_(shared),
      counted_(observed),
      bodies_(watch_of_bodies()),
      context_(Inside::context(shared.model, {.device = shared.device}, shared.store)),
      by_channels_(with_channels(observed)) {
  Inside::impl(context_).bodies.watch(&bodies_);
}

void SampleRun::seen(size_t index, const Tensor& value) {
  looked_ = true;
  const Tensor own = of_samples(value, *sample_);
  observe(counted_.values[index], own);
  if (by_channels_[index]) counted_.values[index].channels.observe(own);
}

// Puts what bodies hold in every round where it belongs.
BodyWatch SampleRun::watch_of_bodies() {
  BodyWatch watch;
  std::unordered_map<const Graph*, size_t> places;
  for (size_t b = 0; b < observed_.bodies.size(); ++b) {
    watch.values[observed_.bodies[b].body] = observed_.bodies[b].values;
    places[observed_.bodies[b].body] = b;
  }
  watch.seen = [this, places](const Graph& body, size_t index, const Tensor& value) {
    if (value.dtype() == Dtype::f32) observe(counted_.bodies[places.at(&body)][index], value);
  };
  return watch;
}

std::optional<s64> SampleRun::bytes_of_another(std::span<const Tensor> inputs) {
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  context_.prepare(shapes);
  const Context::Impl& context = Inside::impl(context_);
  if (context.last_was_staged) return std::nullopt;
  s64 observations = static_cast<s64>(counted_.values.size());
  for (const auto& body : counted_.bodies) observations += static_cast<s64>(body.size());
  // The sample, and the one that is being read.
  return context.plans.front().plan().arena_bytes() + 2 * bytes_of(inputs) +
         static_cast<s64>(shared_.model->graph.nodes.size()) * kBytesOfNode +
         observations * kBytesOfObservation + bytes_of_channels(observed_);
}

std::span<const Tensor> SampleRun::run(const FedSample& sample, std::span<const Tensor> inputs) {
  sample_ = &sample;
  looked_ = false;
  const Scope watching(*this);
  std::vector<Shape> shapes;
  for (const Tensor& input : inputs) shapes.push_back(input.shape());
  if (planned_ && shapes == shapes_) {
    context_.run_into(inputs, outputs_);
  } else {
    outputs_ = context_.run(inputs);
    planned_ = !Inside::impl(context_).last_was_staged;
    shapes_ = std::move(shapes);
  }
  // A device that has the readers too runs them where nobody looks, and ranges would be missing without a word.
  if (!looked_ && !observed_.values.empty() && shared_.device != "cpu") {
    fail_about("CalibrationOptions.device", Error::Code::unsupported,
               "nothing that '{}' computes can be looked at: it leaves no step to the host",
               shared_.device);
  }
  return std::span(outputs_).first(shared_.outputs);
}

}  // namespace octet
