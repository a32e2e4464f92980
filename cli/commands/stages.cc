// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <list>

#include "cli/flags/engine_flags.h"
#include "cli/output/terminal.h"
#include "cli/samples/random_inputs.h"
#include "cli/samples/sample_runs.h"
#include "cli/samples/samples.h"
#include "octet/profile.h"

namespace octet::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_from(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Variant {
  const char* name;
  void (*choose)(PrecisionPlan& plan);
};

constexpr Variant kVariants[] = {
    {"FP32", [](PrecisionPlan& plan) { plan.int8 = false; }},
    {"FP16",
     [](PrecisionPlan& plan) {
       plan.int8 = false;
       plan.f16 = true;
     }},
    {"BF16",
     [](PrecisionPlan& plan) {
       plan.int8 = false;
       plan.bf16 = true;
     }},
    {"INT8", [](PrecisionPlan& plan) { plan.int8 = true; }},
};

Stage build(const SourceModel& source, const StageFlags& flags, const Variant& variant,
            ProgressBar& progress) {
  Stage stage;
  stage.name = variant.name;
  const auto start = Clock::now();
  try {
    PrecisionPlan plan = flags.compile.plan;
    variant.choose(plan);
    stage.engine = std::make_shared<const Engine>(source.build(plan, &stage.report));
  } catch (const Error& error) {
    // FP32 is what the others are held against.
    const bool first = variant.name == kVariants[0].name;
    if (first || error.code() != Error::Code::invalid_argument) throw;
    stage.missing = error.message();
    return stage;
  }
  stage.build_seconds = seconds_from(start);
  stage.bytes = stage.engine->to_bytes().size();
  progress.finish();
  return stage;
}

// Median time of one run with a batch of one, after one run that warms up.
double median_latency(const Engine& engine, const std::vector<Shape>& shapes, int threads,
                      double seconds) {
  Context context = engine.make_context({.threads = threads});
  const std::vector<Tensor> inputs = random_inputs(engine, shapes, 0);
  context.run(inputs);
  std::vector<double> times;
  const auto start = Clock::now();
  while (times.size() < 3 || (seconds_from(start) < seconds && times.size() < 10'000)) {
    const auto begin = Clock::now();
    context.run(inputs);
    times.push_back(seconds_from(begin) * 1e3);
  }
  std::ranges::nth_element(times, times.begin() + static_cast<ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

void time(const StageFlags& flags, Stage& stage, ProgressBar& progress) {
  progress.update({"time " + stage.name, 0, 0});
  InspectOptions options;
  options.threads = flags.compile.threads;
  options.input_shapes = concrete_shapes(*stage.engine, flags.compile.input_shapes, 1);
  stage.inspection = inspect(*stage.engine, options);
  measure_coverage(*stage.engine, options, stage.inspection);
  stage.latency_ms =
      median_latency(*stage.engine, options.input_shapes, options.threads, flags.seconds);
  progress.finish();
}

// All stages on each sample, in one reading of the data.
void judge(const StageFlags& flags, std::vector<Stage*>& stages, ProgressBar& progress) {
  const Engine& reference = *stages[0]->engine;
  // The last knows what calibration saw, and how photos are prepared where nobody said so here.
  const Engine& last = *stages.back()->engine;
  DataOptions data = flags.data;
  const std::optional<DataHandling>& handling = stages.back()->report.handling;
  if (!data.preprocess && last.preprocess()) {
    data.preprocess = last.preprocess();
    data.preprocess_from = handling && handling->photos ? handling->from : "the engine";
  }
  Samples samples(last, data);
  for (const std::string& warning : samples.checks().warnings()) print_warning(warning);
  std::vector<Context> contexts;
  for (const Stage* stage : stages)
    contexts.push_back(stage->engine->make_context({.threads = flags.compile.threads}));
  std::vector<Runner> runners;
  for (Context& context : contexts) runners.push_back(runner_of(context));
  std::list<NanWatch> watches;
  for (const Stage* stage : stages)
    watches.emplace_back(*stage->engine, TraceOptions{.threads = flags.compile.threads},
                         stage->name);
  OutputComparer comparer(tensor_names(reference.outputs()));
  int64_t done = 0;
  run_samples(reference, samples, runners, [&](const LoadedSample& sample, auto outputs) {
    comparer.add(sample.name, outputs[0], outputs.back());
    for (size_t i = 0; NanWatch & watch : watches)
      watch.look_at(sample.name, sample.inputs, outputs[i++]);
    for (size_t i = 0; i < stages.size(); ++i)
      stages[i]->counts->add(sample, outputs[i], &outputs[0]);
    progress.update({"evaluate", ++done, samples.size()});
  });
  progress.finish();
  for (size_t i = 0; const NanWatch& watch : watches) stages[i++]->nan = watch.report();
  stages.back()->outputs = comparer.outputs();
}

}  // namespace

SourceModel stage_source(const StageFlags& flags, ProgressBar& progress) {
  CompileOptions options = flags.compile;
  options.monitor.report = [&progress](const Progress& now) {
    progress.update(now);
    return true;
  };
  return SourceModel::read(flags.model, options);
}

std::vector<Stage> run_stages(const SourceModel& source, const StageFlags& flags,
                              ProgressBar& progress) {
  std::vector<Stage> stages;
  for (const Variant& variant : kVariants)
    stages.push_back(build(source, flags, variant, progress));
  std::vector<Stage*> there;
  for (Stage& stage : stages) {
    if (!stage.missing.empty()) continue;
    time(flags, stage, progress);
    stage.counts =
        std::make_unique<Counts>(stage.engine->outputs(), flags.scores, flags.label_offset);
    there.push_back(&stage);
  }
  if (!flags.data.data.empty()) judge(flags, there, progress);
  return stages;
}

std::vector<StageRow> stage_rows(const std::vector<Stage>& stages) {
  std::vector<StageRow> rows;
  for (const Stage& stage : stages) {
    StageRow row;
    row.name = stage.name;
    row.missing = stage.missing;
    if (stage.missing.empty()) {
      const Counts& counts = *stage.counts;
      row.samples = counts.samples();
      if (counts.labelled() > 0) row.top1 = counts.top1();
      if (counts.has_scores() && counts.samples() > 0) row.agreement = counts.agreement();
      if (counts.samples() > 0) row.sqnr_db = counts.errors().stats().sqnr_db();
      row.latency_ms = stage.latency_ms;
      row.bytes = static_cast<int64_t>(stage.bytes);
      row.coverage = stage.inspection.coverage;
      row.build_seconds = stage.build_seconds;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace octet::cli
