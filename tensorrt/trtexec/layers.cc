// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/layers.h"

#include <algorithm>

#include "octet/profile.h"
#include "tensorrt/trtexec/log.h"

namespace octet::cli::trtexec {
namespace {

std::vector<Shape> ends_of(const std::vector<TensorInfo>& inputs, const ShapeRanges& ranges,
                           Shape ShapeRange::*end, const std::vector<Shape>& otherwise) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ShapeRange* found = entry_for(ranges, inputs[i].name);
    shapes.push_back(found == nullptr ? otherwise[i] : found->*end);
  }
  return shapes;
}

// The profile that inference uses comes first; it is the one whose names have no suffix.
std::vector<InspectorProfile> profiles_of(const Options& options, const Engine& engine,
                                          const std::vector<Shape>& shapes) {
  InspectorProfile profile;
  profile.opt = shapes;
  if (options.profile < options.profiles.size()) {
    const ShapeRanges& ranges = options.profiles[options.profile];
    profile.min = ends_of(engine.inputs(), ranges, &ShapeRange::min, shapes);
    profile.max = ends_of(engine.inputs(), ranges, &ShapeRange::max, shapes);
  }
  return {profile};
}

InspectorOptions inspector_options(const Options& options, const Engine& engine,
                                   const std::vector<Shape>& shapes) {
  InspectorOptions asked;
  asked.profiles = profiles_of(options, engine, shapes);
  asked.verbosity = options.verbosity;
  asked.schema = options.schema;
  asked.threads = std::max(options.threads, 1);
  asked.device = options.device;
  return asked;
}

void report_information(const Options& options, const Files& files,
                        const EngineInspector& inspector) {
  if (options.has("--dumpLayerInfo")) {
    log_info("Layer Information:");
    std::string text = inspector.engine_information(InspectorFormat::oneline);
    if (text.ends_with('\n')) text.pop_back();
    log_info(text);
  }
  if (files.layers().given())
    write_lines(files.layers(), inspector.engine_information(InspectorFormat::json));
}

// What a profile leaves out has the sizes that run.
void report_profiles(const Options& options, const Engine& engine,
                     const std::vector<Shape>& shapes) {
  if (!options.has("--dumpOptimizationProfile")) return;
  log_info("Optimization Profile Information:");
  for (size_t p = 0; p < options.profiles.size(); ++p) {
    const std::vector<TensorInfo> inputs = engine.inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ShapeRange* found = entry_for(options.profiles[p], inputs[i].name);
      const ShapeRange range =
          found == nullptr ? ShapeRange{shapes[i], shapes[i], shapes[i]} : *found;
      info("Model input {} (profile {}): min={}, opt={}, max={}", inputs[i].name, p,
           dims_text(range.min), dims_text(range.opt), dims_text(range.max));
    }
  }
}

}  // namespace

Layers::Layers(const Options& options, const Subject& subject)
    : subject_(subject), inspector_([&] {
        InspectorOptions asked = inspector_options(options, subject.engine, subject.shapes);
        asked.threads = subject.threads;
        asked.tuning = subject.tuning;
        return EngineInspector(subject.engine, asked);
      }()) {}

void Layers::report(const Options& options, const Files& files) const {
  report_information(options, files, inspector_);
  report_profiles(options, subject_.engine, subject_.shapes);
}

std::vector<LayerTimes> Layers::profile(const Options& options, const Subject& subject) const {
  ProfileOptions asked;
  asked.threads = subject.threads;
  asked.tuning = subject.tuning;
  asked.device = options.device;
  asked.runs = std::max<int64_t>(1, options.iterations);
  asked.seconds = std::max(0.0, options.duration_s);
  const std::vector<LayerTime> measured = octet::profile(subject.engine, subject.inputs, asked);
  // Where data tell sizes, more layers run than a plan can show.
  const bool same = measured.size() == inspector_.layer_count();
  std::vector<LayerTimes> times;
  for (size_t i = 0; i < measured.size(); ++i) {
    if (same && inspector_.layer_type(i) == "NoOp") continue;
    LayerTimes& layer = times.emplace_back();
    layer.name = same ? inspector_.layer_name(i) : measured[i].layer.name;
    for (const double microseconds : measured[i].run_microseconds)
      layer.ms.push_back(static_cast<float>(microseconds / 1000));
  }
  return times;
}

void report_profile(const Options& options, const Files& files,
                    const std::vector<LayerTimes>& times) {
  if (options.has("--dumpProfile")) {
    for (const std::string& line : profile_table(times)) log_info(line);
  }
  if (files.profile().given()) write_lines(files.profile(), profile_json(times));
}

void report_layers_without_context(const Options& options, const Files& files, const Engine& engine,
                                   const std::vector<Shape>& shapes) {
  InspectorOptions asked = inspector_options(options, engine, shapes);
  asked.has_context = false;
  if (options.has("--dumpLayerInfo") || files.layers().given())
    report_information(options, files, EngineInspector(engine, asked));
  report_profiles(options, engine, shapes);
}

}  // namespace octet::cli::trtexec
