// SPDX-License-Identifier: Apache-2.0
// In which order layers leave INT8, and what the trials of a search take.
#pragma once

#include <vector>

#include "core/types.h"
#include "octet/search.h"

namespace octet {

class TrialRuns;  // inspect/search/trials.h

struct Rank {
  std::vector<LayerEffect> layers;  // of octet sensitivity
  std::vector<LayerEffect> order;   // those that are INT8: the most error for the least time first
  f64 fp32_us = 0, int8_us = 0;

  // Of single layers: those that INT8 saves most time first.
  std::vector<const LayerEffect*> by_time() const;
  // The sum of what the layers take.
  f64 time_of(const SearchTrial& trial) const;
};

// On some of the samples that are searched on, as the effort allows.
Rank rank_layers(const SourceModel& source, const SearchOptions& options, TrialRuns& runs);

}  // namespace octet
