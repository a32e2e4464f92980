// SPDX-License-Identifier: Apache-2.0
#include "model_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "failure.h"
#include "octet/calibration_cache.h"
#include "octet/compile.h"

namespace octet::triton {
namespace {

constexpr const char* kEngineFile = "model.octet";
constexpr const char* kOnnxFile = "model.onnx";

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// A configuration may come with a request to load a model, and names no files of others.
std::filesystem::path inside(const std::filesystem::path& folder, const char* what,
                             const std::filesystem::path& named) {
  if (named.is_absolute() || std::ranges::find(named, "..") != named.end())
    throw Error(
        Error::Code::invalid_argument,
        fmt::format("{} is '{}', expected a file in the version's folder", what, named.string()));
  return folder / named;
}

std::filesystem::path model_file(const std::filesystem::path& folder, const std::string& named) {
  // The server itself names model.octet where there is no configuration.
  if (!named.empty() && (named != kEngineFile || is_there(folder / named)))
    return inside(folder, "default_model_filename", named);
  for (const char* name : {kEngineFile, kOnnxFile}) {
    if (is_there(folder / name)) return folder / name;
  }
  throw Error(Error::Code::io,
              fmt::format("{} has neither {} nor {}", folder.string(), kEngineFile, kOnnxFile));
}

CompileOptions options_for(const std::filesystem::path& cache, const ModelSettings& settings,
                           int threads) {
  CompileOptions options;
  options.threads = threads;
  options.plan.fastest = settings.precision == "fastest";
  if (settings.precision == "f32") return options;
  options.plan.int8 = settings.precision == "int8";
  if (!is_there(cache)) return options;
  options.plan.int8 = true;
  options.calibration.emplace();
  options.calibration->cache = std::make_shared<CalibrationCache>(load_calibration_cache(cache));
  return options;
}

// INT8 of a model without scales of its own and without a cache.
[[noreturn]] void refuse_without_cache(const std::filesystem::path& model,
                                       const std::filesystem::path& cache) {
  throw Error(
      Error::Code::invalid_argument,
      fmt::format("{} carries no Q/DQ nodes, and there is no calibration cache {}: make one "
                  "(octet build {} --int8 --calib DATA --calib-cache {}), put model.octet in its "
                  "place, or set parameter 'precision' to f32 or fastest",
                  model.string(), cache.string(), model.filename().string(),
                  cache.filename().string()));
}

Engine compiled(const std::filesystem::path& model, const ModelSettings& settings, int threads) {
  const std::filesystem::path cache =
      inside(model.parent_path(), "parameter 'calibration_cache'", settings.calibration_cache);
  const CompileOptions options = options_for(cache, settings, threads);
  CompileReport report;
  try {
    Engine engine = compile(model, options, &report);
    for (const std::string& warning : report.warnings)
      log(TRITONSERVER_LOG_WARN, fmt::format("{}: {}", model.string(), warning));
    return engine;
  } catch (const Error& error) {
    if (error.field() == "CompileOptions.calibration") refuse_without_cache(model, cache);
    throw;
  }
}

}  // namespace

Engine load_engine(const std::filesystem::path& folder, const std::string& named,
                   const ModelSettings& settings, int threads) {
  const std::filesystem::path file = model_file(folder, named);
  if (file.extension() == ".onnx") return compiled(file, settings, threads);
  return Engine::load(file);
}

}  // namespace octet::triton
