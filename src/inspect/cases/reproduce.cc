// SPDX-License-Identifier: Apache-2.0
// A case, once more on this machine.
#include "octet/reproduce.h"

#include <algorithm>
#include <memory>

#include "core/check.h"
#include "core/memory.h"
#include "core/monitor.h"
#include "data/convert.h"
#include "data/npy.h"
#include "inspect/cases/differences.h"
#include "octet/attachment.h"
#include "octet/error_stats.h"
#include "runtime/inside.h"

namespace octet {
namespace {

std::span<const std::byte> file_bytes(const Tensor& file) { return {file.data(), file.bytes()}; }

CompileOptions build_options(const Case& from, const ReproduceOptions& options) {
  const Provenance& said = *from.provenance;
  CompileOptions build;
  build.plan = said.plan;
  build.input_shapes = said.input_shapes;
  build.preprocess = said.preprocess;
  build.threads = options.threads;
  build.monitor = options.monitor;
  if (said.methods.empty()) return build;
  CalibrationOptions ranges;
  if (from.cache) {
    ranges.cache = std::make_shared<const CalibrationCache>(*from.cache);
    ranges.method = range_method(said);
  }
  // Another model is a difference to tell of, no reason to end.
  ranges.cache_of_any_model = true;
  ranges.ranges = said.given;
  ranges.equalize = said.equalize;
  build.calibration = std::move(ranges);
  return build;
}

Engine rebuilt(const Case& from, const ReproduceOptions& options) {
  const CompileOptions compile_with = build_options(from, options);
  const Engine engine = options.model.empty() ? compile(file_bytes(from.model), compile_with)
                                              : compile(options.model, compile_with);
  // Older engines hold the name of the file, which does not matter.
  Model named = Inside::model(engine);
  named.source = from.provenance->model;
  const Engine made = Inside::engine(std::make_shared<const Model>(std::move(named)));
  if (!from.engine) return made;
  // What a program put into the engine's file is no result of the build.
  const std::vector<std::byte> carried = attachment(file_bytes(from.engine));
  return carried.empty() ? made : with_attachment(made, carried);
}

std::optional<Engine> engine_of(const Case& from, const ReproduceOptions& options,
                                Reproduction& result) {
  result.not_rebuilt =
      options.engine ? "another engine is given" : missing_for_build(from, !options.model.empty());
  if (result.not_rebuilt.empty()) {
    result.how = Reproduction::How::rebuilt;
    return rebuilt(from, options);
  }
  if (options.engine) {
    result.how = Reproduction::How::given;
    return options.engine;
  }
  if (!from.engine) return std::nullopt;
  result.how = Reproduction::How::kept;
  return Engine::load(file_bytes(from.engine));
}

std::vector<Shape> shapes_of(const Case& from) {
  std::vector<Shape> shapes;
  if (from.runs.empty()) return shapes;
  for (const Tensor& input : from.runs[0].inputs) shapes.push_back(input.shape());
  return shapes;
}

std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

std::string types_text(std::span<const Tensor> tensors) {
  std::string text;
  for (const Tensor& tensor : tensors)
    text += (text.empty() ? "" : ", ") + to_string(tensor.type());
  return text;
}

std::string types_text(std::span<const TensorInfo> infos) {
  std::string text;
  for (const TensorInfo& info : infos) text += (text.empty() ? "" : ", ") + to_string(info.type);
  return text;
}

bool takes(const TensorInfo& input, const Tensor& tensor) {
  const Shape &wanted = input.type.shape, &got = tensor.shape();
  if (wanted.is_unknown()) return true;
  return wanted.rank() == got.rank() &&
         std::equal(wanted.begin(), wanted.end(), got.begin(),
                    [](s64 want, s64 size) { return want < 0 || want == size; });
}

// Whether the engine takes the inputs of every run, by their sizes.
bool takes_runs(const Case& from, const Engine& engine) {
  const std::vector<TensorInfo> infos = engine.inputs();
  return std::ranges::all_of(
      from.runs, [&](const CaseRun& run) { return std::ranges::equal(infos, run.inputs, takes); });
}

// Runs can be repeated, and their outputs compared.
bool same_signature(const Case& from, const Case& here, std::vector<Difference>& into) {
  const size_t before = into.size();
  if (from.inputs != here.inputs)
    into.push_back({"inputs", names_text(from.inputs), names_text(here.inputs), true});
  if (from.outputs != here.outputs)
    into.push_back({"outputs", names_text(from.outputs), names_text(here.outputs), true});
  return into.size() == before;
}

// The recorded runs through the engine.
class RunsAgain {
 public:
  RunsAgain(const Case& from, const Engine& engine, const ReproduceOptions& options)
      : from_(from),
        infos_(engine.inputs()),
        context_(engine.make_context({.threads = options.threads})) {}

  void repeat(const CaseRun& run, Reproduction& into) {
    try {
      const std::vector<Tensor> outputs = context_.run(inputs_of_run(run));
      if (run.outputs.size() != outputs.size()) {
        fail(Error::Code::invalid_argument, "it has {} outputs, the engine {}", run.outputs.size(),
             outputs.size());
      }
      for (size_t i = 0; i < outputs.size(); ++i)
        compare(run, i, numpy_compatible(outputs[i]), into);
      ++into.runs;
    } catch (Error& error) {
      error.add_context(fmt::format("running '{}' of the case", run.name));
      throw;
    }
  }

  double sqnr_db() const { return stats_.sqnr_db(); }

 private:
  // Types that arrays of NumPy lack come back as they were.
  std::vector<Tensor> inputs_of_run(const CaseRun& run) const {
    std::vector<Tensor> inputs = run.inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (infos_[i].type.dtype == Dtype::bf16)
        inputs[i] =
            convert_array(inputs[i], Dtype::bf16, fmt::format("input '{}'", from_.inputs[i]));
    }
    return inputs;
  }

  void compare(const CaseRun& run, size_t index, const Tensor& here, Reproduction& into) {
    const Tensor& recorded = run.outputs[index];
    ++into.outputs;
    const std::string what = fmt::format("output '{}' of '{}'", from_.outputs[index], run.name);
    if (auto difference = compare_output(what, recorded, here)) {
      into.differences.push_back(std::move(*difference));
    } else {
      ++into.equal_outputs;
    }
    if (recorded.type() == here.type()) stats_.add(to_floats(recorded), to_floats(here));
  }

  const Case& from_;
  std::vector<TensorInfo> infos_;
  Context context_;
  ErrorStats stats_;
};

void repeat_runs(const Case& from, const Engine& engine, const ReproduceOptions& options,
                 Reproduction& into) {
  RunsAgain again(from, engine, options);
  const auto total = static_cast<s64>(from.runs.size());
  for (const CaseRun& run : from.runs) {
    again.repeat(run, into);
    report_progress(options.monitor, "runs", into.runs, total);
  }
  into.sqnr_db = again.sqnr_db();
}

// Other bytes from the same program for no other reason are a difference by themselves.
void add_engine_hash(const Case& from, const Case& here, std::vector<Difference>& into) {
  const bool explained = std::ranges::any_of(into, &Difference::changes_results) ||
                         !from.provenance || !here.provenance ||
                         from.provenance->version != here.provenance->version ||
                         from.provenance->compiler != here.provenance->compiler;
  into.push_back({"engine_hash", from.engine_hash, here.engine_hash, !explained});
}

void reproduce_with(const Case& from, const Engine& engine, const ReproduceOptions& options,
                    Reproduction& into) {
  const bool fits = takes_runs(from, engine);
  const Case here =
      make_case(engine, fits ? shapes_of(from) : std::vector<Shape>(), options.threads);
  compare_programs(from, here, into.differences);
  compare_engines(from, here, into.differences);
  into.same_engine = from.engine_hash == here.engine_hash;
  if (!into.same_engine) add_engine_hash(from, here, into.differences);
  const bool same = same_signature(from, here, into.differences);
  if (same && fits) return repeat_runs(from, engine, options, into);
  if (same) {
    into.differences.push_back(
        {"sizes of inputs", types_text(from.runs[0].inputs), types_text(engine.inputs()), true});
  }
}

}  // namespace

std::string_view to_string(Reproduction::How how) {
  constexpr std::string_view kNames[] = {"nothing", "given", "kept", "rebuilt"};
  return kNames[static_cast<size_t>(how)];
}

Reproduction reproduce(const Case& from, const ReproduceOptions& options) {
  return without_bad_alloc([&] {
    Reproduction result;
    const std::optional<Engine> engine = engine_of(from, options, result);
    if (engine) {
      reproduce_with(from, *engine, options, result);
    } else {
      Case here;
      here.version = octet_version();
      here.compiler = octet_compiler();
      here.device = device_info("cpu");
      compare_programs(from, here, result.differences);
    }
    return result;
  });
}

}  // namespace octet
