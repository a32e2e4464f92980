// SPDX-License-Identifier: Apache-2.0
#include "inspect/search/goal.h"

#include <algorithm>

namespace octet {
namespace {

// The share of a run that times of layers repeat to.
constexpr f64 kTimeNoise = 0.01;

// More of the metric; of equal values the lesser error, which tells trials apart that a count of right answers does not.
bool is_more_accurate(const SearchTrial& one, const SearchTrial& other) {
  return one.value != other.value ? one.value > other.value : one.error < other.error;
}

bool is_faster(f64 one, f64 other) { return one < other * (1 - kTimeNoise); }

}  // namespace

bool wants_fastest(const SearchGoal& goal) {
  return goal.most_drop.has_value() || goal.least_value.has_value();
}

bool Judge::keeps(f64 value) const {
  return (!goal.most_drop || float_value - value <= *goal.most_drop) &&
         (!goal.least_value || value >= *goal.least_value);
}

bool fits(const SearchGoal& goal, const SearchTrial& trial) {
  const f64 us = trial.run_us > 0 ? trial.run_us : trial.us;
  return (!goal.most_us || us <= *goal.most_us) &&
         (!goal.most_bytes || trial.bytes <= *goal.most_bytes);
}

bool is_better(const SearchGoal& goal, const SearchTrial& one, const SearchTrial& other) {
  if (!wants_fastest(goal)) {
    if (one.value != other.value || one.error != other.error) return is_more_accurate(one, other);
    return is_faster(one.us, other.us);
  }
  if (is_faster(one.us, other.us)) return true;
  if (is_faster(other.us, one.us)) return false;
  return is_more_accurate(one, other);
}

void mark_front(std::span<SearchTrial> trials) {
  for (SearchTrial& one : trials) {
    one.on_front = std::ranges::none_of(trials, [&](const SearchTrial& other) {
      if (&one == &other || other.us > one.us || is_more_accurate(one, other)) return false;
      return other.us < one.us || is_more_accurate(other, one) || &other < &one;
    });
  }
}

}  // namespace octet
