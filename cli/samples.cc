// SPDX-License-Identifier: Apache-2.0
#include "cli/samples.h"

namespace octet::cli {

Samples::Samples(const Engine& engine, const DataOptions& options, ProgressBar* progress)
    : source_(DataSource::open(options, engine.inputs())), states_(options.states) {
  // Once through the data before anything is computed: a bad file is an error now, not after minutes.
  source_.validate([&](int64_t done, int64_t total) {
    if (progress != nullptr) progress->update({"check data", done, total});
  });
  for (const SkippedItem& item : source_.skipped())
    skipped_.push_back(item.name + ": " + item.reason);
}

int64_t Samples::size() const { return source_.size(); }

std::optional<LoadedSample> Samples::next() {
  if (at_ >= source_.size()) return std::nullopt;
  LoadedSample sample{source_.name(at_), source_.label(at_), source_.begins_sequence(at_),
                      source_.sample(at_)};
  ++at_;
  return sample;
}

}  // namespace octet::cli
