// SPDX-License-Identifier: Apache-2.0
#include "build.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model_text.h"
#include "octet/calibration_cache.h"
#include "octet/input.h"
#include "octet/inspect.h"
#include "octet/output.h"

namespace octet_ort {
namespace {

using octet::CompileOptions;
using octet::Error;

bool carries_codes(const Graph& graph, const Part& part) {
  const std::vector<size_t> nodes = part.engine_nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](size_t i) {
    const std::string& op = graph.nodes[i].op;
    return op == "QuantizeLinear" || op == "DequantizeLinear" || op.starts_with("QLinear") ||
           op.ends_with("Integer");
  });
}

bool is_file(const std::filesystem::path& path) {
  std::error_code problem;
  return std::filesystem::is_regular_file(path, problem);
}

// The same names, whatever their order: then a run of the whole model is a run of the part.
bool same_border(const octet::Engine& engine, const Part& part) {
  const auto same = [](std::vector<std::string> names,
                       const std::vector<octet::TensorInfo>& infos) {
    std::vector<std::string> others;
    for (const octet::TensorInfo& info : infos) others.push_back(info.name);
    std::sort(names.begin(), names.end());
    std::sort(others.begin(), others.end());
    return names == others;
  };
  return same(part.inputs, engine.inputs()) && same(part.outputs, engine.outputs());
}

}  // namespace

std::filesystem::path cache_of(const Options& options, size_t ordinal) {
  std::filesystem::path path = options.cache;
  if (!path.empty() && ordinal > 0) path += "." + std::to_string(ordinal + 1);
  return path;
}

bool PartBuilder::takes_file(const Graph& graph, const Part& part) const {
  if (!options_.from_file || part.nodes.size() != graph.nodes.size() || !is_file(graph.path)) {
    return false;
  }
  constexpr uint64_t most = uint64_t{1} << 31;
  try {
    const std::string name = different_constant(host_, graph, octet::read_text(graph.path, most));
    if (name.empty()) return true;
    log_.write(kInfo, "constant '" + name + "' is not in " + graph.path.string() +
                          " as the session has it: the engine is built of the session's graph");
  } catch (const Error&) {
    // No ONNX file: the session's own form, perhaps.
  }
  return false;
}

octet::SourceModel PartBuilder::read(const Graph& graph, const Part& part, size_t ordinal,
                                     bool of_file, const CompileOptions& options) const {
  if (of_file) return octet::SourceModel::read(graph.path, options);
  const std::vector<std::byte> model = model_of(host_, graph, part);
  if (!options_.save_models.empty()) {
    octet::write_bytes(model, options_.save_models / ("part" + std::to_string(ordinal) + ".onnx"));
  }
  return octet::SourceModel::read(model, options);
}

std::shared_ptr<Built> PartBuilder::build(const Graph& graph, const Part& part,
                                          size_t ordinal) const {
  CompileOptions options;
  options.threads = std::max(1, options_.threads / 2);
  const std::filesystem::path cache = cache_of(options_, ordinal);
  const bool codes = carries_codes(graph, part);
  const bool cached = !codes && is_file(cache);
  std::shared_ptr<Observation> observation;
  std::stop_source stop(std::nostopstate);
  if (cached || (!codes && options_.observe > 0)) {
    options.calibration.emplace();
    options.calibration->equalize = options_.equalize;
    options.calibration->try_layers = options_.accuracy_time.has_value();
  }
  if (cached) {
    options.calibration->cache =
        std::make_shared<const octet::CalibrationCache>(octet::load_calibration_cache(cache));
    options.calibration->cache_of_any_model = options_.cache_of_any_model;
  } else if (!codes && options_.observe > 0) {
    stop = std::stop_source();
    observation = std::make_shared<Observation>(options_.observe, options_.observe_bytes);
    options.calibration->samples = observation->samples();
    options.calibration->make_cache = true;
    options.monitor.stop = stop.get_token();
  }
  octet::PrecisionPlan plan;
  plan.int8 = cached;
  if (cached) plan.accuracy_time = options_.accuracy_time;
  options.plan = plan;
  bool of_file = takes_file(graph, part);
  auto source = read(graph, part, ordinal, of_file, options);
  auto engine = source.build(plan);
  if (of_file && !same_border(engine, part)) {
    of_file = false;
    source = read(graph, part, ordinal, of_file, options);
    engine = source.build(plan);
  }
  auto built = std::make_shared<Built>(Built{engine, source, observation, cache, stop});
  built->of_file = of_file;
  built->accuracy_time = options_.accuracy_time;
  judge(*built);
  return built;
}

void PartBuilder::judge(Built& built) const {
  try {
    octet::InspectOptions options;
    options.threads = options_.threads;
    options.device = options_.device;
    const octet::Coverage coverage = octet::inspect(built.engine, options).coverage;
    built.has_multiplications = coverage.macs > 0;
    built.int8_share = coverage.mac_share();
  } catch (const Error&) {
    // Of open sizes that nobody can guess.
    built.int8_share = std::numeric_limits<double>::quiet_NaN();
  }
}

}  // namespace octet_ort
