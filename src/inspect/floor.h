// SPDX-License-Identifier: Apache-2.0
// The least time that a layer can take on this machine: its multiplications at the rate of the unit that runs them, or its
// bytes (inputs, outputs, weights, each once) at the rate of memory beyond L2, whichever is longer.
#pragma once

#include "core/types.h"
#include "octet/inspect.h"

namespace octet {

struct MachineRates {
  double cycles_per_us = 0;  // of one core, measured on dependent multiplications
  double bytes_per_us = 0;   // that one thread reads from a buffer beyond L2
};

// Takes about 20 ms.
MachineRates measure_rates();

double floor_us(const LayerInfo& layer, const MachineRates& rates, int threads);

}  // namespace octet
