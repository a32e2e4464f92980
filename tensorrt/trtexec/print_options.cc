// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/print_options.h"

#include "tensorrt/trtexec/log.h"

namespace octet::cli::trtexec {
namespace {

std::string enabled(bool yes) { return yes ? "Enabled" : "Disabled"; }

std::string nothing(const Options&) { return ""; }
std::string format_text(const Options& options) { return options.onnx.empty() ? "*" : "ONNX"; }
std::string model_text(const Options& options) { return options.onnx; }
std::string explicit_batch(const Options&) { return "explicit batch"; }

// Of "--memPoolSize=workspace:1G" in `unit` bytes; "default" where the pool is not named.
std::string pool_text(const Options& options, std::string_view pool, double unit,
                      const char* name) {
  std::string text = "default";
  if (pool == "workspace" && options.has("--workspace"))
    text = options.given.text("--workspace") + " " + name;
  for (const std::string& entry : options.given.list("--memPoolSize")) {
    const auto [key, size] = name_and_value(entry);
    if (key == pool) text = number(parse_size(size) / unit) + " " + name;
  }
  return text;
}

std::string memory_pools(const Options& options) {
  constexpr double kMiB = 1 << 20;
  std::string text;
  for (const char* pool : {"workspace", "dlaSRAM", "dlaLocalDRAM", "dlaGlobalDRAM"})
    text += fmt::format("{}: {}, ", pool, pool_text(options, pool, kMiB, "MiB"));
  if (options.version.old) return text.substr(0, text.size() - 2);
  return text + "tacticSharedMem: " + pool_text(options, "tacticSharedMem", 1024, "KiB");
}

std::string precision_text(const Options& options) {
  if (options.strongly_typed) return "Strongly Typed";
  const bool best = options.has("--best");
  std::string text = "FP32";
  if (best || options.has("--fp16")) text += "+FP16";
  if (!options.version.old && (best || options.has("--bf16"))) text += "+BF16";
  if (options.int8) text += "+INT8";
  if (options.has("--fp8")) text += "+FP8";
  if (options.has("--int4")) text += "+INT4";
  const std::string constraints = options.given.text("--precisionConstraints", "none");
  if (constraints != "none" && !constraints.empty())
    text += fmt::format(" ({} precision constraints)", constraints);
  return text;
}

std::string calibration_text(const Options& options) {
  if (options.has("--calib")) return options.given.text("--calib");
  if (options.has("--calibData")) return options.given.text("--calibData");
  return options.int8 ? "Dynamic" : "";
}

std::string refit_text(const Options& options) {
  return enabled(options.has("--refit") || options.has("--stripAllWeights"));
}
std::string strip_text(const Options& options) {
  return enabled(options.has("--stripWeights") || options.has("--stripAllWeights") ||
                 options.has("--weightless"));
}
std::string version_compatible(const Options& options) {
  return enabled(options.has("--versionCompatible") || options.has("--vc"));
}
std::string instance_norm(const Options& options) {
  return enabled(options.has("--pluginInstanceNorm") || options.has("--pi"));
}

std::string tempfile_controls(const Options& options) {
  std::string memory = "allow", temporary = "allow";
  for (const std::string& entry : options.given.list("--tempfileControls")) {
    const auto [key, value] = name_and_value(entry);
    (key == "in_memory" ? memory : temporary) = value;
  }
  return fmt::format("{{ in_memory: {}, temporary: {} }}", memory, temporary);
}

std::string sparsity_text(const Options& options) {
  const std::string mode = options.given.text("--sparsity");
  if (mode == "force") return "Forced";
  return enabled(mode == "enable");
}

std::string skip_text(const Options& options) { return enabled(options.skip_inference); }
std::string verbosity_text(const Options& options) {
  return std::to_string(static_cast<int>(options.verbosity));
}

// "CUBLAS [ON], CUDNN [OFF], "
std::string signed_list(const Options& options, std::string_view flag, const char* absent) {
  std::string text;
  for (const std::string& entry : options.given.list(flag))
    text += fmt::format("{} [{}], ", entry.substr(1), entry[0] == '+' ? "ON" : "OFF");
  return text.empty() ? absent : text;
}
std::string tactic_sources(const Options& options) {
  return signed_list(options, "--tacticSources", "Using default tactic sources");
}
std::string preview_features(const Options& options) {
  return signed_list(options, "--preview", "Use default preview flags.");
}

std::string cache_mode(const Options& options) {
  if (options.has("--noBuilderCache")) return "disable";
  return options.given.text("--timingCacheFile").empty() ? "local" : "global";
}
std::string compilation_cache(const Options& options) {
  return enabled(!options.has("--noCompilationCache"));
}
std::string runtime_platform(const Options& options) {
  return options.given.text("--runtimePlatform") == "WindowsAMD64" ? "Windows AMD64"
                                                                   : "Same As Build";
}

std::string listed(const Options& options, std::string_view flag) {
  std::string text;
  for (const std::string& value : options.given.values(flag)) text += " " + value;
  return text;
}
std::string static_plugins(const Options& options) {
  return listed(options, "--plugins") + listed(options, "--staticPlugins");
}
std::string serialized_plugins(const Options& options) {
  return listed(options, "--setPluginsToSerialize");
}
std::string dynamic_plugins(const Options& options) { return listed(options, "--dynamicPlugins"); }
std::string ignore_plugins(const Options& options) {
  return options.has("--ignoreParsedPluginLibs") ? "1" : "0";
}

std::string iterations_text(const Options& options) { return std::to_string(options.iterations); }
std::string duration_text(const Options& options) {
  return fmt::format("{}s (+ {}ms warm up)", number(options.duration_s),
                     number(options.warm_up_ms));
}
std::string sleep_text(const Options& options) { return number(options.sleep_ms) + "ms"; }
std::string idle_text(const Options& options) { return number(options.idle_ms) + "ms"; }
std::string streams_text(const Options& options) { return std::to_string(options.streams); }
std::string transfers_text(const Options& options) {
  return enabled(!options.has("--noDataTransfers"));
}
std::string streaming_budget(const Options& options) {
  const std::string text = options.given.text("--weightStreamingBudget", "-2");
  if (text == "-2") return "100.000000%";
  if (text == "-1") return "Automatic";
  return text.ends_with('%') ? text : text + " bytes";
}

std::string averages_text(const Options& options) {
  return fmt::format("{} inferences", options.average_runs);
}
std::string percentiles_text(const Options& options) {
  std::string text;
  for (const double value : options.percentiles) text += (text.empty() ? "" : ",") + number(value);
  return text;
}

enum class Block { model, build, system, inference_head, inference, reporting };
enum class Versions { both, old, recent };

struct Line {
  Block block;
  Versions versions;
  std::string_view key;
  std::string_view flag;         // empty: `text` makes the value
  const char* absent = nullptr;  // null: a switch
  std::string (*text)(const Options&) = nullptr;
};

constexpr Line kLines[] = {
#define SWITCH(block, versions, key, flag) {Block::block, Versions::versions, key, flag},
#define VALUE(block, versions, key, flag, absent) \
  {Block::block, Versions::versions, key, flag, absent},
#define TEXT(block, versions, key, function) \
  {Block::block, Versions::versions, key, "", nullptr, function},
#include "tensorrt/trtexec/option_lines.def"
#undef TEXT
#undef VALUE
#undef SWITCH
};

std::string value_of(const Line& line, const Options& options) {
  if (line.text != nullptr) return line.text(options);
  if (line.absent == nullptr) return enabled(options.has(line.flag));
  return options.given.text(line.flag, line.absent);
}

void print_block(Block block, const Options& options) {
  const Versions mine = options.version.old ? Versions::old : Versions::recent;
  for (const Line& line : kLines) {
    if (line.block == block && (line.versions == Versions::both || line.versions == mine))
      info("{}{}", line.key, value_of(line, options));
  }
}

void print_formats(const Options& options, std::string_view flag, const char* direction) {
  const std::vector<std::string> formats = options.given.list(flag);
  if (formats.empty()) info("{}s format: fp32:CHW", direction);
  for (const std::string& format : formats) info("{}: {}", direction, format);
}

std::string range_text(const ShapeRange& range) {
  return dims_text(range.min) + "+" + dims_text(range.opt) + "+" + dims_text(range.max);
}

// 10.x leaves the place of a profile's number empty.
const char* gap(const Options& options) { return options.version.old ? "" : " "; }

void print_profiles(const Options& options) {
  for (size_t i = 0; i < options.profiles.size(); ++i) {
    if (options.profiles[i].empty()) info("Input build shapes: model");
    const std::string which = options.version.old ? "" : fmt::format(" (profile {})", i);
    for (const auto& [name, range] : options.profiles[i])
      info("Input build shape{}: {}={}", which, name, range_text(range));
  }
  if (options.calibration_shapes.empty()) info("Input calibration shapes: model");
  for (const auto& [name, range] : options.calibration_shapes)
    info("Input calibration shape{}: {}={}", gap(options), name, range_text(range));
}

void print_inference(const Options& options) {
  info("=== Inference Options ===");
  print_block(Block::inference_head, options);
  if (options.shapes.empty()) info("Input inference shapes: model");
  for (const auto& [name, shape] : options.shapes)
    info("Input inference shape{}: {}={}", gap(options), name, dims_text(shape));
  print_block(Block::inference, options);
  info("Inputs:");
  for (const auto& [name, file] : options.inputs) info("{}<-{}", name, file);
  if (options.version.old) return;
  info("Debug Tensor Save Destinations:");
  for (const std::string& entry : options.given.list("--saveDebugTensors")) info("{}", entry);
  info("Dump All Debug Tensor in Formats: ");
  for (const std::string& entry : options.given.list("--saveAllDebugTensors")) info("{}", entry);
}

}  // namespace

void print_options(const Options& options) {
  info("=== Model Options ===");
  print_block(Block::model, options);
  if (options.load.empty() || options.version.old) {
    info("=== Build Options ===");
    print_block(Block::build, options);
    print_formats(options, "--inputIOFormats", "Input(s)");
    print_formats(options, "--outputIOFormats", "Output(s)");
    print_profiles(options);
  } else {
    info("");
  }
  info("=== System Options ===");
  print_block(Block::system, options);
  info("");
  print_inference(options);
  info("=== Reporting Options ===");
  print_block(Block::reporting, options);
  info("");
}

}  // namespace octet::cli::trtexec
