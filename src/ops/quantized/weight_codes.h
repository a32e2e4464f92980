// SPDX-License-Identifier: Apache-2.0
// Codes of weights, kept for the other variants of a model: to quantize weights is most of the work of a build, and their codes
// follow from the weights and their scales alone, which hardly a variant changes.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "octet/tensor.h"
#include "ops/quantized/quantize_weights.h"

namespace octet {

// Members are safe from several threads. Weights are known by their storage, which lives as long as the cache does.
class WeightCodes {
 public:
  // max|w| of each channel; nothing where a weight is not finite.
  std::optional<std::vector<f32>> magnitudes(const Tensor& weights, const Channels& channels);
  // s8, of the shape of the weights: -127..127, ties to even. After magnitudes() of the same weights.
  Tensor codes(const Tensor& weights, const Channels& channels, const std::vector<f32>& scales);
  // What `make` gives for these weights, made once for each way to read them (sizes, dilations).
  Tensor rounded(const Tensor& weights, const std::vector<s64>& read,
                 const std::function<Tensor()>& make);
  // How many times weights were quantized, rather than found.
  s64 quantized() const;

 private:
  // Storage, type, number of elements, channels.
  using Key = std::tuple<const std::byte*, Dtype, s64, s64, s64>;
  struct Coded {
    std::vector<f32> scales;
    Tensor codes;
  };
  struct Entry {
    Tensor weights;  // keeps the storage that is the key
    std::optional<std::vector<f32>> magnitudes;
    std::vector<Coded> coded;  // the latest last
  };
  struct Rounded {
    Tensor weights;  // likewise
    Tensor result;
  };
  static Key key_of(const Tensor& weights, const Channels& channels);

  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
  std::map<std::pair<Key, std::vector<s64>>, Rounded> rounded_;
  s64 quantized_ = 0;
};

}  // namespace octet
