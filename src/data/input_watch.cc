// SPDX-License-Identifier: Apache-2.0
// What inputs look like, sample by sample.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/archive.h"
#include "core/exact_mean.h"
#include "core/small_types.h"
#include "core/visit.h"
#include "data/input_watch_parts.h"
#include "data/preprocess.h"
#include "octet/input_profile.h"

namespace octet {
namespace {

// A dimension of that many is no channel of an image.
constexpr s64 kMostChannels = 64;

template <class T>
f64 watched_real(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) return static_cast<f64>(value);
  return static_cast<f64>(static_cast<f32>(value));
}

bool is_watched(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
    case Dtype::f64:
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::u8:
    case Dtype::s8:
    case Dtype::u16:
    case Dtype::s16:
    case Dtype::s32:
    case Dtype::s64:
      return true;
    default:
      return false;
  }
}

// Squared differences of neighbors in memory, by the place of the first modulo three: alike where rows of one channel lie there, and
// unlike where pixels do, those of gray images too. From one plane of `plane` values to the next is no step.
template <class T>
f64 interleaving_of(std::span<const T> values, size_t plane) {
  std::array<f64, 3> sums{};
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    if ((i + 1) % plane == 0) continue;
    const f64 step = watched_real(values[i + 1]) - watched_real(values[i]);
    sums[i % 3] += step * step;
  }
  const auto [least, most] = std::minmax_element(sums.begin(), sums.end());
  return *most > 0 ? (*most - *least) / (*most + *least) : 0;
}

}  // namespace

struct InputWatch::Impl {
  struct ChannelSums {
    f64 min = std::numeric_limits<f64>::infinity();
    f64 max = -std::numeric_limits<f64>::infinity();
    ExactMean mean, square;

    void merge(const ChannelSums& other) {
      min = std::min(min, other.min);
      max = std::max(max, other.max);
      mean.merge(other.mean);
      square.merge(other.square);
    }
    template <class Archive>
    void archive(Archive& archive) {
      archive(min, max, mean, square);
    }
  };
  struct Input {
    TensorInfo info;
    int channel_axis = -1;  // -1: no image
    std::optional<CodeSpan> codes;
    std::vector<ChannelSums> channels;
    ExactMean interleaving;
    s64 samples = 0, elements = 0, clipped = 0;
    size_t plane = 1;  // pixels of the image that is added

    template <class Archive>
    void archive(Archive& archive) {
      archive(channels, interleaving, samples, elements, clipped);
    }

    void add(const Tensor& tensor);
    template <class T>
    void add_values(std::span<const T> values, size_t channels_here, size_t inner);
    template <class T>
    void count_clipped(std::span<const T> values);
  };
  std::vector<Input> inputs;
};

template <class T>
void InputWatch::Impl::Input::add_values(std::span<const T> values, size_t channels_here,
                                         size_t inner) {
  std::vector<f64> sums(channels_here), squares(channels_here);
  for (size_t from = 0; from < values.size(); from += inner) {
    const size_t c = from / inner % channels_here;
    ChannelSums& channel = channels[c];
    for (const T& element : values.subspan(from, inner)) {
      const f64 value = watched_real(element);
      channel.min = std::min(channel.min, value);
      channel.max = std::max(channel.max, value);
      sums[c] += value;
      squares[c] += value * value;
    }
  }
  const f64 count = static_cast<f64>(values.size() / channels_here);
  for (size_t c = 0; c < channels_here; ++c) {
    channels[c].mean.add(sums[c] / count);
    channels[c].square.add(squares[c] / count);
  }
  if (channels_here == 3) interleaving.add(interleaving_of(values, plane));
}

template <class T>
void InputWatch::Impl::Input::count_clipped(std::span<const T> values) {
  for (const T& element : values) {
    const f64 value = watched_real(element);
    clipped += value < codes->min || value > codes->max ? 1 : 0;
  }
}

void InputWatch::Impl::Input::add(const Tensor& tensor) {
  if (!is_watched(tensor.dtype()) || tensor.elements() == 0) return;
  const Shape& shape = tensor.shape();
  int axis = channel_axis < shape.rank() ? channel_axis : -1;
  if (axis >= 0 && (shape[axis] > kMostChannels || shape[axis] < 1)) axis = -1;
  const size_t here = axis < 0 ? 1 : static_cast<size_t>(shape[axis]);
  size_t inner = axis < 0 ? static_cast<size_t>(tensor.elements()) : 1;
  for (int i = axis + 1; axis >= 0 && i < shape.rank(); ++i) inner *= static_cast<size_t>(shape[i]);
  channels.resize(std::max(here, channels.size()));
  const s64 rows = axis >= 0 && shape.rank() == 4 ? std::max<s64>(1, shape[0]) : 1;
  plane = static_cast<size_t>(std::max<s64>(1, tensor.elements() / rows)) / here;
  visit_dtype(tensor.dtype(), [&]<class T>() {
    add_values(tensor.as<T>(), here, inner);
    if (codes) count_clipped(tensor.as<T>());
  });
  samples += rows;  // a batch of images is so many
  elements += tensor.elements();
}

InputWatch::InputWatch(KnownInputs known) : impl_(std::make_unique<Impl>()) {
  for (size_t i = 0; i < known.infos.size(); ++i) {
    Impl::Input& input = impl_->inputs.emplace_back();
    input.info = std::move(known.infos[i]);
    input.channel_axis = image_channel_axis(input.info.type.shape);
    if (i < known.codes.size()) input.codes = known.codes[i];
  }
}
InputWatch::~InputWatch() = default;
InputWatch::InputWatch(InputWatch&&) noexcept = default;
InputWatch& InputWatch::operator=(InputWatch&&) noexcept = default;

void InputWatch::add(std::span<const Tensor> sample) {
  for (size_t i = 0; i < std::min(sample.size(), impl_->inputs.size()); ++i)
    impl_->inputs[i].add(sample[i]);
}

void InputWatchParts::merge(InputWatch& into, const InputWatch& other) {
  for (size_t i = 0; i < std::min(into.impl_->inputs.size(), other.impl_->inputs.size()); ++i) {
    InputWatch::Impl::Input& input = into.impl_->inputs[i];
    const InputWatch::Impl::Input& more = other.impl_->inputs[i];
    input.channels.resize(std::max(input.channels.size(), more.channels.size()));
    for (size_t c = 0; c < more.channels.size(); ++c) input.channels[c].merge(more.channels[c]);
    input.interleaving.merge(more.interleaving);
    input.samples += more.samples;
    input.elements += more.elements;
    input.clipped += more.clipped;
  }
}

std::vector<std::byte> InputWatchParts::to_bytes(const InputWatch& watch) {
  ArchiveWriter writer;
  for (InputWatch::Impl::Input& input : watch.impl_->inputs) writer(input);
  return writer.take();
}

void InputWatchParts::read(InputWatch& watch, std::span<const std::byte> bytes) {
  ArchiveReader reader(bytes);
  for (InputWatch::Impl::Input& input : watch.impl_->inputs) reader(input);
}

std::vector<InputProfile> InputWatch::profiles() const {
  std::vector<InputProfile> profiles;
  for (const Impl::Input& input : impl_->inputs) {
    InputProfile& profile = profiles.emplace_back();
    profile.input = input.info.name;
    profile.samples = input.samples;
    profile.interleaving = input.interleaving.mean();
    for (const Impl::ChannelSums& sums : input.channels) {
      const f64 mean = sums.mean.mean();
      const f64 deviation = std::sqrt(std::max(0.0, sums.square.mean() - mean * mean));
      profile.channels.push_back({sums.min, sums.max, mean, deviation});
    }
  }
  return profiles;
}

std::vector<InputWatch::Clipped> InputWatch::clipped() const {
  std::vector<Clipped> list;
  for (const Impl::Input& input : impl_->inputs) {
    if (!input.codes || input.elements == 0) continue;
    Clipped entry{input.info.name, input.elements, input.clipped, 0, 0, *input.codes};
    entry.min = std::numeric_limits<f64>::infinity();
    entry.max = -entry.min;
    for (const Impl::ChannelSums& channel : input.channels) {
      entry.min = std::min(entry.min, channel.min);
      entry.max = std::max(entry.max, channel.max);
    }
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace octet
