// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/inference.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "octet/threads.h"
#include "tensorrt/trtexec/log.h"

namespace octet::cli::trtexec {
namespace {

using Clock = std::chrono::steady_clock;

float ms_since(Clock::time_point start) {
  return std::chrono::duration<float, std::milli>(Clock::now() - start).count();
}

void sleep_ms(double ms) {
  if (ms > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
}

// One stream. The call computes on this thread and its helpers, so a query is enqueued when its computation begins, and nothing is
// copied.
class Stream {
 public:
  Stream(Context& context, const Options& options, const Subject& subject)
      : context_(context), options_(options), subject_(subject) {}

  // Until both iterations and duration are reached, counted from the end of the warm-up; or another stream has failed.
  void run(Clock::time_point start, std::atomic<bool>& failed) {
    try {
      go_on(start, failed);
    } catch (...) {
      failed = true;
      throw;
    }
  }

  const std::vector<Trace>& traces() const { return traces_; }
  std::vector<Tensor> take_outputs() { return std::move(outputs_); }

 private:
  void go_on(Clock::time_point start, const std::atomic<bool>& failed) {
    const auto warm_up = static_cast<float>(options_.warm_up_ms);
    const auto limit = static_cast<float>(options_.duration_s * 1000) + warm_up;
    const bool endless = options_.duration_s < 0;
    int64_t skipped = 0;
    float now = 0;
    for (int64_t i = 0; endless || i < options_.iterations + skipped || now < limit; ++i) {
      if (failed) return;
      now = query(start, !endless);
      if (now < warm_up) {
        ++skipped;
      } else {
        sleep_ms(options_.idle_ms);
      }
    }
  }

  float query(Clock::time_point start, bool keeps) {
    const float begin = ms_since(start);
    // Sizes that depend on data make fresh outputs.
    if (outputs_.empty() || !fixed_) {
      outputs_ = context_.run(subject_.inputs);
      fixed_ = std::ranges::all_of(context_.output_types(),
                                   [](const TensorType& type) { return type.shape.is_static(); });
    } else {
      context_.run_into(subject_.inputs, outputs_);
    }
    const float end = ms_since(start);
    if (keeps) traces_.push_back({begin, begin, begin, begin, begin, end, end, end});
    return end;
  }

  Context& context_;
  const Options& options_;
  const Subject& subject_;
  std::vector<Trace> traces_;
  std::vector<Tensor> outputs_;
  bool fixed_ = false;
};

}  // namespace

Streams::Streams(const Options& options, const Subject& subject)
    : options_(options), subject_(subject) {
  ContextOptions made;
  made.threads = subject.threads;
  made.tuning = subject.tuning;
  made.device = options.device;
  for (int s = 0; s < options.streams; ++s) {
    contexts_.push_back(subject.engine.make_context(made));
    contexts_.back().prepare(subject.shapes);
  }
}

Measured Streams::run() {
  std::vector<Stream> streams;
  for (Context& context : contexts_) streams.emplace_back(context, options_, subject_);
  if (options_.duration_s < 0)
    log_warning(
        "--duration=-1 is specified, inference will run in an endless loop until aborted with "
        "CTRL-C (SIGINT)");
  sleep_ms(options_.sleep_ms);
  const auto start = Clock::now();
  std::atomic<bool> failed{false};
  run_threads(static_cast<int>(streams.size()),
              [&](int i) { streams[static_cast<size_t>(i)].run(start, failed); });
  Measured measured;
  for (Stream& stream : streams) {
    measured.traces.insert(measured.traces.end(), stream.traces().begin(), stream.traces().end());
  }
  std::ranges::stable_sort(measured.traces, {}, &Trace::h2d_start);
  measured.outputs = streams.front().take_outputs();
  return measured;
}

}  // namespace octet::cli::trtexec
