// SPDX-License-Identifier: Apache-2.0
// The least time that a layer can take: its multiplications at the rate of the unit that runs them, or its bytes (inputs,
// outputs, weights, each once) at the rate of the device's memory (a CPU's: beyond L2), whichever is longer.
#pragma once

#include "core/types.h"
#include "octet/inspect.h"
#include "plan/device.h"

namespace octet {

// Of one core: cycles measured on dependent multiplications, bytes that one thread reads from a buffer beyond L2. Takes about 20 ms.
DeviceRates measure_rates();

// `threads` work at these rates together; of multiplications, not of bytes.
double floor_us(const LayerInfo& layer, const DeviceRates& rates, int threads);

}  // namespace octet
