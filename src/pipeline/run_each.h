// SPDX-License-Identifier: Apache-2.0
// What a variant of a model makes of some samples.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "pipeline/float_model.h"

namespace octet {

// The outputs of each run, in their order: side by side, each on one thread, as far as memory has room for them.
std::vector<std::vector<Tensor>> run_each(const std::shared_ptr<const Model>& model,
                                          std::span<const std::vector<Tensor>> runs,
                                          const StageOptions& stage);

}  // namespace octet
