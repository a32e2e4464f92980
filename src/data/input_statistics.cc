// SPDX-License-Identifier: Apache-2.0
#include "data/input_statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/visit.h"
#include "data/preprocess.h"

namespace octet {
namespace {

// Ranges of so few samples are chance; a hundred and more are usual.
constexpr s64 kFewSamples = 32;
// Images that were scaled for a network lie within this, whatever mean and deviation it wants; stored ones reach 255.
constexpr f64 kScaled = 30;
constexpr f64 kStored = 255;
// Less than two of the 256 steps of a pixel: scaled twice.
constexpr f64 kFlat = 2.0 / 255;

bool is_real_input(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f64 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}

bool is_number(Dtype dtype) {
  return is_real_input(dtype) || dtype == Dtype::u8 || dtype == Dtype::s8 || dtype == Dtype::u16 ||
         dtype == Dtype::s16 || dtype == Dtype::s32 || dtype == Dtype::s64;
}

// Samples of one input have one rank.
void widen(const Shape& shape, Shape& smallest, Shape& largest) {
  for (int d = 0; d < std::min(shape.rank(), largest.rank()); ++d) {
    smallest[d] = std::min(smallest[d], shape[d]);
    largest[d] = std::max(largest[d], shape[d]);
  }
}

template <class T>
f64 real_of(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) return static_cast<f64>(value);
  return static_cast<f64>(static_cast<f32>(value));
}

}  // namespace

InputStatistics::InputStatistics(std::span<const TensorInfo> inputs) {
  for (const TensorInfo& info : inputs) {
    Input& input = inputs_.emplace_back();
    input.info = info;
    input.channel_axis = image_channel_axis(info.type.shape);
  }
}

void InputStatistics::add(std::span<const Tensor> sample) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    Input& input = inputs_[i];
    const Shape& shape = sample[i].shape();
    if (samples_ == 0) input.smallest = input.largest = shape;
    widen(shape, input.smallest, input.largest);
    add(input, sample[i]);
  }
  ++samples_;
}

void InputStatistics::add(Input& input, const Tensor& tensor) {
  if (!is_number(tensor.dtype()) || tensor.elements() == 0) return;
  const Shape& shape = tensor.shape();
  const int axis = input.channel_axis < shape.rank() ? input.channel_axis : -1;
  const size_t channels = axis < 0 ? 1 : static_cast<size_t>(shape[axis]);
  size_t inner = axis < 0 ? static_cast<size_t>(tensor.elements()) : 1;
  for (int i = axis + 1; axis >= 0 && i < shape.rank(); ++i) inner *= static_cast<size_t>(shape[i]);
  input.channels.resize(std::max(channels, input.channels.size()));
  visit_dtype(tensor.dtype(), [&]<class T>() {
    const std::span<const T> values = tensor.as<T>();
    f64 min = real_of(values[0]), max = min;
    for (size_t from = 0; from < values.size(); from += inner) {
      Sums& sums = input.channels[from / inner % channels];
      for (const T& element : values.subspan(from, inner)) {
        const f64 value = real_of(element);
        min = std::min(min, value);
        max = std::max(max, value);
        sums.sum += value;
        sums.squares += value * value;
      }
    }
    input.constant += values.size() > 1 && min == max ? 1 : 0;
    input.min = input.elements == 0 ? min : std::min(input.min, min);
    input.max = input.elements == 0 ? max : std::max(input.max, max);
  });
  input.elements += tensor.elements();
}

void InputStatistics::merge(const InputStatistics& other) {
  for (size_t i = 0; i < std::min(inputs_.size(), other.inputs_.size()); ++i) {
    Input& input = inputs_[i];
    const Input& more = other.inputs_[i];
    if (samples_ == 0) {
      input.smallest = more.smallest;
      input.largest = more.largest;
    }
    if (other.samples_ > 0) {
      widen(more.smallest, input.smallest, input.largest);
      widen(more.largest, input.smallest, input.largest);
    }
    if (more.elements > 0) {
      input.min = input.elements == 0 ? more.min : std::min(input.min, more.min);
      input.max = input.elements == 0 ? more.max : std::max(input.max, more.max);
    }
    input.elements += more.elements;
    input.constant += more.constant;
    input.channels.resize(std::max(input.channels.size(), more.channels.size()));
    for (size_t c = 0; c < more.channels.size(); ++c) {
      input.channels[c].sum += more.channels[c].sum;
      input.channels[c].squares += more.channels[c].squares;
    }
  }
  samples_ += other.samples_;
}

std::vector<InputSummary> InputStatistics::summaries() const {
  std::vector<InputSummary> summaries;
  for (const Input& input : inputs_) {
    InputSummary& summary = summaries.emplace_back();
    summary.input = input.info.name;
    summary.samples = samples_;
    summary.smallest = input.smallest;
    summary.largest = input.largest;
    summary.min = input.min;
    summary.max = input.max;
    summary.constant = input.constant;
    const f64 count = static_cast<f64>(input.elements) / static_cast<f64>(input.channels.size());
    for (const Sums& sums : input.channels) {
      const f64 mean = sums.sum / count;
      summary.mean.push_back(mean);
      summary.deviation.push_back(std::sqrt(std::max(0.0, sums.squares / count - mean * mean)));
    }
  }
  return summaries;
}

std::vector<std::string> InputStatistics::doubts(bool raw_pixels) const {
  std::vector<std::string> doubts;
  for (const Input& input : inputs_) {
    const std::string name = fmt::format("input '{}'", input.info.name);
    const bool image = input.channel_axis >= 0 && is_real_input(input.info.type.dtype);
    if (input.elements <= samples_) continue;  // one number a sample is no signal
    if (input.min == 0 && input.max == 0) {
      doubts.push_back(name + " is 0 in every sample: no range can be found in such data");
    } else if (input.min == input.max) {
      doubts.push_back(fmt::format("{} is {:.6g} everywhere, in every sample", name, input.min));
    } else if (input.constant > 0) {
      doubts.push_back(fmt::format("{} holds one value throughout in {} of {} samples", name,
                                   input.constant, samples_));
    } else if (image && !raw_pixels && input.min >= 0 && input.max > kScaled &&
               input.max <= kStored) {
      doubts.push_back(fmt::format(
          "{} runs from {:.6g} to {:.6g}, as pixels are stored; most networks want them scaled "
          "(scale 255, then mean and std); a scale of 1 says that this is meant",
          name, input.min, input.max));
    } else if (image && input.max - input.min < kFlat) {
      doubts.push_back(fmt::format("{} spans {:.3g} to {:.3g} only; is it scaled twice?", name,
                                   input.min, input.max));
    }
  }
  if (samples_ > 0 && samples_ < kFewSamples) {
    doubts.push_back(
        fmt::format("{} sample{} only; what so few say is chance, 100 or more are usual", samples_,
                    samples_ == 1 ? "" : "s"));
  }
  return doubts;
}

}  // namespace octet
