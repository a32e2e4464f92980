// SPDX-License-Identifier: Apache-2.0
#include "pipeline/float_model.h"

#include <algorithm>
#include <utility>

#include "core/check.h"
#include "core/memory.h"
#include "core/monitor.h"
#include "data/input_statistics.h"
#include "data/input_watch_parts.h"
#include "data/preprocess.h"
#include "data/sample_feed.h"
#include "graph/op_def.h"
#include "graph/op_traits.h"
#include "graph/propagate.h"
#include "octet/limits.h"
#include "octet/machine.h"
#include "passes/pass.h"
#include "passes/real_weights.h"
#include "pipeline/bodies.h"
#include "pipeline/choose_ranges.h"
#include "pipeline/constant_data.h"
#include "pipeline/equalization.h"
#include "pipeline/measure_losses.h"
#include "pipeline/plugin_notes.h"
#include "pipeline/sample_choice.h"
#include "pipeline/seen_samples.h"
#include "preprocess/profile_json.h"

namespace octet {

std::vector<TensorInfo> input_infos(const Graph& graph) {
  std::vector<TensorInfo> infos;
  for (ValueId id : graph.inputs) infos.push_back({graph.value(id).name, graph.value(id).type});
  return infos;
}

namespace {

std::shared_ptr<const TensorStatistics> statistics_of(const TensorObservation& seen) {
  const auto counts = seen.histogram.counts();
  return std::make_shared<TensorStatistics>(
      TensorStatistics{static_cast<f32>(seen.histogram.bin_width()),
                       {counts.begin(), counts.end()},
                       seen.power.means(),
                       seen.power.mean_squares(),
                       seen.power.minima(),
                       seen.power.maxima()});
}

// What is to be observed in bodies, and what was.
struct BodyCalibration {
  std::vector<BodyValues> values;
  std::vector<std::vector<TensorObservation>> seen;
};

struct Calibrating {
  const FloatModel& model;
  const CalibrationOptions& options;
  const StageOptions& stage;
  Calibration& into;
  BodyCalibration& bodies;

  const Graph& graph() const { return *model.graph; }
};

std::string few_at_once(int samples, int threads) {
  return fmt::format(
      "calibration ran {} sample{} at once, not {}: more pass the memory limit of {}; the result "
      "is the same",
      samples, samples == 1 ? "" : "s", threads, human_memory(limits().memory));
}

void observe_samples(const Calibrating& work, SampleFeed& feed) {
  const bool tries = tries_samples(work.options);
  SampleChoice choice(tries ? kTriedSamples : kComparedSamples);
  const ObserveOptions options{work.stage.threads, work.stage.monitor, &choice,
                               work.options.device};
  const std::vector<ValueId> channels = work.options.equalize
                                            ? values_to_equalize(work.graph(), work.into.values)
                                            : std::vector<ValueId>();
  Observations seen =
      observe({work.graph(), work.into.values, work.bodies.values, work.options.states, channels},
              feed, options);
  if (seen.waited_for_memory) work.into.notes.push_back(few_at_once(seen.at_once, options.threads));
  work.into.samples = seen.samples;
  work.into.data_hash = seen.data_hash.hex();
  work.into.observations = std::move(seen.values);
  // A step of a sequence says nothing without those before it.
  if (work.options.states.empty()) work.into.compared_samples = choice.runs(kComparedSamples);
  if (tries) work.into.tried_samples = choice.runs();
  work.into.rows = choice.rows();
  work.bodies.seen = std::move(seen.bodies);
}

// Files are read once before anything is computed.
void observe_files(const Calibrating& work) {
  const Graph& graph = work.graph();
  const CalibrationOptions& options = work.options;
  const StageOptions& stage = work.stage;
  Calibration& into = work.into;
  DataSource data = DataSource::open(with_found(options, work.model), input_infos(graph));
  data.validate(
      [&](s64 done, s64 total) { report_progress(stage.monitor, "check data", done, total); },
      stage.threads);
  check_inputs_change(input_infos(graph), data.summaries(), options);
  observe_samples(work, *feed_of(data, input_infos(graph)));
  into.inputs = data.summaries();
  into.profiles = fit_to_keep(data.profiles());
  into.handling = data.handling();
  into.data = options.data;
  into.preprocess = data.preprocess();
  for (const SkippedItem& item : data.skipped())
    into.skipped.push_back(item.name + ": " + item.reason);
  into.notes.insert(into.notes.begin(), data.notes().begin(), data.notes().end());
}

void check_given_once(const CalibrationOptions& options, const char* other) {
  if (options.data.empty()) return;
  fail(Error::Code::invalid_argument,
       "calibration data are given twice: as files in '{}' and as {}", options.data.string(),
       other);
}

// What the inputs looked like, of samples that can be read only once.
void judge_own(const Calibrating& work, const InputStatistics& statistics,
               const InputWatch& watch) {
  const CalibrationOptions& options = work.options;
  Calibration& into = work.into;
  into.inputs = statistics.summaries();
  into.profiles = fit_to_keep(watch.profiles());
  check_inputs_change(input_infos(work.graph()), into.inputs, options);
  const std::vector<std::string> doubts = statistics.doubts(options.raw_pixels);
  into.notes.insert(into.notes.begin(), doubts.begin(), doubts.end());
  if (into.samples == 0) {
    fail(Error::Code::invalid_argument,
         "the caller's calibration data end before the first sample");
  }
  into.preprocess = options.preprocess;
}

// The caller's own samples: each is checked as it comes.
void observe_own(const Calibrating& work) {
  check_given_once(work.options, "samples of the caller");
  const std::vector<TensorInfo> inputs = input_infos(work.graph());
  InputStatistics statistics(inputs);
  InputWatch watch(KnownInputs{inputs});
  const auto feed = feed_of(work.options.samples, inputs, &statistics, &watch);
  observe_samples(work, *feed);
  judge_own(work, statistics, watch);
}

// What was seen elsewhere.
void take_observation(const Calibrating& work) {
  check_given_once(work.options, "an observation");
  if (work.options.samples) {
    fail(Error::Code::invalid_argument,
         "calibration data are given twice: as samples of the caller and as an observation");
  }
  if (tries_samples(work.options)) {
    fail(Error::Code::unsupported,
         "the method 'auto' tries samples, and an observation keeps none; give another method");
  }
  if (work.options.try_layers) {
    fail(Error::Code::unsupported,
         "layers are to be tried on samples, and an observation keeps none; calibrate on data, or "
         "let what layers lose be estimated");
  }
  if (work.options.device != "cpu") {
    fail_about("CalibrationOptions.device", Error::Code::unsupported,
               "an observation was made on the CPU, and '{}' is to run the samples",
               work.options.device);
  }
  const SeenSamples& seen = seen_for(*work.options.observation, work.model, work.options);
  const std::vector<TensorInfo> inputs = input_infos(work.graph());
  InputStatistics statistics(inputs);
  InputWatch watch(KnownInputs{inputs});
  statistics.merge(seen.statistics);
  InputWatchParts::merge(watch, seen.watch);
  work.into.samples = seen.samples;
  work.into.data_hash = seen.data_hash.hex();
  work.into.observations = seen.values;
  work.bodies.seen = seen.bodies;
  judge_own(work, statistics, watch);
}

// Where the pass found weights that are codes and activations that are real.
bool made_weights_real(const std::vector<PassTrace>& passes) {
  return std::ranges::any_of(passes, [](const PassTrace& pass) {
    return pass.pass == "real_weights" && pass.rewrites > 0;
  });
}

constexpr const char* kRealWeights =
    "the model's Q/DQ nodes hold weights alone, and its activations are real: the engine is made "
    "from the real values of the weights, as without Q/DQ nodes, and INT8 takes calibration";

}  // namespace

CalibrationOptions with_found(CalibrationOptions options, const FloatModel& model) {
  if (options.preprocess || !model.found) return options;
  options.preprocess = model.found->preprocess;
  options.preprocess_from = model.found->from;
  options.prepared_arrays = true;
  return options;
}

FloatModel optimize(Graph graph, const RewriteOptions& rewrites, const Monitor& monitor) {
  auto tensors = std::make_shared<std::vector<std::string>>();
  for (ValueId id = 0; id < graph.value_count(); ++id) tensors->push_back(graph.value(id).name);
  auto operators = std::make_shared<std::unordered_map<std::string, std::string_view>>();
  for (const Node& node : graph.nodes) operators->emplace(node.name, node.op->name);
  FloatModel model;
  model.operators = std::move(operators);
  PassOptions options{rewrites.disabled_passes, rewrites.stop_after_rewrites};
  options.monitor = monitor;
  FoldingBudget folding(graph);
  options.folding = &folding;
  run_passes(graph, float_passes(), options, &model.passes);
  model.carries_qdq = has_coded_activations(graph);
  if (made_weights_real(model.passes)) model.notes.emplace_back(kRealWeights);
  for (std::string& note : plugin_notes(graph)) model.notes.push_back(std::move(note));
  model.tensors = std::move(tensors);
  model.weight_codes = std::make_shared<WeightCodes>();
  if (rewrites.stop_after_rewrites < 0)
    model.bodies = optimize_bodies(graph, options, model, model.notes);
  if (std::string note = folding.left_out(); !note.empty()) model.notes.push_back(std::move(note));
  model.graph = std::make_shared<const Graph>(std::move(graph));
  return model;
}

namespace {

bool has_seen(const TensorObservation& observation) {
  return std::ranges::any_of(observation.histogram.counts(), [](u64 count) { return count > 0; });
}

// Each body with what was seen in all of its rounds.
std::vector<FloatBody> observed_bodies(const Calibrating& work) {
  return changed_bodies(work.model, [&](FloatModel& body) {
    const auto at = std::ranges::find(work.bodies.values, body.graph.get(), &BodyValues::body);
    const auto index = static_cast<size_t>(at - work.bodies.values.begin());
    auto calibration = std::make_shared<Calibration>();
    calibration->samples = work.into.samples;
    for (size_t i = 0; i < at->values.size(); ++i) {
      TensorObservation& seen = work.bodies.seen[index][i];
      // A branch that no sample took has shown nothing.
      if (!has_seen(seen)) continue;
      calibration->values.push_back(at->values[i]);
      calibration->statistics.push_back(statistics_of(seen));
      calibration->observations.push_back(std::move(seen));
    }
    body.calibration = std::move(calibration);
    Ranges ranges = ranges_by_method(body, work.options, work.stage);
    body.ranges = std::make_shared<const Ranges>(std::move(ranges));
  });
}

FloatModel observed(const FloatModel& model, const CalibrationOptions& options,
                    const StageOptions& stage) {
  if (options.method) check_range_method(*options.method);
  for (const TensorMethod& entry : options.methods) check_range_method(entry.method);
  auto calibration = std::make_shared<Calibration>();
  calibration->equalize = options.equalize;
  // Before anything is read: it may be one that is not there.
  if (options.device != "cpu") calibration->device = device_info(options.device).chip;
  calibration->values = values_to_observe(*model.graph);
  BodyCalibration bodies{body_values(model), {}};
  const Calibrating work{model, options, stage, *calibration, bodies};
  if (options.observation != nullptr)
    take_observation(work);
  else
    (options.samples ? observe_own : observe_files)(work);
  std::string constant =
      constant_values(*model.graph, calibration->values, calibration->observations, options);
  if (!constant.empty()) calibration->notes.push_back(std::move(constant));
  if (options.equalize) equalize(model, options, *calibration, stage.threads);
  for (const TensorObservation& seen : calibration->observations)
    calibration->statistics.push_back(statistics_of(seen));
  FloatModel result = model;
  result.calibration = calibration;
  result.bodies = observed_bodies(work);
  result = with_ranges(result, ranges_by_method(result, options, stage));
  calibration->own_ranges = result.ranges;
  // By the same ranges whatever is asked for: a cache gives the engines of all methods that data give.
  if (options.try_layers) {
    const FloatModel by_entropy = with_method(result, RangeRule::entropy);
    calibration->losses = measure_losses(by_entropy, options, stage, calibration->notes);
  }
  return result;
}

// A cache of ours knows the preprocessing that its ranges belong to. It was told as the caller tells it now, or made to fit.
void check_cached_preprocess(const FloatModel& model, const CalibrationOptions& options,
                             const std::optional<Preprocess>& cached) {
  if (!options.preprocess || !cached) return;
  if (*cached == *options.preprocess || cached == model.preprocess) return;
  fail_about("CalibrationOptions.cache", Error::Code::invalid_argument,
             "{}: the cache was made with the preprocessing {}, and {} is asked for",
             options.cache->name, to_json(*cached), to_json(*options.preprocess));
}

// What nobody will know later.
void note_unknown_images(const FloatModel& model, const CalibrationOptions& options,
                         Calibration& into) {
  const Graph& graph = *model.graph;
  if (model.preprocess || into.preprocess || options.preprocess || graph.inputs.size() != 1) return;
  const Shape& shape = graph.value(graph.inputs[0]).type.shape;
  if (!options.cache->details.empty() || image_channel_axis(shape) < 0) return;
  into.notes.push_back(fmt::format(
      "{}: the cache does not say how images were prepared, nor do the options and the model: the "
      "engine does not know, and photos will be resized and divided by 255, which is a guess",
      options.cache->name));
}

FloatModel from_cache(const FloatModel& model, const CalibrationOptions& options,
                      const StageOptions& stage) {
  CachedCalibration cached = read_cache(model, *options.cache, options.cache_of_any_model);
  check_cached_preprocess(model, options, cached.calibration->preprocess);
  if (options.device != "cpu") {
    device_info(options.device);  // one that is not there is an error all the same
    cached.calibration->notes.push_back(
        fmt::format("{}: ranges come from the cache, so nothing is measured on {}",
                    options.cache->name, options.device));
  }
  note_unknown_images(model, options, *cached.calibration);
  if (options.try_layers && cached.calibration->losses.empty()) {
    cached.calibration->notes.push_back(fmt::format(
        "{}: the cache does not say what layers lose alone: which of them stay in f32 for accuracy "
        "is estimated, whatever time they may take; calibrate again to have it measured",
        options.cache->name));
  }
  fit_exponents(model, options, *cached.calibration, cached.ranges);
  cached.calibration->equalize = options.equalize;
  FloatModel result = model;
  result.calibration = std::move(cached.calibration);
  result.ranges = std::make_shared<const Ranges>(std::move(cached.ranges));
  return with_ranges(result, ranges_by_method(result, options, stage));
}

// Nothing but what is given by hand.
FloatModel unseen(const FloatModel& model) {
  FloatModel result = with_ranges(model, {});
  result.calibration = std::make_shared<const Calibration>();
  return result;
}

void check_one_source(const CalibrationOptions& options) {
  if (reads_data(options) && options.cache != nullptr) {
    fail_about("CalibrationOptions.cache", Error::Code::invalid_argument,
               "ranges are to come from data and from the cache '{}'; give one of them",
               options.cache->name);
  }
  if (!reads_data(options) && options.cache == nullptr && options.ranges.empty()) {
    fail_about("CompileOptions.calibration", Error::Code::invalid_argument,
               "INT8 needs calibration data, a calibration cache or ranges by hand");
  }
}

}  // namespace

FloatModel calibrate(const FloatModel& model, const CalibrationOptions& options,
                     const StageOptions& stage) {
  OCTET_CHECK(!model.carries_qdq);
  check_one_source(options);
  check_patterns(model, options);
  FloatModel result = reads_data(options)        ? observed(model, options, stage)
                      : options.cache != nullptr ? from_cache(model, options, stage)
                                                 : unseen(model);
  if (options.ranges.empty()) return result;
  Calibration told = *result.calibration;
  Ranges ranges = *result.ranges;
  apply_given(model, options.ranges, ranges, told.notes);
  result.bodies = changed_bodies(result, [&](FloatModel& body) {
    Ranges inside = body.ranges != nullptr ? *body.ranges : Ranges();
    apply_given(body, options.ranges, inside, told.notes);
    body.ranges = std::make_shared<const Ranges>(std::move(inside));
  });
  result.calibration = std::make_shared<const Calibration>(std::move(told));
  return with_ranges(result, std::move(ranges));
}

FloatModel with_method(const FloatModel& model, const RangeMethod& method) {
  OCTET_CHECK(model.calibration != nullptr);
  CalibrationOptions options;
  options.method = method;
  return with_ranges(model, ranges_by_method(model, options, {}));
}

FloatModel with_ranges(const FloatModel& model, Ranges ranges) {
  FloatModel ranged = model;
  ranged.ranges = std::make_shared<const Ranges>(std::move(ranges));
  return ranged;
}

namespace {

std::shared_ptr<const Ranges> assumed_ranges(const Graph& graph) {
  auto ranges = std::make_shared<Ranges>();
  for (ValueId id : values_to_observe(graph)) {
    (*ranges)[id] = {.tensor = graph.value(id).name, .min = -1, .max = 1, .threshold = 1};
  }
  return ranges;
}

}  // namespace

FloatModel with_assumed_ranges(const FloatModel& model) {
  FloatModel result = model;
  result.ranges = assumed_ranges(*model.graph);
  result.bodies =
      changed_bodies(model, [](FloatModel& body) { body.ranges = assumed_ranges(*body.graph); });
  return result;
}

}  // namespace octet
