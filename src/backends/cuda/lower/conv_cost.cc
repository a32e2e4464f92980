// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/lower/conv_cost.h"

#include <algorithm>

#include "core/divide.h"

namespace octet::cuda {

f64 conv_bytes(const ConvRequest& conv) {
  const f64 y = static_cast<f64>(conv.y.elements());
  const s64 weights = conv.part_count() * conv.weights.elements();
  f64 bytes = static_cast<f64>(conv.x.elements() + weights);
  bytes += y * static_cast<f64>(conv.product.element_bytes());
  if (conv.product.has_residual) bytes += y;
  if (conv.product.has_addend && !conv.product.addend_row) bytes += y;
  return bytes;
}

f64 moved_bytes(const LowerRequest& request) {
  f64 bytes = 0;
  for (const TensorType& type : request.inputs) bytes += static_cast<f64>(type.bytes());
  for (const TensorType& type : request.outputs) bytes += static_cast<f64>(type.bytes());
  return bytes;
}

f64 cost_by_bytes(const LowerRequest& request) {
  const CudaDevice& device = device_of(request);
  const f64 bytes = device.costs().start_bytes + moved_bytes(request);
  const DeviceRates rates = device.rates();
  return rates.bytes_per_us > 0 ? bytes / rates.bytes_per_us * rates.cycles_per_us : bytes;
}

f64 bytes_cost(f64 bytes, const Chip& chip) {
  const f64 rate = std::max(1.0, chip.memory_bytes_per_second / std::max(1.0, chip.clock_hertz));
  return chip.costs().kernel_start + bytes / (rate * chip.costs().kernel_memory_share);
}

f64 tile_cost(const TileWork& work, f64 bytes, const Chip& chip) {
  const Costs& costs = chip.costs();
  const s64 waves = ceil_div(work.tiles, s64{chip.multiprocessors} * work.at_once);
  const f64 loads = std::max(work.load_bytes / costs.tile_cache_rate, work.load_cycles);
  const f64 main_loop = std::max(work.multiply_cycles, loads),
            whole = main_loop + work.finish_cycles;
  f64 tile = work.overlaps ? std::max(main_loop, whole / 2) : whole;
  if (work.at_once > 1) tile = std::max(main_loop, tile * costs.tile_beside);
  const f64 busy = static_cast<f64>(waves * work.at_once) * tile;
  // The two overlap, but not wholly: of several that memory bounds the one with the least work is the best.
  const f64 moving = bytes_cost(bytes, chip) - costs.kernel_start;
  return costs.kernel_start + std::max(busy, moving) + costs.kernel_apart * std::min(busy, moving);
}

}  // namespace octet::cuda
