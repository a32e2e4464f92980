// SPDX-License-Identifier: Apache-2.0
// octet bench --streams, and on several devices: many callers of one engine in one process, each with a context of its own.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"
#include "octet/tensor.h"
#include "octet/tuning.h"

namespace octet::cli {

struct StreamFlags {
  int streams = 1;  // on each device
  int threads = 1;  // of each stream
  double seconds = 2;
  int64_t warmup = 10;
  std::shared_ptr<const Tuning> tuning;
  bool json = false;
  std::vector<std::string> devices = {"cpu"};
};

// Runs the streams side by side and prints their latencies and what they do together; the exit code.
int bench_streams(const Engine& engine, std::span<const Tensor> inputs, const StreamFlags& flags);

}  // namespace octet::cli
