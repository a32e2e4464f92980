// SPDX-License-Identifier: Apache-2.0
#include "inspect/explain/coverage.h"

#include <algorithm>
#include <limits>

namespace octet {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

double share(int64_t part, int64_t whole) {
  return whole == 0 ? kNothing : static_cast<double>(part) / static_cast<double>(whole);
}

int64_t touched_bytes(const LayerInfo& layer) {
  int64_t bytes = layer.constant_bytes;
  for (const auto* types : {&layer.input_types, &layer.output_types}) {
    for (const TensorType& type : *types) {
      if (type.shape.is_static()) bytes += type.bytes();
    }
  }
  return bytes;
}

}  // namespace

// Conversions are the price of a border between precisions, not work that could be INT8; integers of shape arithmetic
// have no scale.
bool counts_as_layer(const LayerInfo& layer) {
  if (layer.conversion || layer.holds_layers) return false;
  return layer.precision == Precision::int8 ||
         std::any_of(layer.output_types.begin(), layer.output_types.end(), [](const auto& type) {
           return type.dtype == Dtype::f32 || type.dtype == Dtype::f16 || type.dtype == Dtype::bf16;
         });
}

double Coverage::layer_share() const { return share(int8_layers, layers); }
double Coverage::mac_share() const { return share(int8_macs, macs); }
double Coverage::byte_share() const { return share(int8_bytes, bytes); }
double Coverage::time_share() const { return us > 0 ? int8_us / us : kNothing; }

Coverage coverage_of(std::span<const LayerInfo> layers) {
  Coverage coverage;
  for (const LayerInfo& layer : layers) {
    if (!counts_as_layer(layer)) continue;
    const bool int8 = layer.precision == Precision::int8;
    coverage.layers += 1;
    coverage.int8_layers += int8 ? 1 : 0;
    coverage.macs += layer.macs;
    coverage.int8_macs += int8 ? layer.macs : 0;
    const int64_t bytes = touched_bytes(layer);
    coverage.bytes += bytes;
    coverage.int8_bytes += int8 ? bytes : 0;
  }
  return coverage;
}

}  // namespace octet
