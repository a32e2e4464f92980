// SPDX-License-Identifier: Apache-2.0
// Options of C as those of C++, callbacks as functions, and the build itself.
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <new>
#include <span>

#include "capi/call.h"
#include "capi/tensors.h"
#include "octet/compile.h"
#include "octet/output.h"
#include "octet/value_types.h"

namespace octet::capi {
namespace {

using Infos = std::vector<TensorInfo>;

constexpr uint64_t kFlags = (uint64_t{OCTET_BUILD_FAVOR_ACCURACY} << 1) - 1;

bool has(const octet_build_options& asked, uint64_t flag) { return (asked.flags & flag) != 0; }

ConstraintMode mode_of(int32_t mode) {
  switch (mode) {
    case OCTET_CONSTRAINTS_PREFER:
      return ConstraintMode::prefer;
    case OCTET_CONSTRAINTS_OBEY:
      return ConstraintMode::obey;
    case OCTET_CONSTRAINTS_NONE:
      return ConstraintMode::none;
    default:
      refuse(
          fmt::format("octet_build_options.constraint_mode is {}; expected one of "
                      "OCTET_CONSTRAINTS_...",
                      mode));
  }
}

void add_constraints(PrecisionPlan& plan, const char* text, bool output) {
  if (text == nullptr) return;
  for (PrecisionConstraint& constraint : parse_constraints(text, output))
    plan.constraints.push_back(std::move(constraint));
}

PrecisionPlan plan_of(const octet_build_options& asked) {
  PrecisionPlan plan;
  plan.int8 = has(asked, OCTET_BUILD_INT8);
  plan.f16 = has(asked, OCTET_BUILD_F16);
  plan.bf16 = has(asked, OCTET_BUILD_BF16);
  plan.fastest = has(asked, OCTET_BUILD_FASTEST);
  if (asked.target != nullptr) plan.target = asked.target;
  plan.fix_subnormals = has(asked, OCTET_BUILD_FIX_SUBNORMALS);
  if (has(asked, OCTET_BUILD_FAVOR_SPEED)) plan.accuracy_time = 0;
  if (has(asked, OCTET_BUILD_FAVOR_ACCURACY)) plan.accuracy_time = kAllForAccuracy;
  plan.constraint_mode = mode_of(asked.constraint_mode);
  add_constraints(plan, asked.layer_types, false);
  add_constraints(plan, asked.output_types, true);
  if (asked.keep_float_count > 0) need(asked.keep_float, "octet_build_options.keep_float");
  for (uint64_t i = 0; i < asked.keep_float_count; ++i) {
    need(asked.keep_float[i], "an element of octet_build_options.keep_float");
    plan.keep_float.emplace_back(asked.keep_float[i]);
  }
  return plan;
}

// For the caller's octet_tensor, which may be larger than this library's.
struct Room {
  alignas(octet_tensor) std::byte bytes[kLargestStruct];
};

// What the caller's function gives, once for each sample.
class Samples {
 public:
  Samples(const octet_build_options& asked, Infos inputs)
      : next_(asked.samples), user_(asked.samples_user), inputs_(std::move(inputs)) {}

  bool operator()(std::vector<Tensor>& sample) const {
    std::vector<Room> rooms(inputs_.size());
    std::vector<octet_tensor*> tensors;
    for (const TensorInfo& input : inputs_)
      tensors.push_back(::new (rooms[tensors.size()].bytes) octet_tensor(wanted(input)));
    const int32_t answer = next_(user_, tensors.data(), tensors.size());
    if (answer == 0) return false;
    if (answer != 1) {
      throw Error(
          Error::Code::cancelled,
          fmt::format("octet_build_options.samples ended the build: it returned {}", answer));
    }
    sample.clear();
    for (Place place{"input", inputs_}; place.index < tensors.size(); ++place.index) {
      const MutableTensorView view = view_of(struct_of(tensors[place.index], kTensor), place);
      if (view.device != "cpu")
        refuse(fmt::format("a sample of {} lies in memory of '{}'; give it in memory of the host",
                           place.name(), view.device));
      sample.push_back(to_tensor(view));
    }
    return true;
  }

 private:
  // As far as the model tells: every other size is 1.
  static octet_tensor wanted(const TensorInfo& input) {
    octet_tensor tensor{};
    tensor.size = sizeof tensor;
    tensor.dtype = number_of(input.type.dtype);
    tensor.rank = std::max(0, input.type.shape.rank());
    for (int i = 0; i < tensor.rank; ++i)
      tensor.dims[i] = std::max<int64_t>(1, input.type.shape[i]);
    return tensor;
  }

  octet_samples_function next_;
  void* user_;
  Infos inputs_;
};

// What would change nothing was meant to change something.
void check_uses(const octet_build_options& asked) {
  const bool int8 = has(asked, OCTET_BUILD_INT8), f16 = has(asked, OCTET_BUILD_F16);
  const bool files = asked.data != nullptr, data = files || asked.samples != nullptr;
  const bool cache = asked.cache != nullptr;
  const struct {
    const char* option;
    bool is_set, has_use;
    const char* without;
  } uses[] = {
      {"data, samples, cache or ranges", data || cache || asked.ranges != nullptr,
       int8 || (f16 && files), "OCTET_BUILD_INT8"},
      {"method", asked.method != nullptr, data || cache, "data, samples or cache"},
      {"save_cache", asked.save_cache != nullptr, int8 && data, "data or samples"},
      {"max_samples", asked.max_samples != 0, files, "data"},
      {"OCTET_BUILD_SKIP_BAD", has(asked, OCTET_BUILD_SKIP_BAD), files, "data"},
      {"OCTET_BUILD_CONSTANT_DATA", has(asked, OCTET_BUILD_CONSTANT_DATA), data, "data or samples"},
      {"OCTET_BUILD_CACHE_OF_ANY_MODEL", has(asked, OCTET_BUILD_CACHE_OF_ANY_MODEL), cache,
       "cache"},
      {"OCTET_BUILD_NO_EQUALIZE", has(asked, OCTET_BUILD_NO_EQUALIZE), int8 && (data || cache),
       "OCTET_BUILD_INT8 and data, samples or cache"},
      {"OCTET_BUILD_FAVOR_SPEED", has(asked, OCTET_BUILD_FAVOR_SPEED),
       int8 && (data || cache) && !has(asked, OCTET_BUILD_FAVOR_ACCURACY),
       "OCTET_BUILD_INT8 and data, samples or cache, nor with OCTET_BUILD_FAVOR_ACCURACY"},
      {"OCTET_BUILD_FAVOR_ACCURACY", has(asked, OCTET_BUILD_FAVOR_ACCURACY),
       int8 && (data || cache), "OCTET_BUILD_INT8 and data, samples or cache"},
      {"OCTET_BUILD_FIX_SUBNORMALS", has(asked, OCTET_BUILD_FIX_SUBNORMALS), f16,
       "OCTET_BUILD_F16"},
  };
  for (const auto& use : uses) {
    if (use.is_set && !use.has_use)
      refuse(fmt::format("octet_build_options: {} has no use without {}", use.option, use.without));
  }
}

// Nothing where neither data nor ranges are given: then the model has Q/DQ nodes, or the build says what is missing.
std::optional<CalibrationOptions> calibration_of(const octet_build_options& asked,
                                                 const std::function<Infos()>& inputs) {
  if (asked.data == nullptr && asked.samples == nullptr && asked.cache == nullptr &&
      asked.ranges == nullptr)
    return std::nullopt;
  CalibrationOptions options;
  options.data = text_of(asked.data);
  options.max_samples = asked.max_samples;
  options.skip_bad = has(asked, OCTET_BUILD_SKIP_BAD);
  options.constant_data = has(asked, OCTET_BUILD_CONSTANT_DATA);
  options.equalize = !has(asked, OCTET_BUILD_NO_EQUALIZE);
  options.try_layers =
      has(asked, OCTET_BUILD_FAVOR_SPEED) || has(asked, OCTET_BUILD_FAVOR_ACCURACY);
  options.cache_of_any_model = has(asked, OCTET_BUILD_CACHE_OF_ANY_MODEL);
  options.make_cache = asked.save_cache != nullptr;
  if (asked.samples != nullptr) options.samples = Samples(asked, inputs());
  if (asked.method != nullptr) options.method = parse_range_method(asked.method);
  if (asked.ranges != nullptr)
    options.ranges = parse_given_ranges(asked.ranges, "octet_build_options.ranges");
  if (asked.cache != nullptr)
    options.cache = std::make_shared<const CalibrationCache>(load_calibration_cache(asked.cache));
  return options;
}

void add_shapes(CompileOptions& options, const octet_build_options& asked) {
  if (asked.input_shape_count > 0) need(asked.input_shapes, "octet_build_options.input_shapes");
  for (uint64_t i = 0; i < asked.input_shape_count; ++i) {
    const octet_tensor_info info = element_of(asked.input_shapes, i, kTensorInfo);
    need(info.name, "a name in octet_build_options.input_shapes");
    const Infos one{{info.name, {}}};
    options.input_shapes[info.name] = shape_of(info.rank, info.dims, {"input", one});
  }
}

void add_preprocess(CompileOptions& options, const octet_build_options& asked) {
  if (asked.preprocess == nullptr) return;
  const Preprocess preprocess =
      preprocess_from_json(asked.preprocess, "octet_build_options.preprocess");
  if (asked.data != nullptr || asked.samples != nullptr)
    options.calibration->preprocess = preprocess;
  else
    options.preprocess = preprocess;
}

Monitor monitor_of(const octet_build_options& asked) {
  Monitor monitor;
  if (asked.stop != nullptr) monitor.stop = asked.stop->source.get_token();
  if (asked.progress == nullptr) return monitor;
  monitor.report = [report = asked.progress, user = asked.user](const Progress& now) {
    const octet_progress told{sizeof told, now.stage.c_str(), now.done, now.total};
    return report(user, &told) == 0;
  };
  return monitor;
}

CompileOptions compile_options(const octet_build_options& asked,
                               const std::function<Infos()>& inputs) {
  if ((asked.flags & ~kFlags) != 0) {
    throw Error(Error::Code::unsupported,
                fmt::format("octet_build_options.flags is {:#x}; this library of Octet knows {:#x}",
                            asked.flags, kFlags));
  }
  if (asked.threads < 0 || asked.max_samples < 0)
    refuse("octet_build_options.threads and max_samples are not negative");
  CompileOptions options;
  options.plan = plan_of(asked);
  check_uses(asked);
  options.calibration = calibration_of(asked, inputs);
  add_preprocess(options, asked);
  add_shapes(options, asked);
  if (asked.threads > 0) options.threads = asked.threads;
  options.monitor = monitor_of(asked);
  options.weights_folder = text_of(asked.weights_folder);
  // Before the work: what cannot be written is known at once.
  if (asked.save_cache != nullptr) output_target(asked.save_cache);
  return options;
}

void tell(const octet_build_options& asked, const CompileReport& report) {
  if (asked.log == nullptr) return;
  const auto log = [&](int32_t level, const std::string& line) {
    asked.log(asked.user, level, line.c_str());
  };
  if (report.handling) log(OCTET_LOG_INFO, report.handling->line());
  for (const std::string& file : report.skipped_files) log(OCTET_LOG_WARNING, "skipped " + file);
  for (const std::string& warning : report.warnings) log(OCTET_LOG_WARNING, warning);
}

using Compiled = std::function<Engine(const CompileOptions&, CompileReport*)>;

std::unique_ptr<octet_engine> build(const octet_build_options* given,
                                    const std::function<Infos(const octet_build_options&)>& inputs,
                                    const Compiled& compiled) {
  const octet_build_options asked = struct_of(given, kBuildOptions);
  const CompileOptions options = compile_options(asked, [&] { return inputs(asked); });
  CompileReport report;
  auto engine = std::make_unique<octet_engine>(compiled(options, &report));
  tell(asked, report);
  if (asked.save_cache != nullptr && report.cache != nullptr)
    save_calibration_cache(*report.cache, asked.save_cache);
  return engine;
}

}  // namespace
}  // namespace octet::capi

namespace capi = octet::capi;

octet_status octet_build(const char* onnx_file, const octet_build_options* options,
                         octet_engine** out, octet_error** error) {
  return capi::made(out, error, [&] {
    capi::need(onnx_file, "onnx_file");
    return capi::build(
        options, [&](const octet_build_options&) { return octet::model_inputs(onnx_file); },
        [&](const octet::CompileOptions& asked, octet::CompileReport* report) {
          if (!asked.weights_folder.empty())
            capi::refuse("octet_build_options.weights_folder is for octet_build_bytes()");
          return octet::compile(onnx_file, asked, report);
        });
  });
}

octet_status octet_build_bytes(const void* onnx_model, uint64_t bytes,
                               const octet_build_options* options, octet_engine** out,
                               octet_error** error) {
  return capi::made(out, error, [&] {
    capi::need(onnx_model, "onnx_model");
    capi::checked_bytes(bytes);
    const std::span model(static_cast<const std::byte*>(onnx_model), bytes);
    return capi::build(
        options,
        [&](const octet_build_options& asked) {
          return octet::model_inputs(model, capi::text_of(asked.weights_folder));
        },
        [&](const octet::CompileOptions& asked, octet::CompileReport* report) {
          return octet::compile(model, asked, report);
        });
  });
}
