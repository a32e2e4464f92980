// SPDX-License-Identifier: Apache-2.0
// octet extract: a part of an ONNX model, cut at named tensors, as a model of its own.
#include "octet/extract.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/flags/engine_flags.h"
#include "cli/output/outputs.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"

namespace octet::cli::extract_cli {
namespace {

constexpr CommandHelp kHelp{
    "extract", "Cut a part of an ONNX model at named tensors",
    "Nodes between the tensors stay as they are, with their weights inside of the file. Names of\n"
    "tensors are those of the model, as 'octet compare --layers' and 'octet inspect' show them.\n\n"
    "Examples:\n"
    "  octet extract yolo.onnx --outputs /model.9/cv2/act/Mul_output_0 -o backbone.onnx\n"
    "  octet extract yolo.onnx --inputs p3,p4,p5 --outputs boxes -o head.onnx\n"};

struct Options {
  std::filesystem::path model;
  Outputs outputs;
  Output* part = nullptr;
  ExtractOptions extract;
  LimitFlags limits;
  bool json = false;
};

nlohmann::ordered_json tensors_json(const std::vector<TensorInfo>& tensors) {
  auto list = nlohmann::ordered_json::array();
  for (const TensorInfo& tensor : tensors)
    list.push_back({{"name", tensor.name}, {"type", to_string(tensor.type)}});
  return list;
}

void print_report(const Options& options, const ExtractReport& report, size_t bytes) {
  fmt::print("{}: {}, {} of {} nodes, {} initializers\n", sanitize(options.part->path().string()),
             human_bytes(bytes), report.nodes, report.all_nodes, report.initializers);
  for (const TensorInfo& input : report.inputs)
    fmt::print("  input   {}: {}\n", sanitize(input.name), to_string(input.type));
  for (const TensorInfo& output : report.outputs)
    fmt::print("  output  {}: {}\n", sanitize(output.name), to_string(output.type));
}

int run(Options options) {
  options.model = readable(options.model);
  put_in_force(options.limits, options.model);
  ExtractReport report;
  const std::vector<std::byte> bytes = extract_onnx(options.model, options.extract, &report);
  write(*options.part, std::span<const std::byte>(bytes));
  if (!options.json) {
    print_report(options, report, bytes.size());
    return kDone;
  }
  print_json({{"onnx", options.part->path().string()},
              {"bytes", bytes.size()},
              {"nodes", report.nodes},
              {"all_nodes", report.all_nodes},
              {"initializers", report.initializers},
              {"inputs", tensors_json(report.inputs)},
              {"outputs", tensors_json(report.outputs)}});
  return kDone;
}

void add_flags(CLI::App& app, Options& options) {
  app.add_option("model", options.model, "ONNX model")->required()->type_name("MODEL.onnx");
  app.add_option("--inputs", options.extract.inputs,
                 "tensors that become the part's inputs [those of the model that are needed]")
      ->type_name("NAME[,...]")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--outputs", options.extract.outputs,
                 "tensors that become the part's outputs [the model's]")
      ->type_name("NAME[,...]")
      ->delimiter(',')
      ->allow_extra_args(false);
  options.part = &options.outputs.add_flag(
      app, {"-o,--output", "PART.onnx", OutputKind::onnx, "where the part goes"});
  app.get_option("--output")->required();
  add_limit_flags(app, options.limits);
  add_json_flag(app, options.json);
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kHelp, add_flags, run); }

}  // namespace octet::cli::extract_cli
