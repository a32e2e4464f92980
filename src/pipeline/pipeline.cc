// SPDX-License-Identifier: Apache-2.0
// The spine. compile() is SourceModel::read() and build(): import() reads and optimizes the model, Impl::variant() calls all further stages in order.
// Read this first.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "core/memory.h"
#include "core/monitor.h"
#include "data/preprocess.h"
#include "octet/source_model.h"
#include "onnx/import.h"
#include "passes/check_declared.h"
#include "passes/infer_types.h"
#include "pipeline/choose_ranges.h"
#include "pipeline/float_model.h"
#include "pipeline/found_beside.h"
#include "pipeline/half_overflow.h"
#include "pipeline/half_weights.h"
#include "pipeline/output_loss.h"
#include "pipeline/source_inside.h"
#include "pipeline/target.h"
#include "precision/constraints.h"
#include "precision/precision.h"
#include "preprocess/preprocess_text.h"
#include "runtime/inside.h"
#include "runtime/model.h"

namespace octet {
namespace {

// Reads the model from a file or from memory.
using Import = std::function<Graph(const ImportOptions&, ImportInfo*)>;

FloatModel import(const Import& read, const CompileOptions& options,
                  const std::filesystem::path& folder, std::vector<std::string>& warnings) {
  report_progress(options.monitor, "import");
  ImportInfo info;
  ImportOptions import;
  import.input_shapes = options.input_shapes;
  import.external_data_root = options.weights_root;
  Graph graph = read(import, &info);
  warnings = info.warnings;
  const OpenSizes open(graph);
  check_declared(graph, info.declared, options.input_shapes.empty());
  FloatModel model = optimize(std::move(graph), options.plan.rewrites, options.monitor);
  model.producer = info.producer;
  model.hash = info.hash;
  model.input_shapes = options.input_shapes;
  if (model.carries_qdq) model.equalized = equalized_from(info.equalized);
  if (std::string note = open.settled(*model.graph); !note.empty())
    warnings.push_back(std::move(note));
  warnings.insert(warnings.end(), model.notes.begin(), model.notes.end());
  model.found = find_preprocess(model, info.metadata, folder, warnings);
  return model;
}

// How images become inputs: as the options say, else as the model's metadata do. Calibration data, where there are any, decide what of it applies (arrays have no
// colors); otherwise it is resolved here against the only input, if that can hold an image.
std::optional<Preprocess> requested_preprocess(const CompileOptions& options, bool int8,
                                               const FloatModel& model) {
  const Graph& graph = *model.graph;
  std::optional<Preprocess> given = options.preprocess;
  if (!given && options.calibration) given = options.calibration->preprocess;
  if (!given && model.found) return model.found->preprocess;
  if (!given) return std::nullopt;
  check_preprocess(*given, "preprocessing");
  const bool reads = int8 && options.calibration && reads_data(*options.calibration);
  const bool images = !reads && graph.inputs.size() == 1 &&
                      image_channel_axis(graph.value(graph.inputs[0]).type.shape) >= 0;
  if (!images) return given;
  const Value& input = graph.value(graph.inputs[0]);
  return resolve_preprocess(given, input.type, input.name);
}

void report_calibration(const FloatModel& model, const CalibrationOptions& options,
                        CompileReport& report) {
  const Calibration& seen = *model.calibration;
  report.calibration_samples = seen.samples;
  report.calibration_skipped = static_cast<s64>(seen.skipped.size());
  report.skipped_files = seen.skipped;
  report.inputs = seen.inputs;
  report.handling = seen.handling;
  report.warnings.insert(report.warnings.end(), seen.notes.begin(), seen.notes.end());
  if (options.make_cache && seen.own_ranges != nullptr)
    report.cache = std::make_shared<const CalibrationCache>(make_cache(model));
}

// Before the long work: refuses requests for nodes that do not exist, and constraints that cannot be obeyed.
void check_names(const FloatModel& model, const PrecisionPlan& plan, CompileReport& report) {
  if (!model.carries_qdq) check_kept_names(*model.graph, plan.keep_float);
  if (plan.accuracy_time && !(*plan.accuracy_time >= 0 && *plan.accuracy_time <= 1)) {
    fail_about("PrecisionPlan.accuracy_time", Error::Code::invalid_argument,
               "the time that accuracy may take is a part of the engine's, from 0 to 1, and not {}",
               *plan.accuracy_time);
  }
  const Requests requests =
      requests_of(*model.graph, plan, model.carries_qdq, model.operators.get());
  if (plan.constraint_mode != ConstraintMode::obey) return;
  if (plan.constraints.empty()) {
    report.warnings.emplace_back(
        "constraints are to be obeyed, and none is given: obeying binds only layers whose type is "
        "asked for");
  }
  if (requests.nodes.empty() || model.carries_qdq || !plan.int8) return;
  check_obeyable(*model.graph, *with_assumed_ranges(model).ranges, plan, requests);
}

using Decisions = std::unordered_map<std::string, Decision>;

// Weights that f16 cannot hold: reported, measured where there are data, and remedied where the plan asks for it. Types that layers get in place of f16 go
// into `fallbacks`.
void handle_half_weights(FloatModel& model, const CompileOptions& options,
                         const std::vector<size_t>& layers, Decisions& fallbacks,
                         CompileReport& report) {
  const PrecisionPlan& plan = options.plan;
  std::vector<HalfWeights> found = examine_halves(*model.graph, layers);
  if (found.empty()) return;
  if (options.calibration && !options.calibration->data.empty())
    measure_halves(*model.graph, with_found(*options.calibration, model),
                   {options.threads, options.monitor}, found);
  if (plan.fix_subnormals)
    model.graph = std::make_shared<const Graph>(rescaled_for_halves(*model.graph, layers));
  if (plan.fix_subnormals || float_types(plan).bf16) {
    const Requests requests =
        requests_of(*model.graph, plan, model.carries_qdq, model.operators.get());
    std::vector<HalfWeights> rest = examine_halves(*model.graph, layers);
    fallbacks = types_instead(*model.graph, requests, rest);
    note_remedies(rest, found);
  }
  const std::vector<std::string> lines = affected_lines(found);
  report.warnings.insert(report.warnings.end(), lines.begin(), lines.end());
  report.half_weights = std::move(found);
}

std::vector<HalfOverflow> seen_on_data(const FloatModel& model, const CompileOptions& options,
                                       const OverflowSearch& search) {
  if (options.calibration->data.empty()) return {};
  return overflows_by_data(search, with_found(*options.calibration, model),
                           {options.threads, options.monitor});
}

// Results that f16 cannot hold, and the types that their layers get in place of it. With ranges only these decide, so that an engine made of a cache equals the
// one made of its data; what the data alone show is reported.
Decisions handle_half_results(const FloatModel& model, const CompileOptions& options,
                              const std::vector<size_t>& layers, CompileReport& report) {
  if (layers.empty() || !options.calibration) return {};
  const Graph& graph = *model.graph;
  const PrecisionPlan& plan = options.plan;
  const Requests requests = requests_of(graph, plan, model.carries_qdq, model.operators.get());
  const Ranges* known = plan.int8 && !model.carries_qdq ? model.ranges.get() : nullptr;
  std::vector<HalfOverflow> found = seen_on_data(model, options, {graph, layers, known});
  std::vector<HalfOverflow> left;
  if (known != nullptr) {
    left = std::exchange(found, overflows_by_ranges(graph, layers, *known));
  }
  std::ranges::move(float_types(plan).bf16 ? take_asked(requests, found) : std::exchange(found, {}),
                    std::back_inserter(left));
  if (!found.empty()) report.warnings.push_back(overflow_line(graph, found, true));
  if (!left.empty()) report.warnings.push_back(overflow_line(graph, left, false));
  return types_around(graph, requests, layers, found);
}

// Where a model's companion files may lie; none for one that came as bytes or by a descriptor.
std::filesystem::path folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  if (file.empty() || folder == "/proc/self/fd" || folder == "/dev/fd") return {};
  return file.has_parent_path() ? folder : std::filesystem::path(".");
}

// Adds the model's name to errors of work().
template <class Work>
auto with_context(const std::string& what, const Work& work) {
  try {
    return without_bad_alloc(work);
  } catch (Error& error) {
    error.add_context("compiling " + what);
    throw;
  }
}

}  // namespace

struct SourceModel::Impl {
  CompileOptions options;
  std::string name;  // for errors
  FloatModel imported;
  std::vector<std::string> warnings;  // of the import
  mutable std::mutex mutex;
  mutable std::shared_ptr<const FloatModel> calibrated;  // null until an engine needs it

  static SourceModel read(const Import& read, std::string name, const std::filesystem::path& file,
                          const CompileOptions& options) {
    auto impl = std::make_shared<Impl>();
    impl->options = options;
    impl->name = std::move(name);
    with_context(impl->name,
                 [&] { impl->imported = import(read, options, folder_of(file), impl->warnings); });
    return SourceModel(std::move(impl));
  }

  // The model with the ranges of the calibration data, where the plan needs them.
  FloatModel calibrated_for(const PrecisionPlan& plan, FloatModel model,
                            CompileReport& report) const {
    if (!plan.int8 || !options.calibration) return model;
    if (model.carries_qdq) {
      report.warnings.push_back(
          "the model carries Q/DQ nodes or integer operators: its own scales are used and the "
          "calibration data is not");
      return model;
    }
    model =
        model.graph == imported.graph ? with_shared_calibration(std::move(model)) : run_data(model);
    report_calibration(model, *options.calibration, report);
    return model;
  }

  FloatModel run_data(const FloatModel& model) const {
    return calibrate(model, *options.calibration, {options.threads, options.monitor});
  }

  FloatModel with_shared_calibration(FloatModel model) const {
    const std::lock_guard lock(mutex);
    if (calibrated == nullptr) calibrated = std::make_shared<const FloatModel>(run_data(model));
    model.calibration = calibrated->calibration;
    model.ranges = calibrated->ranges;
    model.bodies = calibrated->bodies;
    return model;
  }

  Engine build(const PrecisionPlan& wanted, CompileReport& report,
               const RangeMethod* method = nullptr) const {
    return Inside::engine(variant(wanted, report, method).model);
  }

  // Reports, too, what INT8 did to the outputs.
  Engine build_and_compare(const PrecisionPlan& wanted, CompileReport& report) const {
    const Variant built = variant(wanted, report, nullptr);
    if (wanted.int8)
      report_output_losses(built.from, built.model, {options.threads, options.monitor}, report);
    return Inside::engine(built.model);
  }

  struct Variant {
    FloatModel from;
    std::shared_ptr<const Model> model;
  };

  Variant variant(const PrecisionPlan& wanted, CompileReport& report,
                  const RangeMethod* method) const {
    CompileOptions with_plan = options;
    with_plan.plan = with_target(wanted);
    const PrecisionPlan& plan = with_plan.plan;
    with_plan.plan.rewrites = options.plan.rewrites;
    report.warnings = warnings;
    FloatModel model = imported;
    model.preprocess = requested_preprocess(options, plan.int8 || options.plan.int8, model);
    check_names(model, plan, report);
    const std::vector<size_t> halves =
        f16_layers(*model.graph, plan,
                   requests_of(*model.graph, plan, model.carries_qdq, model.operators.get()));
    Decisions fallbacks;
    handle_half_weights(model, with_plan, halves, fallbacks, report);
    model = calibrated_for(plan, std::move(model), report);
    if (method != nullptr && plan.int8 && !model.carries_qdq) model = with_method(model, *method);
    fallbacks.merge(handle_half_results(model, with_plan, halves, report));
    if (!fallbacks.empty())
      model.instead_of_f16 = std::make_shared<const Decisions>(std::move(fallbacks));
    auto made = std::make_shared<const Model>(quantize(model, plan, &report, options.monitor));
    return {std::move(model), std::move(made)};
  }
};

SourceModel::SourceModel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

SourceModel SourceModel::read(const std::filesystem::path& onnx_file,
                              const CompileOptions& options) {
  return without_bad_alloc([&] {
    const Import read = [&](const ImportOptions& import, ImportInfo* info) {
      return import_onnx(onnx_file, import, info);
    };
    return Impl::read(read, "'" + onnx_file.string() + "'", onnx_file, options);
  });
}

SourceModel SourceModel::read(std::span<const std::byte> onnx_model,
                              const CompileOptions& options) {
  return without_bad_alloc([&] {
    const Import read = [&](ImportOptions import, ImportInfo* info) {
      import.external_data_folder = options.weights_folder;
      return import_onnx(onnx_model, import, info);
    };
    return Impl::read(read, fmt::format("a model of {} bytes from memory", onnx_model.size()), {},
                      options);
  });
}

Engine SourceModel::build(const PrecisionPlan& plan, CompileReport* report) const {
  CompileReport local;
  CompileReport& out = report != nullptr ? *report : local;
  return with_context(impl_->name, [&] { return impl_->build_and_compare(plan, out); });
}

FloatModel SourceInside::calibrated(const SourceModel& source, const PrecisionPlan& plan,
                                    CompileReport& report) {
  return with_context(source.impl_->name, [&] {
    FloatModel model = source.impl_->imported;
    check_names(model, plan, report);
    return source.impl_->calibrated_for(plan, std::move(model), report);
  });
}

Engine SourceInside::build(const SourceModel& source, const PrecisionPlan& plan,
                           const RangeMethod* method, CompileReport& report) {
  return with_context(source.impl_->name,
                      [&] { return source.impl_->build(plan, report, method); });
}

const FloatModel& SourceInside::imported(const SourceModel& source) {
  return source.impl_->imported;
}
const CompileOptions& SourceInside::options(const SourceModel& source) {
  return source.impl_->options;
}
const std::string& SourceInside::name(const SourceModel& source) { return source.impl_->name; }

Engine compile(const std::filesystem::path& onnx_file, const CompileOptions& options,
               CompileReport* report) {
  return SourceModel::read(onnx_file, options).build(options.plan, report);
}

Engine compile(std::span<const std::byte> onnx_model, const CompileOptions& options,
               CompileReport* report) {
  return SourceModel::read(onnx_model, options).build(options.plan, report);
}

}  // namespace octet
