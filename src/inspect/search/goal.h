// SPDX-License-Identifier: Apache-2.0
// What is better of two trials, and what is good enough.
#pragma once

#include "core/types.h"
#include "octet/search.h"

namespace octet {

// Whether time is what is to be won; else the metric.
bool wants_fastest(const SearchGoal& goal);

struct Judge {
  const SearchGoal& goal;
  f64 float_value;  // of the float model on the samples that the value is of

  // Of the metric alone.
  bool keeps(f64 value) const;
};

// Of time and size as far as they are known.
bool fits(const SearchGoal& goal, const SearchTrial& trial);

// What a choice goes by: times that differ by less than layers can be timed are the same.
bool is_better(const SearchGoal& goal, const SearchTrial& one, const SearchTrial& other);

// Marks the trials that no other is as fast and as accurate as.
void mark_front(std::span<SearchTrial> trials);

}  // namespace octet
