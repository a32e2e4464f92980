// SPDX-License-Identifier: Apache-2.0
// In which order layers leave INT8, and what the trials of a search take.
#pragma once

#include <optional>
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

// On some of the samples that are searched on, as the effort allows. Nothing where `runs` only tells what a search lacks, and that is the rank.
std::optional<Rank> rank_layers(const SourceModel& source, const SearchOptions& options,
                                TrialRuns& runs);
// Tries the layers of one part of SearchSteps::kRankParts, for the journal.
void try_part(const SourceModel& source, const SearchOptions& options, TrialRuns& runs, int part);

}  // namespace octet
