// SPDX-License-Identifier: Apache-2.0
// How far outputs are from those of the float model, as a share of their power.
#pragma once

#include "core/types.h"
#include "octet/sensitivity.h"

namespace octet {

// The power of the differences of all real outputs over the power of the outputs: 0 where they are equal, 1 where no number says how far apart they
// are. Of the samples that `got` has.
f64 relative_error(OutputsOfSamples truth, OutputsOfSamples got);

}  // namespace octet
