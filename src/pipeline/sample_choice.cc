// SPDX-License-Identifier: Apache-2.0
#include "pipeline/sample_choice.h"

#include <algorithm>
#include <span>

#include "octet/data.h"

namespace octet {
namespace {

size_t bytes_of(const std::vector<Tensor>& sample) {
  size_t bytes = 0;
  for (const Tensor& input : sample) bytes += input.bytes();
  return bytes;
}

bool are_enough(size_t samples, size_t bytes, const ChoiceSize& size) {
  return samples >= size.most || (samples >= size.fewest && bytes >= size.large);
}

}  // namespace

void SampleChoice::add(const FedSample& run, const std::vector<ContentDigest>& digests) {
  rows_ = run.rows;
  if (bytes_of(run.inputs) / static_cast<size_t>(run.rows) > size_.largest) return;
  const bool full = are_enough(kept_.size(), bytes_, size_);
  const auto wanted = [&](const ContentDigest& digest) {
    return !full || Digest(digest.high, digest.low) < kept_.rbegin()->first;
  };
  if (std::ranges::none_of(digests, wanted)) return;
  const auto samples = split_outputs(run.inputs, run.rows, run.samples);
  for (size_t i = 0; i < digests.size(); ++i) {
    std::vector<Tensor> copies;
    // What the caller gave may be part of a large batch, or be written over.
    for (const Tensor& input : samples[i]) copies.push_back(input.clone());
    keep({digests[i].high, digests[i].low}, std::move(copies));
  }
}

void SampleChoice::keep(const Digest& digest, std::vector<Tensor> sample) {
  bytes_ += bytes_of(sample);
  kept_.emplace(digest, std::move(sample));
  for (;;) {
    const auto last = std::prev(kept_.end());
    const size_t rest = bytes_ - bytes_of(last->second);
    if (!are_enough(kept_.size() - 1, rest, size_)) return;
    bytes_ = rest;
    kept_.erase(last);
  }
}

std::vector<std::vector<Tensor>> SampleChoice::runs(const ChoiceSize& size) const {
  std::vector<std::vector<Tensor>> samples, runs;
  size_t total = 0;
  for (const auto& [digest, sample] : kept_) {
    if (are_enough(samples.size(), total, size)) break;
    if (bytes_of(sample) > size.largest) continue;
    total += bytes_of(sample);
    samples.push_back(sample);
  }
  const auto rows = static_cast<size_t>(rows_);
  for (size_t at = 0; at < samples.size(); at += rows) {
    const size_t count = std::min(rows, samples.size() - at);
    runs.push_back(stack_samples(std::span(samples).subspan(at, count), rows_));
  }
  return runs;
}

}  // namespace octet
