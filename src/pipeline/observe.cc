// SPDX-License-Identifier: Apache-2.0
#include "pipeline/observe.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "core/check.h"
#include "core/monitor.h"
#include "octet/engine.h"
#include "octet/image_sizes.h"
#include "runtime/context.h"
#include "runtime/inside.h"
#include "runtime/model.h"

namespace octet {
namespace {

// Where a context yields a value: an output of the run, or an input that the sample brought.
struct Tap {
  bool is_input = false;
  size_t index = 0;
};

// What a value holds of the samples themselves, not of their repetition at the end of a run.
Tensor of_samples(const Tensor& tensor, const FedSample& sample) {
  Shape shape = tensor.shape();
  if (sample.samples == sample.rows || shape.rank() == 0 || shape[0] % sample.rows != 0)
    return tensor;
  shape[0] = shape[0] / sample.rows * sample.samples;
  const auto owner = std::make_shared<const Tensor>(tensor);
  return {{tensor.dtype(), shape}, std::shared_ptr<const std::byte>(owner, owner->data())};
}

// A context that writes into the outputs of the run before where their types stay: the values of one sample of a large model are
// tens of megabytes, and fresh memory of that size costs a tenth of the run.
class SampleRun {
 public:
  SampleRun(std::shared_ptr<const Model> model, const BodyWatch& watch)
      : context_(Inside::context(std::move(model))) {
    Inside::impl(context_).bodies.watch(&watch);
  }

  const std::vector<Tensor>& run(std::span<const Tensor> inputs) {
    std::vector<Shape> shapes;
    for (const Tensor& input : inputs) shapes.push_back(input.shape());
    if (planned_ && shapes == shapes_) {
      context_.run_into(inputs, outputs_);
      return outputs_;
    }
    outputs_ = context_.run(inputs);
    planned_ = !Inside::impl(context_).last_was_staged;
    shapes_ = std::move(shapes);
    return outputs_;
  }

 private:
  Context context_;
  bool planned_ = false;  // the types of the outputs follow from the shapes of the inputs
  std::vector<Shape> shapes_;
  std::vector<Tensor> outputs_;
};

// Of each sample by itself: which ones share a run depends on their order.
ContentDigest digest_of(const FedSample& sample) {
  ContentDigest digest;
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
    digest += hash.digest();
  }
  return digest;
}

class Observer {
 public:
  Observer(const Observed& observed, SampleFeed& data, const ObserveOptions& options)
      : data_(data), options_(options), bodies_(observed.bodies), seen_(empty()) {
    const Graph& graph = observed.graph;
    auto model = std::make_shared<Model>();
    model->graph = graph;
    model->graph.outputs.clear();
    std::unordered_map<ValueId, size_t> inputs;
    for (size_t i = 0; i < graph.inputs.size(); ++i) inputs.emplace(graph.inputs[i], i);
    for (ValueId id : observed.values) {
      const auto input = inputs.find(id);
      taps_.push_back(input != inputs.end() ? Tap{true, input->second} : tap(model->graph, id));
    }
    keep_outputs(observed, model->graph);
    add_states(observed);
    model_ = std::move(model);
    seen_.values.resize(taps_.size());
  }

  Observations run() {
    const s64 wanted = data_.total() > 0 ? data_.total() : std::max(1, options_.threads);
    const s64 most = states_ ? 1 : wanted;
    const int workers = static_cast<int>(std::clamp<s64>(options_.threads, 1, most));
    {
      // Joined also when one cannot be started.
      std::vector<std::jthread> threads;
      threads.reserve(static_cast<size_t>(workers));
      for (int i = 1; i < workers; ++i) threads.emplace_back([this] { work(false); });
      work(true);
    }
    if (error_) std::rethrow_exception(error_);
    return {std::move(seen_.values), std::move(seen_.bodies), done_.load(), data_hash_};
  }

 private:
  struct Seen {
    std::vector<Observation> values;
    std::vector<std::vector<Observation>> bodies;
  };

  Seen empty() const {
    Seen seen;
    seen.values.resize(taps_.size());
    for (const BodyValues& body : bodies_) seen.bodies.emplace_back(body.values.size());
    return seen;
  }

  static void merge(std::vector<Observation>& into, const std::vector<Observation>& own) {
    for (size_t t = 0; t < own.size(); ++t) {
      into[t].histogram.merge(own[t].histogram);
      into[t].power.merge(own[t].power);
    }
  }

  // Puts what bodies hold in every round where it belongs.
  BodyWatch watch_of(Seen& own) const {
    BodyWatch watch;
    std::unordered_map<const Graph*, size_t> places;
    for (size_t b = 0; b < bodies_.size(); ++b) {
      watch.values[bodies_[b].body] = bodies_[b].values;
      places[bodies_[b].body] = b;
    }
    watch.seen = [&own, places](const Graph& body, size_t index, const Tensor& value) {
      if (value.dtype() != Dtype::f32) return;
      Observation& observation = own.bodies[places.at(&body)][index];
      observation.histogram.observe(value.as<f32>());
      observation.power.observe(value);
    };
    return watch;
  }

  static Tap tap(Graph& graph, ValueId id) {
    graph.outputs.push_back(id);
    return {false, graph.outputs.size() - 1};
  }

  // The outputs of the graph itself: without a reader the nodes whose bodies are observed would not run, and the next step of a
  // sequence reads states.
  void keep_outputs(const Observed& observed, Graph& tapped) {
    if (observed.bodies.empty() && observed.states.empty()) return;
    for (const ValueId id : observed.graph.outputs) {
      const auto at = std::ranges::find(tapped.outputs, id);
      outputs_.push_back(static_cast<size_t>(at - tapped.outputs.begin()));
      if (at == tapped.outputs.end()) tapped.outputs.push_back(id);
    }
  }

  void add_states(const Observed& observed) {
    if (observed.states.empty()) return;
    const Graph& graph = observed.graph;
    const auto infos_of = [&](const std::vector<ValueId>& ids) {
      std::vector<TensorInfo> infos;
      for (ValueId id : ids) infos.push_back({graph.value(id).name, graph.value(id).type});
      return infos;
    };
    states_.emplace(observed.states, infos_of(graph.inputs), infos_of(graph.outputs));
  }

  // What the next step of a sequence starts from.
  void keep_states(const std::vector<Tensor>& outputs) {
    std::vector<Tensor> own;
    for (const size_t index : outputs_) own.push_back(outputs[index]);
    states_->keep(own);
  }

  void work(bool reports) {
    try {
      Seen own = empty();
      const BodyWatch watch = watch_of(own);
      ContentDigest data_hash;
      SampleRun run(model_, watch);
      // One thread tells, which may find all samples taken by others.
      if (reports) report_progress(options_.monitor, "calibrate", 0, data_.total());
      while (!stop_.load()) {
        check_stop(options_.monitor);
        const std::optional<FedSample> sample = data_.next();
        if (!sample) break;
        observe_sample(run, *sample, own.values);
        data_hash += digest_of(*sample);
        const s64 done = done_.fetch_add(sample->samples) + sample->samples;
        if (reports) report_progress(options_.monitor, "calibrate", done, data_.total());
      }
      const std::lock_guard lock(mutex_);
      data_hash_ += data_hash;
      merge(seen_.values, own.values);
      for (size_t b = 0; b < own.bodies.size(); ++b) merge(seen_.bodies[b], own.bodies[b]);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!error_) error_ = std::current_exception();
      stop_ = true;
    }
  }

  void observe_sample(SampleRun& run, const FedSample& sample, std::vector<Observation>& own) {
    std::vector<Tensor> inputs = sample.inputs;
    try {
      if (states_ && sample.rows > 1) {
        fail(Error::Code::unsupported,
             "the model takes {} samples a run; states need a model that takes one", sample.rows);
      }
      if (states_ && sample.begins) states_->begin();
      if (states_) states_->fill(inputs);
      const std::vector<Tensor>& outputs = run.run(inputs);
      if (states_) keep_states(outputs);
      for (size_t t = 0; t < taps_.size(); ++t) {
        const Tensor tensor = of_samples(
            taps_[t].is_input ? inputs[taps_[t].index] : outputs[taps_[t].index], sample);
        own[t].histogram.observe(tensor.as<f32>());
        own[t].power.observe(tensor);
      }
    } catch (Error& error) {
      const std::string advice = size_advice(Inside::engine(model_), inputs, error);
      if (advice.empty()) {
        error.add_context("calibrating on " + sample.name);
        throw;
      }
      fail_about("DataOptions.preprocess", error.code(), "{}: {}", sample.name, advice);
    }
  }

  SampleFeed& data_;
  const ObserveOptions& options_;
  std::shared_ptr<const Model> model_;
  std::vector<Tap> taps_;
  std::atomic<s64> done_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::span<const BodyValues> bodies_;
  Seen seen_;
  std::optional<StateLoop> states_;
  std::vector<size_t> outputs_;  // of the graph, among those of the model
  ContentDigest data_hash_;
  std::exception_ptr error_;
};

}  // namespace

Observations observe(const Observed& observed, SampleFeed& data, const ObserveOptions& options) {
  return Observer(observed, data, options).run();
}

}  // namespace octet
