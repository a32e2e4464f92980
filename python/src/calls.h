// SPDX-License-Identifier: Apache-2.0
// What of Python is called during a long call, which holds no lock: progress and samples. What such a function throws passes through.
#pragma once

#include <vector>

#include "module.h"
#include "octet/data.h"
#include "octet/progress.h"

namespace octet::python {

// `progress(stage, done, total)` or None; False ends the call. Ctrl-C ends it in any case.
Monitor monitor_of(nb::object progress);

// An iterator over sequences of arrays, one for each input, which are copied.
SampleSource samples_of(nb::iterator batches, std::vector<TensorInfo> inputs);

}  // namespace octet::python
