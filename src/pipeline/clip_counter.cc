// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "core/memory.h"
#include "octet/clipping.h"
#include "pipeline/clipped_share.h"
#include "pipeline/kept.h"
#include "runtime/inside.h"
#include "runtime/value_watch.h"

namespace octet {
// The class that is declared in the header has some of these.
namespace clip_counter {

struct Beyond {
  s64 values = 0, below = 0, above = 0;

  void add(const Beyond& other) {
    values += other.values;
    below += other.below;
    above += other.above;
  }
};

}  // namespace clip_counter

namespace {

using clip_counter::Beyond;

// NaN lies on neither side.
Beyond count_beyond(std::span<const f32> values, const CodeSpan& ends) {
  const auto low = static_cast<f32>(ends.min), high = static_cast<f32>(ends.max);
  Beyond counts{static_cast<s64>(values.size())};
  for (const f32 value : values) {
    counts.below += value < low ? 1 : 0;
    counts.above += value > high ? 1 : 0;
  }
  return counts;
}

Beyond count_beyond(const Tensor& value, const std::vector<CodeSpan>& ends) {
  const std::span<const f32> values = value.as<f32>();
  if (ends.size() == 1) return count_beyond(values, ends[0]);
  const Shape& shape = value.shape();
  Beyond counts;
  if (shape.rank() < 2 || shape[1] != static_cast<s64>(ends.size())) return counts;
  size_t inner = 1;
  for (int d = 2; d < shape.rank(); ++d) inner *= static_cast<size_t>(shape[d]);
  for (size_t at = 0, plane = 0; at + inner <= values.size() && inner > 0; at += inner, ++plane)
    counts.add(count_beyond(values.subspan(at, inner), ends[plane % ends.size()]));
  return counts;
}

}  // namespace

double ClippedTensor::share() const {
  return values == 0 ? 0 : static_cast<double>(below + above) / static_cast<double>(values);
}

struct ClipCounter::Impl final : ValueWatch {
  explicit Impl(const Engine& engine) : context(watched(Inside::model(engine))) {}

  Context watched(const Model& made) {
    std::shared_ptr<Model> model = simulated(made);
    places = quantized_values(model->graph);
    model->graph.outputs.clear();
    std::vector<ValueId> ids;
    for (const Quantized& place : places) {
      ids.push_back(place.real);
      const std::string& name = model->graph.value(place.real).name;
      ClippedTensor tensor{network_name(made.equalized, name), place.widest()};
      const auto known = made.calibration_clipped.find(name);
      if (known != made.calibration_clipped.end()) tensor.calibrated = known->second;
      tensors.push_back(std::move(tensor));
    }
    add_watches(model->graph, ids);
    return Inside::context(std::move(model));
  }

  void seen(size_t index, const Tensor& value) override {
    if (value.dtype() == Dtype::f32) run[index].add(count_beyond(value, places[index].ends));
  }

  void add(std::span<const Tensor> inputs) {
    run.assign(places.size(), {});
    const Scope watching(*this);
    context.run(inputs);
    for (size_t i = 0; i < run.size(); ++i) {
      tensors[i].values += run[i].values;
      tensors[i].below += run[i].below;
      tensors[i].above += run[i].above;
    }
    ++runs;
  }

  std::vector<Quantized> places;
  std::vector<ClippedTensor> tensors;     // one for each
  std::vector<clip_counter::Beyond> run;  // likewise, of the run that goes on
  s64 runs = 0;
  Context context;
};

ClipCounter::ClipCounter(const Engine& engine)
    : impl_(without_bad_alloc([&] { return std::make_unique<Impl>(engine); })) {}
ClipCounter::~ClipCounter() = default;
ClipCounter::ClipCounter(ClipCounter&&) noexcept = default;
ClipCounter& ClipCounter::operator=(ClipCounter&&) noexcept = default;

void ClipCounter::prepare(std::span<const Shape> input_shapes) {
  impl_->context.prepare(input_shapes);
}

void ClipCounter::add(std::span<const Tensor> inputs) {
  without_bad_alloc([&] { impl_->add(inputs); });
}

int64_t ClipCounter::runs() const { return impl_->runs; }

std::vector<ClippedTensor> ClipCounter::tensors() const {
  return without_bad_alloc([&] { return impl_->tensors; });
}

}  // namespace octet
