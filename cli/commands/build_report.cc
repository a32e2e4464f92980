// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/build_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/flags/calibration_flags.h"
#include "cli/flags/engine_flags.h"
#include "cli/samples/input_summaries.h"
#include "cli/samples/random_inputs.h"
#include "cli/samples/sample_runs.h"
#include "cli/samples/samples.h"
#include "octet/profile.h"
#include "octet/report.h"

namespace octet::cli {
namespace {

// Enough to rank layers; the whole calibration set would double the time of a build.
constexpr int64_t kErrorSamples = 32;

std::vector<ValueError> layer_errors(const BuildReport& build, ProgressBar& progress) {
  if (!build.options.calibration) return {};
  PrecisionPlan real;
  real.simulate = true;
  const Engine reference = build.source.build(real);
  DataOptions data = *build.options.calibration;
  data.max_samples =
      data.max_samples == 0 ? kErrorSamples : std::min(data.max_samples, kErrorSamples);
  // As calibration had it.
  if (const auto& handling = build.report.handling; handling && handling->applied) {
    data.preprocess = handling->applied;
    data.preprocess_from = handling->from;
  }
  Samples samples(build.engine, data, &progress);
  const auto next = run_source(build.engine, samples, [&](int64_t done) {
    progress.update({"compare", done, samples.size()});
  });
  auto errors =
      compare(reference, build.engine, next, {.threads = build.options.threads, .monitor = {}});
  progress.finish();
  return errors;
}

// On random data; none where the engine does not run on such.
std::vector<LayerTime> layer_times(const BuildReport& build) {
  ProfileOptions options;
  options.threads = build.options.threads;
  options.runs = 20;
  try {
    return profile(build.engine, random_inputs(build.engine, assumed_shapes(build.engine), 0),
                   options);
  } catch (const Error& error) {
    if (error.code() == Error::Code::internal) throw;
    return {};
  }
}

std::vector<std::pair<std::string, std::string>> summary_of(const BuildReport& build) {
  std::vector<std::pair<std::string, std::string>> summary;
  summary.emplace_back("model", build.model.filename().string());
  if (build.report.calibration_samples > 0) {
    summary.emplace_back("calibration",
                         fmt::format("{} samples, {}, {} skipped", build.report.calibration_samples,
                                     methods_of(build.report), build.report.calibration_skipped));
  }
  for (const InputSummary& input : build.report.inputs)
    summary.emplace_back("input " + input.input, summary_text(input));
  if (const auto preprocess = build.engine.preprocess()) {
    summary.emplace_back("preprocessing", to_json(*preprocess));
  }
  for (const std::string& line : build.not_finite) summary.emplace_back("not finite", line);
  summary.insert(summary.end(), build.more.begin(), build.more.end());
  summary.emplace_back("kernels for", build.inspection.isa);
  return summary;
}

}  // namespace

void write_build_report(const BuildReport& build, ProgressBar& progress) {
  const std::vector<ValueError> errors = layer_errors(build, progress);
  const std::vector<LayerTime> times = layer_times(build);
  const ReportInput page = {build.model.filename().string(),
                            summary_of(build),
                            build.inspection,
                            build.report.ranges,
                            errors,
                            times,
                            build.stages,
                            build.outputs,
                            "the model in FP32"};
  write(build.file, page);
}

}  // namespace octet::cli
