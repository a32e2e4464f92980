// SPDX-License-Identifier: Apache-2.0
// octet export: an engine as a standard ONNX model with Q/DQ nodes, for other runtimes.
#include "octet/export.h"

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/flags/choice.h"
#include "cli/flags/engine_flags.h"
#include "cli/output/outputs.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/engine_source.h"

namespace octet::cli::export_cli {
namespace {

constexpr CommandHelp kHelp{
    "export", "Write an engine as an ONNX model with Q/DQ",
    "The file holds standard operators between QuantizeLinear and DequantizeLinear, with the\n"
    "engine's scales, zero points, codes of weights and names. For tensorrt all codes are s8\n"
    "with zero point 0, which makes those of tensors without negative values coarser.\n\n"
    "Examples:\n"
    "  octet export resnet20.octet --onnx resnet20_qdq.onnx\n"
    "  octet export resnet20.octet --onnx resnet20_trt.onnx --for tensorrt\n"
    "  octet build resnet20_qdq.onnx --int8 -o again.octet     # the same engine\n"};

struct Options : EngineFlags {
  Outputs outputs;
  Output* onnx = nullptr;
  ExportTarget target = ExportTarget::onnxruntime;
};

void print_report(const Options& options, const ExportReport& report, size_t bytes) {
  fmt::print("{}: {}, opset {}, {} nodes for {}\n", sanitize(options.onnx->path().string()),
             human_bytes(bytes), report.opset, report.nodes, to_string(options.target));
  fmt::print(
      "  {} QuantizeLinear, {} DequantizeLinear; {} tensors of weights as codes, {} biases\n",
      report.quantize, report.dequantize, report.weights, report.biases);
  if (!report.kept_float.empty())
    fmt::print("  {} nodes stay real, noted for a later build\n", report.kept_float.size());
  if (!report.coarser.empty()) {
    print_warning(
        fmt::format("{} tensors have coarser codes than in the engine, such as '{}': "
                    "{} takes s8 with zero point 0 alone, and results will differ",
                    report.coarser.size(), report.coarser.front(), to_string(options.target)));
  }
}

nlohmann::ordered_json json_of(const Options& options, const ExportReport& report, size_t bytes) {
  return {{"onnx", options.onnx->path().string()},
          {"bytes", bytes},
          {"for", to_string(options.target)},
          {"opset", report.opset},
          {"nodes", report.nodes},
          {"quantize", report.quantize},
          {"dequantize", report.dequantize},
          {"weights", report.weights},
          {"biases", report.biases},
          {"coarser", report.coarser},
          {"kept_float", report.kept_float}};
}

int run(Options options) {
  options.engine = readable(options.engine);
  put_in_force(options.limits, options.engine);
  const Engine engine = open_engine({options.engine, 1, options.model_flags});
  ExportReport report;
  const ExportOptions wanted{options.target, OCTET_VERSION};
  const std::vector<std::byte> bytes = export_onnx(engine, wanted, &report);
  write(*options.onnx, std::span<const std::byte>(bytes));
  if (options.json) {
    print_json(json_of(options, report, bytes.size()));
  } else {
    print_report(options, report, bytes.size());
  }
  return kDone;
}

void add_flags(CLI::App& app, Options& options) {
  app.add_option("engine", options.engine, "engine file, or an ONNX model with Q/DQ")
      ->required()
      ->type_name("ENGINE");
  options.onnx = &options.outputs.add_flag(
      app, {"--onnx", "OUT.onnx", OutputKind::onnx, "where the model goes"});
  app.get_option("--onnx")->required();
  std::vector<std::pair<std::string, ExportTarget>> targets;
  for (const ExportTarget target :
       {ExportTarget::onnxruntime, ExportTarget::openvino, ExportTarget::tensorrt})
    targets.emplace_back(to_string(target), target);
  add_choice(app, "--for", options.target, targets, "the runtime that the file is for");
  add_common_flags(app, options);
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kHelp, add_flags, run); }

}  // namespace octet::cli::export_cli
