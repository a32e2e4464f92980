// SPDX-License-Identifier: Apache-2.0
// Codes of weights and tables of functions, kept for the other variants of a model: to make them is most of the work of a build, and they
// follow from the weights, or the function, and their scales alone, which hardly a variant changes.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "octet/tensor.h"
#include "ops/quantized/fine_table.h"
#include "ops/quantized/quantize_weights.h"

namespace octet {

// Members are safe from several threads. Weights are known by what they hold: passes ahead (equalization, level channels) make the same ones
// anew for each variant. So what is kept grows with a model's layers, not with its variants.
class WeightCodes {
 public:
  // max|w| of each channel; nothing where a weight is not finite.
  std::optional<std::vector<f32>> magnitudes(const Tensor& weights, const Channels& channels);
  // s8, of the shape of the weights: -127..127, ties to even. After magnitudes() of the same weights.
  Tensor codes(const Tensor& weights, const Channels& channels, const std::vector<f32>& scales);
  // What `make` gives for these weights, made once for each way to read them (sizes, dilations).
  Tensor rounded(const Tensor& weights, const std::vector<s64>& read,
                 const std::function<Tensor()>& make);
  // fine_table(), made once for the placement, for the layer itself and for other variants.
  FineTable function(const Node& function, const Activation& before, const FineOutput& output);
  // How many times weights were quantized, rather than found.
  s64 quantized() const;

 private:
  // Weights, and how they are read: by channels, or as rounded() was told.
  struct Key {
    Tensor weights;
    std::vector<s64> read;
    bool operator<(const Key& other) const;
  };
  struct Coded {
    std::vector<f32> scales;
    Tensor codes;
  };
  struct Entry {
    std::optional<std::vector<f32>> magnitudes;
    std::vector<Coded> coded;  // the latest last
  };
  static Key key_of(const Tensor& weights, const Channels& channels);

  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
  std::map<Key, Tensor> rounded_;
  std::map<std::string, FineTable> functions_;
  s64 quantized_ = 0;
};

}  // namespace octet
