// SPDX-License-Identifier: Apache-2.0
#include "inspect/explain/floor.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

namespace octet {
namespace {

using Clock = std::chrono::steady_clock;

f64 microseconds_since(Clock::time_point start) {
  return std::chrono::duration<f64, std::micro>(Clock::now() - start).count();
}

// A chain of 64-bit multiplications takes three cycles for each link on every x86 of the last fifteen years, and as many
// or one more or less on those of Arm.
f64 measure_cycles() {
  constexpr s64 kLinks = 30'000;
  f64 best = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    u64 x = 3;
    const auto start = Clock::now();
    for (s64 i = 0; i < kLinks; ++i) {
      x *= x;
      asm volatile("" : "+r"(x));  // one after the other
    }
    best = std::max(best, 3 * static_cast<f64>(kLinks) / microseconds_since(start));
  }
  return best;
}

f64 measure_bandwidth() {
  const std::vector<u64> buffer(u64{4} << 20, 1);  // 32 MiB
  f64 best = 0;
  for (int attempt = 0; attempt < 5; ++attempt) {
    const auto start = Clock::now();
    u64 sum = std::accumulate(buffer.begin(), buffer.end(), u64{0});
    asm volatile("" : "+r"(sum));
    best = std::max(best, static_cast<f64>(buffer.size() * 8) / microseconds_since(start));
  }
  return best;
}

s64 bytes_of(const std::vector<TensorType>& types) {
  s64 bytes = 0;
  for (const TensorType& type : types) bytes += type.bytes();
  return bytes;
}

}  // namespace

DeviceRates measure_rates() { return {measure_cycles(), measure_bandwidth()}; }

double floor_us(const LayerInfo& layer, const DeviceRates& rates, int threads) {
  const f64 bytes = static_cast<f64>(bytes_of(layer.input_types) + bytes_of(layer.output_types) +
                                     layer.constant_bytes);
  const f64 rate = layer.macs_per_cycle * rates.cycles_per_us * threads;
  const f64 multiply = rate > 0 ? static_cast<f64>(layer.macs) / rate : 0;
  return std::max(multiply, bytes / rates.bytes_per_us);
}

}  // namespace octet
