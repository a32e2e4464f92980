// SPDX-License-Identifier: Apache-2.0
#include "ops/quantized/weight_codes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>

#include "core/rounding.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "ops/quantized/quantize_node.h"
#include "ops/shared/float_io.h"

namespace octet {
namespace {

// Scales differ between variants where a bias asks for a larger one. A search over many ranges shall not fill the memory.
constexpr size_t kMostPerLayer = 4;
constexpr size_t kMostFunctions = 4096;

std::optional<std::vector<f32>> max_magnitudes(std::span<const f32> weights,
                                               const Channels& channels) {
  if (!all_finite(weights)) return std::nullopt;
  std::vector<f32> largest(static_cast<size_t>(channels.count), 0.0f);
  channels.for_each_run(weights.size(), [&](size_t first, size_t count, size_t channel) {
    f32 max = largest[channel];
    for (f32 weight : weights.subspan(first, count)) max = std::max(max, std::fabs(weight));
    largest[channel] = max;
  });
  return largest;
}

Tensor quantized_codes(const Tensor& weights, const Channels& channels,
                       const std::vector<f32>& scales) {
  const FloatInput real(view(weights));
  Tensor result(Dtype::s8, weights.shape());
  const auto codes = result.mutable_as<s8>();
  channels.for_each_run(codes.size(), [&](size_t first, size_t count, size_t channel) {
    const f32 scale = scales[channel];
    for (size_t i = first; i < first + count; ++i) {
      codes[i] = static_cast<s8>(quantize(real.values()[i], scale, 0, -127, 127));
    }
  });
  return result;
}

std::string name_of(const Node& function, const Activation& before, const FineOutput& output) {
  std::string name = fmt::format(
      "{} {} {} {} {} {} {}", fmt::ptr(function.op), static_cast<int>(before.kind), before.min,
      before.max, static_cast<int>(output.dtype), output.params.scale, output.params.zero_point);
  for (const auto& [attribute, value] : function.attrs.entries())
    name += fmt::format(" {}={}", attribute, print_attribute(value));
  return name;
}

}  // namespace

// Weights that differ do so in their first bytes, as a rule; those of the same storage are not looked at.
bool WeightCodes::Key::operator<(const Key& other) const {
  const auto kind = [](const Key& key) {
    return std::tuple<Dtype, s64, const std::vector<s64>&>(key.weights.dtype(),
                                                           key.weights.elements(), key.read);
  };
  if (kind(*this) < kind(other)) return true;
  if (kind(other) < kind(*this) || weights.data() == other.weights.data()) return false;
  return std::memcmp(weights.data(), other.weights.data(), weights.bytes()) < 0;
}

WeightCodes::Key WeightCodes::key_of(const Tensor& weights, const Channels& channels) {
  return {weights, {channels.count, channels.inner}};
}

std::optional<std::vector<f32>> WeightCodes::magnitudes(const Tensor& weights,
                                                        const Channels& channels) {
  const Key key = key_of(weights, channels);
  {
    const std::lock_guard lock(mutex_);
    const auto at = entries_.find(key);
    if (at != entries_.end()) return at->second.magnitudes;
  }
  auto largest = max_magnitudes(FloatInput(view(weights)).values(), channels);
  const std::lock_guard lock(mutex_);
  return entries_.try_emplace(key, Entry{std::move(largest), {}}).first->second.magnitudes;
}

Tensor WeightCodes::codes(const Tensor& weights, const Channels& channels,
                          const std::vector<f32>& scales) {
  const Key key = key_of(weights, channels);
  {
    const std::lock_guard lock(mutex_);
    const std::vector<Coded>& coded = entries_.at(key).coded;
    const auto at = std::ranges::find(coded, scales, &Coded::scales);
    if (at != coded.end()) return at->codes.reshaped(weights.shape());
  }
  const Tensor made = quantized_codes(weights, channels, scales);
  const std::lock_guard lock(mutex_);
  std::vector<Coded>& coded = entries_.at(key).coded;
  if (coded.size() == kMostPerLayer) coded.erase(coded.begin());
  coded.push_back({scales, made});
  ++quantized_;
  return made;
}

Tensor WeightCodes::rounded(const Tensor& weights, const std::vector<s64>& read,
                            const std::function<Tensor()>& make) {
  const Key key{weights, read};
  {
    const std::lock_guard lock(mutex_);
    const auto at = rounded_.find(key);
    if (at != rounded_.end()) return at->second.reshaped(weights.shape());
  }
  const Tensor made = make();
  const std::lock_guard lock(mutex_);
  return rounded_.try_emplace(key, made).first->second.reshaped(weights.shape());
}

FineTable WeightCodes::function(const Node& function, const Activation& before,
                                const FineOutput& output) {
  const std::string name = name_of(function, before, output);
  {
    const std::lock_guard lock(mutex_);
    const auto at = functions_.find(name);
    if (at != functions_.end()) return at->second;
  }
  FineTable table = fine_table(function, before, output);
  const std::lock_guard lock(mutex_);
  if (functions_.size() == kMostFunctions) functions_.clear();
  return functions_.try_emplace(name, std::move(table)).first->second;
}

s64 WeightCodes::quantized() const {
  const std::lock_guard lock(mutex_);
  return quantized_;
}

}  // namespace octet
