// SPDX-License-Identifier: Apache-2.0
// octet inspect: every layer of an engine, with its precision, kernel and the reason for them.
#include "octet/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/command.h"
#include "cli/flags/constraint_flags.h"
#include "cli/flags/engine_flags.h"
#include "cli/output/provenance.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/engine_source.h"
#include "octet/engine.h"
#include "octet/json.h"
#include "octet/machine.h"

namespace octet::cli::inspect_cli {
namespace {

constexpr CommandHelp kHelp{
    "inspect", "Show every layer: ONNX nodes in it, type, kernel, shapes, and why",
    "Columns: NODES are the ONNX nodes inside a layer; WHY is the reason for the precision, and "
    "for\n"
    "a slower kernel where there is one. Layers in INT8 count by number and by multiplications.\n\n"
    "Examples:\n"
    "  octet inspect resnet20.octet\n"
    "  octet inspect yolo.octet --shape images:1x3x416x416\n"
    "  octet inspect resnet20.octet --tensors             # scales and zero points\n"
    "  octet inspect resnet20.octet --provenance          # version, command, hashes\n"
    "  octet inspect resnet20.octet --json | jq '.coverage.macs'\n"
    "  OCTET_CPU_ISA=avx2 octet inspect resnet20.octet     # as a machine without AVX-512 runs "
    "it\n"};

struct Options : EngineFlags {
  std::vector<std::string> shapes;
  std::string device = "cpu";
  std::filesystem::path tuning;
  bool wide = false;
  bool tensors = false;
  bool nodes = false;
  bool provenance = false;
};

std::string types_text(const LayerInfo& layer) {
  std::string text;
  for (const TensorType& type : layer.input_types) {
    text += (text.empty() ? "" : " ") + to_string(type);
  }
  text += " ->";
  for (const TensorType& type : layer.output_types) text += " " + to_string(type);
  return text;
}

void print_layers(const Inspection& inspection, bool wide) {
  const auto limit = [&](size_t width) { return wide ? size_t{0} : width; };
  std::vector<Table::Column> columns = {{"LAYER", false, limit(28)},
                                        {"OP"},
                                        {"TYPE"},
                                        {"KERNEL", false, limit(26)},
                                        {"SHAPES", false, limit(60)},
                                        {"NODES", false, limit(40)},
                                        {"WHY", false, limit(90)}};
  if (wide) columns.push_back({"NOT TAKEN"});
  Table table(std::move(columns));
  for (const LayerInfo& layer : inspection.layers) {
    std::string why = layer.reason;
    if (!layer.kernel_reason.empty()) why += (why.empty() ? "" : "; ") + layer.kernel_reason;
    const bool tuned = layer.choice.by == KernelChoice::By::tuning;
    if (tuned || !layer.choice.missing.empty()) why += "; kernel chosen " + to_string(layer.choice);
    std::vector<std::string> cells = {
        layer.name,   layer.op,          std::string(to_string(layer.precision)),
        layer.kernel, types_text(layer), joined(layer.nodes, " "),
        why};
    if (wide) cells.push_back(joined(layer.rejected, "; "));
    table.add(std::move(cells));
  }
  table.print();
}

// "0.0123", or the smallest and the largest of several.
std::string scale_text(const CodeScale& codes) {
  if (codes.scales.size() == 1) return fmt::format("{:.6g}", codes.scales[0]);
  const auto [low, high] = std::ranges::minmax(codes.scales);
  return fmt::format("{:.6g} to {:.6g} ({} channels)", low, high, codes.scales.size());
}

// Every tensor once, where a layer makes it or the first reads it.
class TensorTable {
 public:
  void add(const std::string& name, const TensorType& type, const CodeScale& codes,
           const std::string& layer) {
    if (!seen_.insert(name).second) return;
    const bool scaled = !codes.scales.empty();
    table_.add({name, to_string(type), scaled ? scale_text(codes) : "",
                scaled ? std::to_string(codes.zero_point) : "", layer});
  }
  void print() const { table_.print(); }

 private:
  std::set<std::string> seen_;
  Table table_{
      {{"TENSOR", false, 60}, {"TYPE"}, {"SCALE"}, {"ZERO POINT", true}, {"LAYER", false, 40}}};
};

void print_scales(const Inspection& inspection) {
  TensorTable table;
  for (const LayerInfo& layer : inspection.layers) {
    for (size_t i = 0; i < layer.inputs.size(); ++i)
      table.add(layer.inputs[i], layer.input_types[i], layer.input_codes[i], layer.name);
    for (const ConstantInfo& constant : layer.constants)
      table.add(constant.name, constant.type, constant.codes, layer.name);
    for (size_t i = 0; i < layer.outputs.size(); ++i)
      table.add(layer.outputs[i], layer.output_types[i], layer.output_codes[i], layer.name);
  }
  table.print();
}

void print_tensors(const char* title, const std::vector<TensorInfo>& tensors) {
  for (const TensorInfo& tensor : tensors) {
    fmt::print("{} {}: {}\n", title, sanitize(tensor.name), to_string(tensor.type));
  }
}

// The engine and what is said of it.
void name_engine(const Options& options, nlohmann::ordered_json& object) {
  object["engine"] = with_known_names(options.engine.string());
  object["bytes"] = file_bytes(options.engine);
}

int say_provenance(const Options& options, const Engine& engine, const Inspection& inspection) {
  if (options.json) {
    nlohmann::ordered_json object = provenance_json(engine, inspection);
    name_engine(options, object);
    print_json(object);
  } else {
    print_provenance(engine, inspection);
  }
  return kDone;
}

Inspection inspected(const Options& options, const Engine& engine) try {
  InspectOptions inspect_options;
  inspect_options.threads = options.threads;
  inspect_options.device = options.device;
  inspect_options.tuning = read_tuning(options.tuning);
  inspect_options.input_shapes = concrete_shapes(engine, parse_shapes(options.shapes), 1);
  return inspect(engine, inspect_options);
} catch (Error& error) {
  error.add_context("inspecting '" + options.engine.string() + "'");
  throw;
}

int run(Options options) {
  options.engine = readable(options.engine);
  put_in_force(options.limits, options.engine);
  const Engine engine = open_engine({options.engine, options.threads, options.model_flags});
  const Inspection inspection = inspected(options, engine);
  warn_of_stale_choices(inspection.layers, options.tuning);
  if (options.provenance) return say_provenance(options, engine, inspection);
  if (options.json) {
    nlohmann::ordered_json object = parsed(to_json(inspection));
    const auto preprocess = engine.preprocess();
    object["tuned"] = device_info(options.device).tuned;
    object["preprocess"] = preprocess ? parsed(to_json(*preprocess)) : nullptr;
    name_engine(options, object);
    print_json(object);
    return kDone;
  }
  print_tensors("input ", engine.inputs());
  print_tensors("output", engine.outputs());
  if (const auto preprocess = engine.preprocess()) {
    fmt::print("images {}\n", sanitize(to_json(*preprocess)));
  }
  fmt::print("\n");
  if (options.tensors) {
    print_scales(inspection);
  } else {
    print_layers(inspection, options.wide);
  }
  if (options.nodes || !inspection.constraints.empty()) fmt::print("\n");
  print_nodes(inspection, options.nodes);
  fmt::print("\n{}; kernels for {}{}\n", coverage_line(inspection.coverage),
             inspection.isa == "none" ? "any processor" : inspection.isa,
             device_info(options.device).tuned ? "" : " (untuned)");
  return kDone;
}

void add_flags(CLI::App& app, Options& options) {
  add_engine_argument(app, options.engine);
  add_shape_flag(app, options.shapes);
  add_threads_flag(app, options.threads);
  add_device_flag(app, options.device);
  add_tuning_flag(app, options.tuning);
  app.add_flag("--wide", options.wide,
               "do not shorten long cells, and say why other kernels were not taken");
  app.add_flag(
      "--tensors", options.tensors,
      "list every tensor with the scale and the zero point of its codes, instead of layers");
  app.add_flag("--nodes", options.nodes,
               "list every ONNX node with the type that was asked of it and the type it got");
  app.add_flag("--provenance", options.provenance,
               "say how the engine was made: program, command, hashes of model, data and ranges, "
               "and decisions, instead of layers");
  add_common_flags(app, options);
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kHelp, add_flags, run); }

}  // namespace octet::cli::inspect_cli
