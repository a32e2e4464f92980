// SPDX-License-Identifier: Apache-2.0
// The import with its problems collected, then the pipeline with assumed ranges: what a build would give, without data.
#include "octet/check.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "core/memory.h"
#include "core/monitor.h"
#include "inspect/lint/qdq_lint.h"
#include "onnx/import.h"
#include "ops/registry.h"
#include "passes/check_declared.h"
#include "passes/infer_types.h"
#include "passes/real_weights.h"
#include "pipeline/float_model.h"
#include "pipeline/slow_engine.h"
#include "runtime/inside.h"

namespace octet {
namespace {

using Operator = ModelCheck::Operator;

void note(ModelCheck& result, const Error& error) {
  result.problems.push_back({error.message(), error.context(), error.field()});
}

s64 opset_of(const ImportInfo& info, const std::string& domain) {
  for (const auto& [name, version] : info.opsets) {
    if (name == domain) return version;
  }
  return 0;
}

std::vector<Operator> operators_of(const ImportInfo& info) {
  std::map<std::pair<std::string, std::string>, Operator> found;
  for (const auto& node : info.unsupported) {
    Operator& entry = found[{node.domain, node.op}];
    entry = {node.domain, node.op, node.opset, entry.count + 1, false, std::move(entry.nodes)};
    entry.nodes.push_back(node.name);
  }
  std::map<std::string, s64> unsupported;  // by name alone, as op_counts has them
  for (const auto& [key, entry] : found) unsupported[entry.name] += entry.count;
  for (const auto& [name, count] : info.op_counts) {
    const s64 rest = count - unsupported[name];
    if (rest == 0) continue;
    const OpDef* op = find_op(name);
    const std::string domain = op == nullptr ? "" : std::string(op->domain);
    found[{domain, name}] = {domain, name, opset_of(info, domain), rest, true, {}};
  }
  std::vector<Operator> operators;
  for (auto& [key, entry] : found) operators.push_back(std::move(entry));
  std::ranges::stable_sort(operators, [](const Operator& a, const Operator& b) {
    return std::tuple(a.supported, -a.count) < std::tuple(b.supported, -b.count);
  });
  return operators;
}

std::vector<TensorInfo> infos_of(const Graph& graph, const std::vector<ValueId>& ids) {
  std::vector<TensorInfo> infos;
  for (ValueId id : ids) infos.push_back({graph.value(id).name, graph.value(id).type});
  return infos;
}

void describe_model(const ImportInfo& info, ModelCheck& result) {
  result.producer = info.producer;
  result.ir_version = info.ir_version;
  result.opsets = info.opsets;
  result.functions = info.functions;
  result.operators = operators_of(info);
  result.parameters = info.parameters;
  result.parameter_bytes = info.parameter_bytes;
  result.warnings = info.warnings;
  for (const auto& dim : info.dim_names) {
    auto& names = result.dim_names[dim.input];
    if (names.size() <= static_cast<size_t>(dim.axis))
      names.resize(static_cast<size_t>(dim.axis) + 1);
    names[static_cast<size_t>(dim.axis)] = dim.name;
  }
}

Engine build(const FloatModel& model, const PrecisionPlan& plan, const Monitor& monitor,
             CompileReport* report = nullptr) {
  return Inside::engine(std::make_shared<const Model>(quantize(model, plan, report, monitor)));
}

// What breaks the constraints is told, and the engine looked at all the same.
Engine build_constrained(const FloatModel& model, const CheckOptions& options, ModelCheck& result) {
  PrecisionPlan plan;
  plan.int8 = true;
  plan.constraints = options.constraints;
  plan.constraint_mode = options.constraint_mode;
  try {
    return build(model, plan, options.monitor);
  } catch (const Error& error) {
    if (plan.constraints.empty() || error.field() != "PrecisionPlan.constraints") throw;
    note(result, error);
  }
  plan.constraint_mode = ConstraintMode::prefer;
  try {
    return build(model, plan, options.monitor);
  } catch (const Error& error) {
    plan.constraints.clear();
    return build(model, plan, options.monitor);
  }
}

// A model that may be planned.
struct Imported {
  const Graph& graph;
  const ImportInfo& info;
  const OpenSizes& open;
};

void plan(const Imported& from, const CheckOptions& options, ModelCheck& result) {
  InspectOptions inspect_options;
  inspect_options.threads = options.threads;
  const FloatModel model = with_assumed_ranges(optimize(from.graph, {}, options.monitor));
  result.carries_qdq = model.carries_qdq;
  if (std::string note = from.open.settled(*model.graph); !note.empty())
    result.warnings.push_back(std::move(note));
  result.warnings.insert(result.warnings.end(), model.notes.begin(), model.notes.end());
  const Engine engine = build_constrained(model, options, result);
  result.inputs = engine.inputs();
  result.outputs = engine.outputs();
  inspect_options.input_shapes = sample_shapes(engine);
  result.planned_shapes = inspect_options.input_shapes;
  result.int8 = inspect(engine, inspect_options);
  const Graph& built = Inside::model(engine).graph;
  if (result.carries_qdq || has_integer_products(built)) {
    if (const auto slow = slower_than_float(built)) result.warnings.push_back(*slow);
  }
  if (result.carries_qdq) {
    result.qdq = lint_qdq(from.graph, built, from.info.default_zero_points);
    return;
  }
  // Where nothing becomes INT8, both are one engine.
  if (result.int8->coverage.int8_layers == 0) {
    result.f32 = {result.int8->weight_bytes, result.int8->arena_bytes};
  } else {
    result.f32 = memory_of(build(model, {}, options.monitor), inspect_options);
  }
}

bool has_dynamic_input(const ModelCheck& result) {
  return std::ranges::any_of(result.inputs,
                             [](const TensorInfo& input) { return !input.type.shape.is_static(); });
}

// With sizes that only this check chose, not being able to plan is no fault of the model.
void plan_or_note(const Imported& from, const CheckOptions& options, ModelCheck& result) {
  try {
    plan(from, options, result);
  } catch (const Error& error) {
    if (error.code() == Error::Code::cancelled) throw;
    if (!result.planned_shapes.empty() && has_dynamic_input(result)) {
      result.warnings.push_back("not planned for the sample sizes, give others: " +
                                error.message());
    } else {
      note(result, error);
    }
  }
}

void check_declared_or_note(Graph& graph, const ImportInfo& info, const CheckOptions& options,
                            ModelCheck& result) {
  try {
    check_declared(graph, info.declared, options.input_shapes.empty());
  } catch (const Error& error) {
    note(result, error);
  }
}

// Reads the model, wherever it is.
using Import = std::function<Graph(const ImportOptions&, ImportInfo*)>;

ModelCheck check_model(const Import& read, const CheckOptions& options) {
  report_progress(options.monitor, "import");
  ModelCheck result;
  std::vector<Error> problems;
  ImportOptions import;
  import.input_shapes = options.input_shapes;
  import.external_data_root = options.weights_root;
  import.problems = &problems;
  ImportInfo info;
  Graph graph;
  try {
    graph = read(import, &info);
  } catch (const Error& error) {
    if (info.ir_version == 0) throw;  // not an ONNX model
    problems.push_back(error);
  }
  for (const Error& error : problems) note(result, error);
  describe_model(info, result);
  result.inputs = infos_of(graph, graph.inputs);
  result.outputs = infos_of(graph, graph.outputs);
  result.carries_qdq = has_coded_activations(graph);
  const OpenSizes open(graph);
  if (result.builds()) check_declared_or_note(graph, info, options, result);
  if (result.builds()) plan_or_note({graph, info, open}, options, result);
  return result;
}

}  // namespace

ModelCheck check(const std::filesystem::path& onnx_file, const CheckOptions& options) {
  const Import read = [&](const ImportOptions& import, ImportInfo* info) {
    return import_onnx(onnx_file, import, info);
  };
  try {
    return without_bad_alloc([&] { return check_model(read, options); });
  } catch (Error& error) {
    // Others come from the import, which names the file.
    if (error.code() == Error::Code::out_of_memory)
      error.add_context("checking '" + onnx_file.string() + "'");
    throw;
  }
}

ModelCheck check(std::span<const std::byte> onnx_model, const CheckOptions& options) {
  return without_bad_alloc([&] {
    return check_model(
        [&](ImportOptions import, ImportInfo* info) {
          import.external_data_folder = options.weights_folder;
          return import_onnx(onnx_model, import, info);
        },
        options);
  });
}

}  // namespace octet
