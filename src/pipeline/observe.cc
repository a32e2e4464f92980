// SPDX-License-Identifier: Apache-2.0
#include "pipeline/observe.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/check.h"
#include "core/memory.h"
#include "core/monitor.h"
#include "octet/image_sizes.h"
#include "pipeline/sample_choice.h"
#include "pipeline/sample_run.h"
#include "runtime/inside.h"

namespace octet {
namespace {

// Of each sample by itself: which ones share a run depends on their order.
std::vector<ContentDigest> digests_of(const FedSample& sample) {
  std::vector<ContentDigest> digests;
  for (s64 row = 0; row < sample.samples; ++row) {
    ContentHash hash;
    for (const Tensor& input : sample.inputs) {
      Shape shape = input.shape();
      if (sample.rows > 1) shape[0] /= sample.rows;
      hash.add(static_cast<s64>(input.dtype()));
      for (s64 size : shape.dims()) hash.add(size);
      const size_t bytes = input.bytes() / static_cast<size_t>(sample.rows);
      hash.add({input.data() + static_cast<size_t>(row) * bytes, bytes});
    }
    digests.push_back(hash.digest());
  }
  return digests;
}

std::vector<TensorInfo> infos_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<TensorInfo> infos;
  for (ValueId id : ids) infos.push_back({graph.value(id).name, graph.value(id).type});
  return infos;
}

// What all samples showed. Of a network with many channels a sample brings megabytes, and workers would wait for each other: so each
// value has a lock, and a merge begins at another value than the one before it.
class SharedSeen {
 public:
  explicit SharedSeen(const Observed& observed)
      : seen_(observed), locks_(seen_.values.size() + seen_.bodies.size()) {}

  void merge(const Seen& own) {
    constexpr size_t kWays = 16;
    const size_t count = locks_.size();
    const size_t first = merges_.fetch_add(1) % kWays * count / kWays;
    for (size_t i = 0; i < count; ++i) merge_one(own, (first + i) % count);
  }

  // When nothing merges any more.
  Seen& whole() { return seen_; }

 private:
  void merge_one(const Seen& own, size_t index) {
    const std::lock_guard lock(locks_[index]);
    const size_t values = seen_.values.size();
    if (index < values) return seen_.values[index].merge(own.values[index]);
    std::vector<TensorObservation>& body = seen_.bodies[index - values];
    for (size_t t = 0; t < body.size(); ++t) body[t].merge(own.bodies[index - values][t]);
  }

  Seen seen_;
  std::vector<std::mutex> locks_;
  std::atomic<size_t> merges_{0};
};

class Observer {
 public:
  Observer(const Observed& observed, SampleFeed& data, const ObserveOptions& options)
      : observed_(observed),
        data_(data),
        options_(options),
        shared_(observed, options.device),
        seen_(observed) {
    if (observed.states.empty()) return;
    const Graph& graph = observed.graph;
    states_.emplace(observed.states, infos_of(graph, graph.inputs), infos_of(graph, graph.outputs));
  }

  Observations run() {
    work(true);
    threads_.clear();  // joins them
    if (error_) std::rethrow_exception(error_);
    Seen& seen = seen_.whole();
    return {std::move(seen.values), std::move(seen.bodies), done_, data_hash_, at_once_, waited_};
  }

 private:
  // The calling thread, which starts the others when it has seen how much memory a run takes, and one of these.
  void work(bool first) {
    try {
      std::optional<SampleRun> run;
      const s64 before = counted_bytes();
      bool starts = first;
      // One thread tells, which may find all samples taken by others.
      if (first) report_progress(options_.monitor, "calibrate", 0, data_.total());
      while (std::optional<FedSample> sample = next()) {
        if (starts && may_start_before(run, *sample)) starts = false;
        if (!is_observed(run, *sample)) return;
        // Of what it freed between stages nothing is known: as much again.
        if (std::exchange(starts, false)) start_others(2 * (counted_bytes() - before));
        if (first) report_progress(options_.monitor, "calibrate", done(), data_.total());
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      stop_ = true;
    }
  }

  // Nothing at the end of the data: the worker counts no more.
  std::optional<FedSample> next() {
    while (!stop_.load()) {
      check_stop(options_.monitor);
      if (std::optional<FedSample> sample = returned()) return sample;
      if (std::optional<FedSample> sample = data_.next()) return sample;
      const std::lock_guard lock(mutex_);
      if (!returned_.empty()) continue;
      --active_;
      return std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<FedSample> returned() {
    const std::lock_guard lock(mutex_);
    if (returned_.empty()) return std::nullopt;
    FedSample sample = std::move(returned_.back());
    returned_.pop_back();
    return sample;
  }

  s64 done() {
    const std::lock_guard lock(mutex_);
    return done_;
  }

  bool is_alone() {
    const std::lock_guard lock(mutex_);
    return active_ == 1;
  }

  // Starts the other threads where the plan alone tells what they take. What goes wrong here goes wrong again in the run.
  bool may_start_before(std::optional<SampleRun>& run, const FedSample& sample) {
    if (states_ || options_.threads <= 1) return true;
    try {
      const std::optional<s64> bytes = without_bad_alloc([&] {
        run.emplace(observed_, shared_);
        return run->bytes_of_another(sample.inputs);
      });
      if (bytes) start_others(*bytes);
      return bytes.has_value();
    } catch (const Error&) {
      run.reset();
      return false;
    }
  }

  // As many as there are threads, samples and memory for.
  void start_others(s64 bytes) {
    const s64 samples = data_.total() > 0 ? data_.total() : options_.threads;
    const s64 fit = 1 + more_that_fit(bytes);
    const s64 wanted = std::min<s64>(options_.threads, samples);
    {
      const std::lock_guard lock(mutex_);
      waited_ = fit < wanted;
    }
    for (s64 i = 1; i < std::min(wanted, fit); ++i) {
      change_active(1);
      try {
        threads_.emplace_back([this] { work(false); });
      } catch (const std::system_error&) {
        change_active(-1);  // the system has no more: those that are there do the work
        return;
      }
    }
  }

  void change_active(int by) {
    const std::lock_guard lock(mutex_);
    active_ += by;
    at_once_ += by;
  }

  // False where memory had no room for it beside the others: one of these will run it, and this worker ends, so that what it held is
  // theirs.
  bool is_observed(std::optional<SampleRun>& run, FedSample& sample) {
    while (!has_run(run, sample)) {
      const std::lock_guard lock(mutex_);
      if (active_ == 1) continue;
      --active_;
      --at_once_;
      waited_ = true;
      returned_.push_back(std::move(sample));
      return false;
    }
    count(*run, sample);
    return true;
  }

  // False where memory had no room, and may have some now.
  bool has_run(std::optional<SampleRun>& run, const FedSample& sample) {
    const bool last_chance = is_alone() && !run;
    try {
      without_bad_alloc([&] {
        if (!run) run.emplace(observed_, shared_);
        run_sample(*run, sample);
      });
      return true;
    } catch (const Error& error) {
      if (error.code() != Error::Code::out_of_memory || last_chance) throw;
    }
    run.reset();
    return false;
  }

  // A sample counts as a whole or not at all.
  void count(SampleRun& run, const FedSample& sample) {
    const std::vector<ContentDigest> digests = digests_of(sample);
    {
      const std::lock_guard lock(mutex_);
      for (const ContentDigest& digest : digests) data_hash_ += digest;
      if (options_.choice != nullptr) options_.choice->add(sample, digests);
      done_ += sample.samples;
    }
    seen_.merge(run.counted());
    run.counted().clear();
  }

  void run_sample(SampleRun& run, const FedSample& sample) {
    std::vector<Tensor> inputs = sample.inputs;
    try {
      if (states_ && sample.rows > 1) {
        fail(Error::Code::unsupported,
             "the model takes {} samples a run; states need a model that takes one", sample.rows);
      }
      if (states_ && sample.begins) states_->begin();
      if (states_) states_->fill(inputs);
      const std::span<const Tensor> outputs = run.run(sample, inputs);
      if (states_) states_->keep(outputs);
    } catch (Error& error) {
      const std::string advice = size_advice(Inside::engine(shared_.model), inputs, error);
      if (advice.empty()) {
        error.add_context("calibrating on " + sample.name);
        throw;
      }
      fail_about("DataOptions.preprocess", error.code(), "{}: {}", sample.name, advice);
    }
  }

  const Observed& observed_;
  SampleFeed& data_;
  const ObserveOptions& options_;
  const SampleModel shared_;
  SharedSeen seen_;
  std::optional<StateLoop> states_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;  // of what follows
  s64 done_ = 0;
  ContentDigest data_hash_;
  std::vector<FedSample> returned_;  // that memory had no room for
  int active_ = 1;
  int at_once_ = 1;  // workers that there were, without those that gave up for lack of memory
  bool waited_ = false;
  std::exception_ptr error_;
  std::vector<std::jthread> threads_;  // the last member: they end before anything that they use
};

}  // namespace

Observations observe(const Observed& observed, SampleFeed& data, const ObserveOptions& options) {
  return Observer(observed, data, options).run();
}

}  // namespace octet
