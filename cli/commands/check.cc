// SPDX-License-Identifier: Apache-2.0
// octet check: what an ONNX model is, whether it builds, what would be INT8, and everything that is wrong with it.
#include "octet/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "cli/advice.h"
#include "cli/command.h"
#include "cli/fail.h"
#include "cli/flags/constraint_flags.h"
#include "cli/flags/engine_flags.h"
#include "cli/output/float_layers.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/samples/engine_source.h"
#include "octet/json.h"
#include "octet/operators.h"

namespace octet::cli::check_cli {
namespace {

constexpr CommandHelp kHelp{
    "check", "Say what an ONNX model is, whether it builds, and what would be INT8",
    "No data are needed: for INT8 good calibration data are assumed. Exit code 0 when the model "
    "builds, 2\n"
    "when it does not; all problems are listed at once.\n\n"
    "Examples:\n"
    "  octet check resnet20.onnx\n"
    "  octet check yolo.onnx --shape images:1x3x416x416\n"
    "  octet check vit.onnx --precision '/head/*:int8' --constraints obey\n"
    "  octet check resnet20.onnx --json | jq '.coverage.macs'\n"
    "  octet check --list-ops            # every operator that Octet knows\n"};

struct Options {
  std::filesystem::path model;
  std::vector<std::string> shapes;
  CheckOptions check;
  ConstraintFlags constraints;
  bool list_ops = false;
  bool all = false;
  LimitFlags limits;
  bool json = false;
};

constexpr int64_t kThousand = 1000;

std::string human_count(int64_t n) {
  if (n < kThousand) return std::to_string(n);
  if (n < kThousand * kThousand) return fmt::format("{:.1f} k", static_cast<double>(n) / 1e3);
  if (n < kThousand * kThousand * kThousand)
    return fmt::format("{:.1f} M", static_cast<double>(n) / 1e6);
  return fmt::format("{:.2f} G", static_cast<double>(n) / 1e9);
}

std::string human_bytes_of(int64_t n) { return human_bytes(static_cast<uint64_t>(n)); }

std::string domain_name(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

// "f32[batch,3,height,width]"
std::string type_text(const TensorInfo& tensor, const ModelCheck& check) {
  const auto names = check.dim_names.find(tensor.name);
  std::string dims;
  for (int i = 0; i < tensor.type.shape.rank(); ++i) {
    const int64_t dim = tensor.type.shape[i];
    const size_t at = static_cast<size_t>(i);
    const bool named = names != check.dim_names.end() && at < names->second.size();
    dims += i == 0 ? "" : ",";
    if (dim >= 0) {
      dims += std::to_string(dim);
    } else {
      dims += named && !names->second[at].empty() ? names->second[at] : "?";
    }
  }
  return fmt::format("{}[{}]", dtype_name(tensor.type.dtype), dims);
}

void print_row(std::string_view title, const std::string& text) {
  fmt::print("  {:<12} {}\n", title, sanitize(text));
}

void print_what(const Options& options, const ModelCheck& check) {
  fmt::print("{}\n", sanitize(with_known_names(options.model.string())));
  std::string opsets;
  for (const auto& [domain, version] : check.opsets) {
    opsets += fmt::format("{}{} {}", opsets.empty() ? "" : ", ", domain_name(domain), version);
  }
  print_row("model", fmt::format("IR {}, opset {}, by {}", check.ir_version,
                                 opsets.empty() ? "none" : opsets,
                                 check.producer.empty() ? "an unnamed producer" : check.producer));
  if (!check.functions.empty()) print_row("functions", joined(check.functions));
  for (const TensorInfo& tensor : check.inputs)
    print_row("input", tensor.name + " " + type_text(tensor, check));
  for (const TensorInfo& tensor : check.outputs)
    print_row("output", tensor.name + " " + type_text(tensor, check));
  std::string operators;
  for (const auto& op : check.operators) {
    operators += fmt::format("{}{} {}{}", operators.empty() ? "" : ", ", op.name, op.count,
                             op.supported ? "" : " (unsupported)");
  }
  print_row("operators", operators);
  print_row("parameters", fmt::format("{} ({})", human_count(check.parameters),
                                      human_bytes_of(check.parameter_bytes)));
}

std::string memory_text(const EngineMemory& memory) {
  return fmt::format("{} of weights, {} for activations", human_bytes_of(memory.weight_bytes),
                     human_bytes_of(memory.arena_bytes));
}

void print_costs(const ModelCheck& check) {
  if (!check.int8) return;
  std::string shapes;
  for (const Shape& shape : check.planned_shapes) shapes += " " + to_string(shape);
  print_row("work", fmt::format("{} multiply-accumulates for{}",
                                human_count(check.int8->coverage.macs), shapes));
  if (check.f32) print_row("FP32", memory_text(*check.f32));
  print_row("INT8", memory_text({check.int8->weight_bytes, check.int8->arena_bytes}));
  print_row("", coverage_line(check.int8->coverage) +
                    (check.carries_qdq ? ", by the model's own scales" : ", if calibrated"));
}

void print_not_int8(const ModelCheck& check, bool all) {
  constexpr size_t kShown = 20;
  if (!check.int8) return;
  print_float_layers(*check.int8, all ? check.int8->layers.size() : kShown, "--all shows them");
}

// Of equal notes about many nodes one line would say nothing of the others, so each has its own; --all shows more than twenty.
void print_qdq(const ModelCheck& check, bool all) {
  constexpr size_t kShown = 20;
  if (!check.qdq) return;
  const QdqLint& lint = *check.qdq;
  const auto int8 =
      std::ranges::count_if(lint.pairs, [](const QdqPair& pair) { return pair.int8; });
  print_row("Q/DQ", fmt::format("{} pairs, {} read as codes alone", lint.pairs.size(), int8));
  print_row("", fmt::format("what blocks INT8: {} here, {} in TensorRT, {} in ONNX Runtime",
                            count_blocking(lint, "octet"), count_blocking(lint, "tensorrt"),
                            count_blocking(lint, "onnxruntime")));
  if (all) {
    Table pairs({{"  TENSOR", false, 40}, {"ROLE"}, {"FATE", false, 110}});
    for (const QdqPair& pair : lint.pairs)
      pairs.add({"  " + pair.tensor, std::string(to_string(pair.role)), pair.fate});
    pairs.print();
  }
  std::vector<const QdqNote*> notes;
  for (const QdqNote& note : lint.notes) notes.push_back(&note);
  for (const QdqPair& pair : lint.pairs) {
    for (const QdqNote& note : pair.notes) notes.push_back(&note);
  }
  std::ranges::stable_sort(notes, std::greater<>{}, &QdqNote::blocks);
  Table table({{"  Q/DQ NOTE"}, {"RULE"}, {"BLOCKS"}, {"WHAT", false, 150}});
  for (size_t i = 0; i < notes.size() && (all || i < kShown); ++i)
    table.add(
        {"  " + notes[i]->runtime, notes[i]->rule, notes[i]->blocks ? "yes" : "", notes[i]->text});
  if (!notes.empty()) table.print();
  if (notes.size() > kShown && !all)
    fmt::print("  and {} more; --all shows them\n", notes.size() - kShown);
}

void print_verdict(const ModelCheck& check, const CLI::App& app) {
  for (const std::string& warning : check.warnings) print_warning(warning);
  if (check.builds()) {
    fmt::print("it builds\n");
    return;
  }
  const size_t count = check.problems.size();
  fmt::print("it does not build, for {} {}\n", count, count == 1 ? "reason" : "reasons");
  for (const auto& problem : check.problems) {
    fmt::print("problem: {}\n", sanitize_lines(problem.message));
    for (const std::string& line : problem.context) fmt::print("  {}\n", sanitize(line));
    const std::string_view advice = advice_for(problem.field, app);
    if (!advice.empty()) fmt::print("  {}\n", advice);
  }
}

int list_operators(bool json) {
  const std::vector<OpSupport> ops = supported_operators();
  if (json) {
    print_json({{"operators", parsed(to_json(ops))}});
    return kDone;
  }
  Table table({{"OPERATOR"}, {"DOMAIN"}, {"IMPORT"}, {"F32 KERNEL"}, {"INT8"}});
  for (const OpSupport& op : ops) {
    table.add({op.name, domain_name(op.domain), op.import_form, op.f32_kernel, op.int8});
  }
  table.print();
  fmt::print("\n{} operators\n", ops.size());
  return kDone;
}

int run(const CLI::App& app, Options options) {
  if (options.list_ops) return list_operators(options.json);
  if (options.model.empty()) {
    fail(Error::Code::invalid_argument, "give an ONNX model, or --list-ops");
  }
  options.model = readable(options.model);
  put_in_force(options.limits, options.model);
  options.check.input_shapes = parse_shapes(options.shapes);
  options.check.constraints = constraints_of(options.constraints);
  options.check.constraint_mode = options.constraints.mode;
  const ModelCheck result = check(options.model, options.check);
  const std::vector<Threshold> judged =
      result.int8 ? judge_coverage(options.constraints, result.int8->coverage)
                  : std::vector<Threshold>{};
  if (options.json) {
    nlohmann::ordered_json object = parsed(to_json(result));
    object["model"] = with_known_names(options.model.string());
    object["bytes"] = file_bytes(options.model);
    add_thresholds(object, judged);
    print_json(object);
    return result.builds() ? exit_code(judged) : kBadInput;
  }
  print_what(options, result);
  print_costs(result);
  print_not_int8(result, options.all);
  if (result.int8) print_nodes(*result.int8, options.all);
  print_qdq(result, options.all);
  print_verdict(result, app);
  return result.builds() ? exit_code(judged) : kBadInput;
}

void add_flags(CLI::App& app, Options& options) {
  app.add_option("model", options.model, "ONNX model")->type_name("MODEL.onnx");
  add_shape_flag(app, options.shapes);
  add_threads_flag(app, options.check.threads);
  app.add_flag("--all", options.all,
               "list every layer that is not in INT8, every ONNX node, and every Q/DQ pair");
  add_constraint_flags(app, options.constraints);
  app.add_flag("--list-ops", options.list_ops, "print the operators that Octet knows");
  add_last_flags(app, options.check.weights_root, options.limits, options.json);
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kHelp, add_flags, run); }

}  // namespace octet::cli::check_cli
