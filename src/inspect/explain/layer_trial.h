// SPDX-License-Identifier: Apache-2.0
// All kernels that accept a step, on the data of one run, in turns.
#pragma once

#include <vector>

#include "inspect/explain/kernel_trial.h"
#include "octet/selection.h"

namespace octet {

class LayerTrial {
 public:
  // The step's plan keeps other kernels (Target::keep_others).
  LayerTrial(const KernelTrial::Setting& setting, const StepArgs& args);

  // The first measurement.
  LayerSelection compare();
  // Adds rounds to one that was measured before.
  void run_rounds(LayerSelection& selection, int rounds);

 private:
  void run_round(LayerSelection& selection, bool all);
  bool result_is_same(size_t i);

  const std::vector<Candidate> kernels_;
  std::vector<KernelTrial> trials_;
  std::vector<KernelTrial::Form> expected_;
};

}  // namespace octet
