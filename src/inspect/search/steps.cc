// SPDX-License-Identifier: Apache-2.0
// A search in steps: what it lacks is found by running it over what is known, with guesses in the place of the rest.
#include <algorithm>
#include <utility>

#include "core/memory.h"
#include "inspect/search/rank.h"
#include "inspect/search/run.h"
#include "inspect/search/trials.h"

namespace octet {

struct SearchSteps::Impl {
  Impl(SourceModel of, SearchOptions asked)
      : source(std::move(of)), options(std::move(asked)), runs(source, options) {}

  void measure(const SearchStep& step) {
    SearchTrial trial = step.trial;
    runs.begin();
    switch (step.kind) {
      case SearchStep::Kind::value:
        return runs.measure(trial);
      case SearchStep::Kind::verified:
        return runs.verify(trial);
      case SearchStep::Kind::run_us:
        return runs.time_runs(trial);
      case SearchStep::Kind::bytes:
        return runs.weigh(trial);
      case SearchStep::Kind::rank:
        (void)rank_layers(source, options, runs);
        return;
      case SearchStep::Kind::rank_part:
        return try_part(source, options, runs, step.part);
    }
  }

  const SourceModel source;
  const SearchOptions options;
  TrialRuns runs;
};

SearchSteps::SearchSteps(const SourceModel& source, SearchOptions options) {
  check_search(options);
  without_bad_alloc([&] { impl_ = std::make_unique<Impl>(source, std::move(options)); });
}
SearchSteps::~SearchSteps() = default;
SearchSteps::SearchSteps(SearchSteps&&) noexcept = default;
SearchSteps& SearchSteps::operator=(SearchSteps&&) noexcept = default;

std::vector<SearchStep> SearchSteps::lacking(size_t most) {
  return without_bad_alloc([&] {
    LackingSteps lacking{std::max<size_t>(most, 1)};
    impl_->runs.begin(&lacking);
    try {
      search_by(impl_->runs, impl_->source, impl_->options);
    } catch (const LackingSteps::Enough&) {
    }
    impl_->runs.begin();
    return std::move(lacking.steps);
  });
}

void SearchSteps::measure(const SearchStep& step) {
  without_bad_alloc([&] { impl_->measure(step); });
}

}  // namespace octet
