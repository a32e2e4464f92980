// SPDX-License-Identifier: Apache-2.0
// Calibration in parts: what runs over some samples saw, as bytes that travel, and sums of it. All statistics are sums of integers, so the
// engine that is made of them is the one that all samples together give, to the byte, whoever saw which of them, in whatever order and
// batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "octet/data.h"
#include "octet/source_model.h"

namespace octet {

// What some samples were seen to hold. An empty one, of no samples and no model, is what sums begin with.
class Observation {
 public:
  Observation();
  ~Observation();
  Observation(Observation&&) noexcept;
  Observation& operator=(Observation&&) noexcept;

  // Throws Error(invalid_argument) where they are of different models, or of one model that was read with different options.
  void merge(const Observation& other);
  int64_t samples() const;

  // For programs of the same version of Octet on machines of one byte order.
  std::vector<std::byte> to_bytes() const;
  // Throws Error(invalid_argument) for bytes that are no observation, or one of another version.
  static Observation from_bytes(std::span<const std::byte> bytes);

  struct Impl;  // Octet's own

 private:
  friend class SampleObserver;
  friend struct ObservationInside;
  std::unique_ptr<Impl> impl_;
};

// Runs samples through the float model, as compile() does in calibration. Any threads may use it at once.
class SampleObserver {
 public:
  // Of the model's options those count that calibration depends on, data apart: the rewrites, input_shapes, and of `calibration` equalize.
  // Throws Error(unsupported) for a model that brings its own codes, for states of sequences, and for the method "auto", which tries samples.
  explicit SampleObserver(const SourceModel& model, int threads = 1);

  // Samples as CalibrationOptions::samples takes them. Throws what compile() throws for samples that do not fit.
  Observation observe(const SampleSource& samples) const;

 private:
  SourceModel model_;
  int threads_;
};

}  // namespace octet
