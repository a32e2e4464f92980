// SPDX-License-Identifier: Apache-2.0
// Progress on stderr: a redrawn bar with the time left on a terminal; elsewhere a plain line for each stage, and for one that takes long
// a line every ten seconds.
#pragma once

#include <chrono>
#include <string>

#include "octet/progress.h"

namespace octet::cli {

class ProgressBar {
 public:
  // Silent with --json and with --quiet.
  explicit ProgressBar(bool json);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void update(const Progress& progress);
  // Ends the current stage; the destructor does so too.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;
  void draw();
  // "3.1 s left", by the pace since the first report: what came before it (planning, reading) is not repeated. Empty where it is not known.
  std::string left() const;

  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  Progress now_;
  Clock::time_point stage_start_;
  Clock::time_point first_report_;  // of something done
  int64_t first_done_ = 0;
  Clock::time_point last_draw_;
};

}  // namespace octet::cli
