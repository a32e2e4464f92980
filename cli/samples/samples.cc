// SPDX-License-Identifier: Apache-2.0
#include "cli/samples/samples.h"

#include <algorithm>

namespace octet::cli {
namespace {

DataOptions counting(DataOptions options, const KnownInputs& known) {
  options.input_codes = known.codes;
  return options;
}

}  // namespace

Samples::Samples(const Engine& engine, const DataOptions& options, ProgressBar* progress)
    : known_(known_inputs(engine)),
      source_(DataSource::open(counting(options, known_), engine.inputs())),
      states_(options.states) {
  // Once through the data before anything is computed: a bad file is an error now, not after minutes.
  source_.validate([&](int64_t done, int64_t total) {
    if (progress != nullptr) progress->update({"check data", done, total});
  });
  for (const SkippedItem& item : source_.skipped())
    skipped_.push_back(item.name + ": " + item.reason);
  if (progress != nullptr) progress->finish();
  say_handling(source_.handling());
  history_ = {source_.handling().photos, source_.handling().applied, engine.preprocess()};
  checks_ = {
      {source_.handling()}, doubts_about(known_, source_.profiles(), history_), source_.clipped()};
}

int64_t Samples::size() const { return source_.size(); }

std::vector<std::string> Samples::notes() const {
  std::vector<std::string> notes = source_.notes();
  // What is known of calibration says more of an input than what is usual.
  std::erase_if(notes, [&](const std::string& note) {
    return std::ranges::any_of(checks_.doubts, [&](const InputDoubt& doubt) {
      return note.starts_with("input '" + doubt.name + "'");
    });
  });
  const std::vector<std::string> warnings = checks_.warnings();
  notes.insert(notes.end(), warnings.begin(), warnings.end());
  return notes;
}

std::optional<LoadedSample> Samples::next() {
  if (at_ >= source_.size()) return std::nullopt;
  LoadedSample sample{source_.name(at_), source_.label(at_), source_.begins_sequence(at_),
                      source_.sample(at_)};
  ++at_;
  return sample;
}

std::vector<InputDoubt> Samples::other_preparations(bool mostly_wrong) const {
  // What nobody said is tried against everything else that is usual.
  mostly_wrong = mostly_wrong || source_.handling().guessed();
  std::vector<InputDoubt> others;
  for (const InputDoubt& doubt : checks_.doubts) {
    if (doubt.repair || doubt.reverse_channels) others.push_back(doubt);
  }
  for (InputDoubt& other :
       octet::other_preparations(known_, source_.profiles(), history_, mostly_wrong))
    others.push_back(std::move(other));
  return others;
}

}  // namespace octet::cli
