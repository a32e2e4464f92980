// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/options.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "cli/fail.h"
#include "octet/error.h"
#include "octet/machine.h"
#include "tensorrt/trtexec/flags.h"
#include "tensorrt/trtexec/log.h"

namespace octet::cli::trtexec {
namespace {

constexpr int64_t kMany = std::numeric_limits<int32_t>::max();

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Error::Code::invalid_argument, message);
}

// Values of flags that have a fixed set of them; `what` begins trtexec's message.
struct Choices {
  std::string_view flag;
  std::string_view what;
  std::vector<std::string_view> values;
};

void check_choices(const Arguments& given) {
  static const std::vector<Choices> kChoices = {
      {"--sparsity", "Unknown sparsity mode: ", {"disable", "enable", "force"}},
      {"--useRuntime", "Unknown useRuntime: ", {"full", "lean", "dispatch", ""}},
      {"--allocationStrategy",
       "Unknown allocationStrategy: ",
       {"static", "profile", "runtime", ""}},
      {"--runtimePlatform", "Unknown runtime platform: ", {"SameAsBuild", "WindowsAMD64", ""}},
      {"--precisionConstraints", "Unknown precision constraints: ", {"none", "prefer", "obey", ""}},
  };
  for (const Choices& choices : kChoices) {
    if (!given.has(choices.flag)) continue;
    const std::string value = given.text(choices.flag);
    if (std::ranges::find(choices.values, value) == choices.values.end())
      refuse(std::string(choices.what) + value);
  }
}

void check_signed_list(const Arguments& given, std::string_view flag, const char* what) {
  for (const std::string& entry : given.list(flag)) {
    if (!entry.starts_with('+') && !entry.starts_with('-'))
      fail(Error::Code::invalid_argument,
           "{} must be prefixed with + or -, indicating whether it should be enabled or disabled "
           "respectively.",
           what);
  }
}

void check_memory_pools(const Arguments& given) {
  constexpr std::string_view kPools[] = {"workspace", "dlaSRAM", "dlaLocalDRAM", "dlaGlobalDRAM",
                                         "tacticSharedMem"};
  for (const std::string& entry : given.list("--memPoolSize")) {
    const auto [pool, size] = name_and_value(entry);
    parse_size(size);
    if (std::ranges::find(kPools, pool) == std::end(kPools)) refuse("Unknown memory pool: " + pool);
  }
}

void check_tempfile_controls(const Arguments& given) {
  for (const std::string& entry : given.list("--tempfileControls")) {
    const auto [key, value] = name_and_value(entry);
    if (value != "allow" && value != "deny")
      refuse("--tempfileControls value should be `deny` or `allow`");
    if (key != "in_memory" && key != "temporary") refuse("Unknown --tempfileControls key " + key);
  }
}

void check_io_format(const std::string& entry) {
  constexpr std::string_view kTypes[] = {"fp32",  "fp16",  "bf16", "int8",  "fp8",
                                         "int32", "int64", "bool", "uint8", "int4"};
  constexpr std::string_view kFormats[] = {"chw",        "chw2",  "chw4",    "hwc8", "chw16",
                                           "chw32",      "dhwc8", "cdhw32",  "hwc",  "dhwc",
                                           "dla_linear", "hwc16", "dla_hwc4"};
  const size_t colon = entry.find(':');
  if (colon == entry.npos) refuse("Invalid IOFormat " + entry);
  const std::string type = entry.substr(0, colon);
  if (std::ranges::find(kTypes, type) == std::end(kTypes)) refuse("Invalid DataType " + type);
  for (const std::string& format : split(std::string_view(entry).substr(colon + 1), '+')) {
    if (std::ranges::find(kFormats, format) == std::end(kFormats))
      refuse("Invalid TensorFormat " + format);
  }
}

void check_io_formats(const Arguments& given) {
  for (const char* flag : {"--inputIOFormats", "--outputIOFormats"}) {
    for (const std::string& entry : given.list(flag)) check_io_format(entry);
  }
}

// What trtexec refuses in flags that have no effect here, too.
void check_values(const Arguments& given) {
  check_choices(given);
  check_signed_list(given, "--tacticSources", "Tactic source");
  check_signed_list(given, "--preview", "Preview features");
  check_memory_pools(given);
  check_tempfile_controls(given);
  check_io_formats(given);
  if (given.has("--weightStreamingBudget") && !given.has("--allowWeightStreaming"))
    refuse("The weight streaming budget can only be set with --allowWeightStreaming specified.");
  if (given.has("--best") && given.has("--stronglyTyped"))
    refuse(
        "--best and --stronglyTyped cannot be both set. --best enables implicit precisions, while "
        "--stronglyTyped enforces explicit precisions.");
  if (given.has("--fp8") && (given.has("--int8") || given.has("--best")))
    refuse("Invalid usage, fp8 and int8 aren't allowed to be enabled together.");
  if (given.has("--loadEngine") && given.has("--saveEngine"))
    refuse("Incompatible load and save engine options selected");
}

InspectorVerbosity verbosity_of(const Arguments& given) {
  const std::string text = given.text("--profilingVerbosity", given.text("--nvtxMode"));
  if (text.empty() || text == "layer_names_only") return InspectorVerbosity::layer_names_only;
  if (text == "none") return InspectorVerbosity::none;
  if (text == "detailed") return InspectorVerbosity::detailed;
  if (text != "default" && text != "verbose") refuse("Unknown profilingVerbosity: " + text);
  const bool names = text == "default";
  warning("--profilingVerbosity={} has been deprecated by --profilingVerbosity={}.", text,
          names ? "layer_names_only" : "detailed");
  return names ? InspectorVerbosity::layer_names_only : InspectorVerbosity::detailed;
}

void parse_build(Options& options) {
  const Arguments& given = options.given;
  options.onnx = given.text("--onnx");
  if (const char* home = std::getenv("HOME"); options.onnx.starts_with('~') && home != nullptr)
    options.onnx.replace(0, 1, home);
  options.load = given.text("--loadEngine");
  options.save = given.text("--saveEngine");
  options.profiles = parse_profiles(given);
  options.calibration_shapes = parse_calibration_shapes(given);
  options.int8 = given.has("--int8") || given.has("--best");
  options.strongly_typed = given.has("--stronglyTyped");
  if (options.strongly_typed && options.int8) {
    options.int8 = false;
    warning(
        "Invalid usage, setting int8 mode is not allowed if graph is strongly typed. Disabling "
        "BuilderFlag::kINT8.");
  }
  options.skip_inference = given.has("--skipInference") || given.has("--buildOnly");
  options.verbosity = verbosity_of(given);
}

void parse_percentiles(Options& options) {
  const std::vector<std::string> texts = options.given.list("--percentile");
  if (texts.empty()) return;
  options.percentiles.clear();
  for (const std::string& text : texts) {
    const Argument one[] = {{"--percentile", text}};
    const double value = Arguments(one).real("--percentile", 0);
    if (value < 0 || value > 100)
      fail(Error::Code::invalid_argument, "Percentile {:f}is not in [0,100]", value);
    options.percentiles.push_back(value);
  }
}

double not_negative(const Arguments& given, std::string_view name, double otherwise) {
  const double value = given.real(name, otherwise);
  if (value < 0) fail(Error::Code::invalid_argument, "{}={}: expected no less than 0", name, value);
  return value;
}

void parse_inference(Options& options) {
  const Arguments& given = options.given;
  if (given.has("--streams"))
    log_warning("--streams flag has been deprecated, use --infStreams flag instead.");
  const char* streams = given.has("--infStreams") ? "--infStreams" : "--streams";
  options.streams = static_cast<int>(given.integer(streams, 1, 1, 256));
  options.threads = static_cast<int>(given.integer("--cpuThreads", 0, 0, 256));
  options.iterations = given.integer("--iterations", 10, 0, kMany);
  options.warm_up_ms = not_negative(given, "--warmUp", 200);
  options.duration_s = given.real("--duration", 3);
  if (options.duration_s < 0 && options.duration_s != -1)
    refuse("--duration: expected no less than 0, or -1");
  options.sleep_ms = not_negative(given, "--sleepTime", 0);
  options.idle_ms = not_negative(given, "--idleTime", 0);
  options.shapes = parse_shape_list(given.text("--shapes"));
  for (const std::string& entry : given.list("--loadInputs"))
    options.inputs.push_back(name_and_value(entry));
  options.profile = static_cast<size_t>(given.integer("--useProfile", 0, 0, kMany));
}

void parse_reporting(Options& options) {
  options.average_runs = options.given.integer("--avgRuns", 10, 1, kMany);
  options.schema = static_cast<int>(options.given.integer("--inspectorSchema", 10, 10, 11));
  parse_percentiles(options);
}

// Shapes of the profile that inference uses where --shapes has none; and --shapes alone makes a profile.
void join_shapes(Options& options) {
  if (options.profile >= options.profiles.size()) {
    if (options.load.empty())
      fail(Error::Code::invalid_argument,
           "Selected profile index {} exceeds the number of profiles that the engine holds. ",
           options.profile);
    return;
  }
  ShapeRanges& profile = options.profiles[options.profile];
  for (const auto& [name, range] : profile) options.shapes.emplace(name, range.opt);
  if (!options.load.empty()) return;  // the plan may have a profile, which is then looked at
  for (const auto& [name, shape] : options.shapes) {
    if (entry_for(profile, name) == nullptr) profile.insert({name, {shape, shape, shape}});
    check_in_profile(profile, options.profile, name, shape);
  }
}

bool has_gpu() {
  return std::ranges::any_of(list_devices(), [](const DeviceEntry& device) {
    return device.missing.empty() && device.info.name != "cpu";
  });
}

// A number is that of a GPU; where there is none at all, the CPU stands for it.
std::string device_of(const Arguments& given) {
  const std::string text = given.text("--device", "0");
  const bool number =
      !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (!number) return device_info(text).name;
  try {
    return device_info("cuda:" + text).name;
  } catch (const Error&) {
    if (has_gpu()) throw;
    return "cpu";
  }
}

}  // namespace

Version parse_version(const Arguments& given) {
  const char* environment = std::getenv("OCTET_TENSORRT_VERSION");
  const std::string text =
      given.text("--tensorrtVersion", environment == nullptr ? "" : environment);
  if (text == "8" || text.starts_with("8.6")) return {"8.6.1", "8601", "", true};
  if (!text.empty() && text != "10" && !text.starts_with("10."))
    refuse("version '" + text + "' of TensorRT: expected 8.6.1 or 10.16.0");
  return {"10.16.0", "101600", " [b72]", false};
}

Options parse_options(const Arguments& given) {
  Options options;
  options.given = given;
  options.version = parse_version(given);
  check_values(given);
  parse_build(options);
  parse_inference(options);
  parse_reporting(options);
  join_shapes(options);
  if (options.load.empty() && options.onnx.empty())
    refuse("Model missing or format not recognized");
  options.device = device_of(given);
  return options;
}

}  // namespace octet::cli::trtexec
