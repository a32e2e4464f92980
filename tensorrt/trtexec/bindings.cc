// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/bindings.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "cli/fail.h"
#include "cli/flags/engine_flags.h"
#include "cli/samples/data_checks.h"
#include "octet/input.h"
#include "tensorrt/trtexec/files.h"
#include "tensorrt/trtexec/log.h"

namespace octet::cli::trtexec {
namespace {

template <class T, class Draw>
void fill(Tensor& tensor, Draw draw) {
  for (T& value : tensor.mutable_as<T>()) value = static_cast<T>(draw());
}

// Uniform in trtexec's ranges, the same on every run; but numbers of tokens, positions and masks are 0 and 1, which are indices of nearly
// any table. trtexec's own, from -128 to 127, are none, and an index outside its table ends a run.
void fill_random(Tensor& tensor, std::mt19937& random) {
  const auto real = [&] { return std::uniform_real_distribution<float>(-1.0f, 1.0f)(random); };
  const auto whole = [&](int from, int to) {
    return [&random, from, to] { return std::uniform_int_distribution<int>(from, to)(random); };
  };
  switch (tensor.dtype()) {
    case Dtype::f32:
      return fill<float>(tensor, real);
    case Dtype::f64:
      return fill<double>(tensor, real);
    case Dtype::f16:
      return fill<f16>(tensor, real);
    case Dtype::bf16:
      return fill<bf16>(tensor, real);
    case Dtype::s8:
      return fill<int8_t>(tensor, whole(-128, 127));
    case Dtype::s16:
      return fill<int16_t>(tensor, whole(-128, 127));
    case Dtype::s32:
      return fill<int32_t>(tensor, whole(0, 1));
    case Dtype::s64:
      return fill<int64_t>(tensor, whole(0, 1));
    case Dtype::u8:
      return fill<uint8_t>(tensor, whole(0, 255));
    case Dtype::boolean:
      return fill<bool>(tensor, whole(0, 1));
    default:
      break;  // zeros
  }
}

void load(Tensor& tensor, const std::string& name, const std::string& path) {
  read_exactly(path, {tensor.mutable_data(), tensor.bytes()},
               fmt::format("input {} of {}", name, to_string(tensor.type())));
}

void check_names(const Options& options, const std::vector<TensorInfo>& inputs) {
  for (const auto& [name, path] : options.inputs) {
    if (std::ranges::find(inputs, name, &TensorInfo::name) != inputs.end()) continue;
    fail(Error::Code::invalid_argument,
         "Cannot find input tensor with name \"{}\" in the engine bindings! Please make sure the "
         "input tensor names are correct.",
         name);
  }
}

// What files hold, against calibration; random numbers are what they are.
void check_loaded(const Options& options, const Engine& engine, const std::vector<Tensor>& inputs) {
  if (options.inputs.empty()) return;
  const KnownInputs known = known_inputs(engine);
  InputWatch watch(known);
  watch.add(inputs);
  DataChecks checks;
  checks.doubts = doubts_about(known, watch.profiles(), {false, std::nullopt, engine.preprocess()});
  checks.clipped = watch.clipped();
  const auto is_random = [&](const std::string& name) {
    return std::ranges::none_of(options.inputs, [&](const auto& one) { return one.first == name; });
  };
  std::erase_if(checks.doubts, [&](const InputDoubt& doubt) { return is_random(doubt.name); });
  std::erase_if(checks.clipped, [&](const auto& entry) { return is_random(entry.input); });
  // trtexec has no flags that prepare inputs.
  for (InputDoubt& doubt : checks.doubts) doubt.change = {};
  for (const std::string& text : checks.warnings()) log_warning(text);
}
struct ValueFormat {
  std::string_view separator;
  bool finite = false;  // what JSON has no number for is null
};

template <class T>
std::string joined_values(const Tensor& tensor, const ValueFormat& format) {
  std::string text;
  [[maybe_unused]] const auto add = [&](auto value) {
    text += format.finite && !std::isfinite(value) ? "null" : number(value);
  };
  for (const T value : tensor.as<T>()) {
    if (!text.empty()) text += format.separator;
    if constexpr (std::is_same_v<T, f16> || std::is_same_v<T, bf16>) {
      add(static_cast<float>(value));
    } else if constexpr (std::is_floating_point_v<T>) {
      add(value);
    } else {
      text += std::to_string(static_cast<int64_t>(value));
    }
  }
  return text;
}

std::string values_text(const Tensor& tensor, const ValueFormat& format) {
  switch (tensor.dtype()) {
    case Dtype::f32:
      return joined_values<float>(tensor, format);
    case Dtype::f64:
      return joined_values<double>(tensor, format);
    case Dtype::f16:
      return joined_values<f16>(tensor, format);
    case Dtype::bf16:
      return joined_values<bf16>(tensor, format);
    case Dtype::s8:
      return joined_values<int8_t>(tensor, format);
    case Dtype::u8:
      return joined_values<uint8_t>(tensor, format);
    case Dtype::s32:
      return joined_values<int32_t>(tensor, format);
    case Dtype::s64:
      return joined_values<int64_t>(tensor, format);
    case Dtype::boolean:
      return joined_values<bool>(tensor, format);
    default:
      fail(Error::Code::unsupported, "values of type {} are not printed",
           dtype_name(tensor.dtype()));
  }
}

// Letters, digits and "-_." stay.
std::string file_name(const std::string& name) {
  std::string safe = name;
  for (char& c : safe) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.';
    if (!plain) c = '_';
  }
  return safe;
}

}  // namespace

std::string type_text(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32:
      return "fp32";
    case Dtype::f16:
      return "fp16";
    case Dtype::f64:
      return "fp64";
    case Dtype::s8:
      return "int8";
    case Dtype::s16:
      return "int16";
    case Dtype::s32:
      return "int32";
    case Dtype::s64:
      return "int64";
    case Dtype::u8:
      return "uint8";
    default:
      return std::string(dtype_name(dtype));
  }
}

std::vector<Tensor> make_inputs(const Options& options, const Engine& engine,
                                const std::vector<Shape>& shapes) {
  const std::vector<TensorInfo> infos = engine.inputs();
  check_names(options, infos);
  std::mt19937 random(1);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < infos.size(); ++i) {
    Tensor& tensor = inputs.emplace_back(infos[i].type.dtype, shapes[i]);
    const auto file = std::ranges::find(options.inputs, infos[i].name,
                                        &std::pair<std::string, std::string>::first);
    if (file != options.inputs.end()) {
      info("Using values loaded from {} for input {}", file->second, infos[i].name);
      load(tensor, infos[i].name, file->second);
    } else {
      info("Using random values for input {}", infos[i].name);
      fill_random(tensor, random);
    }
    log_bindings({infos[i]}, {tensor.type()}, "Input");
  }
  check_loaded(options, engine, inputs);
  return inputs;
}

void log_bindings(const std::vector<TensorInfo>& infos, const std::vector<TensorType>& types,
                  const char* kind) {
  for (size_t i = 0; i < infos.size(); ++i) {
    if (!types[i].shape.is_static()) {
      info(
          "{} binding for {} is dynamic and will be created during execution using "
          "OutputAllocator.",
          kind, infos[i].name);
      continue;
    }
    info("{} binding for {} with dimensions {} and type {} is created.", kind, infos[i].name,
         dims_text(types[i].shape), type_text(types[i].dtype));
  }
}

void dump_outputs(const Options& options, const std::vector<TensorInfo>& infos,
                  const std::vector<Tensor>& outputs) {
  if (options.version.old) log_info("Output Tensors:");
  for (size_t i = 0; i < outputs.size(); ++i) {
    info("{}: ({})", infos[i].name, dims_text(outputs[i].shape()));
    log_info(values_text(outputs[i], {" "}));
  }
}

std::string outputs_json(const std::vector<TensorInfo>& infos, const std::vector<Tensor>& outputs) {
  std::string text = "[\n";
  for (size_t i = 0; i < outputs.size(); ++i) {
    const nlohmann::json name = infos[i].name;
    text += fmt::format(
        "{}{{ \"name\" : {}\n  , \"dimensions\" : \"{}\"\n  , \"values\" : [ {} ]\n  }}\n",
        i == 0 ? "  " : ", ", name.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
        dims_text(outputs[i].shape()), values_text(outputs[i], {", ", true}));
  }
  return text + "]\n";
}

void dump_raw(const Options& options, const std::vector<TensorInfo>& infos,
              const std::vector<Tensor>& tensors, const char* kind) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::string dims = dims_text(tensors[i].shape());
    std::ranges::replace(dims, 'x', '.');
    const std::string type = type_text(tensors[i].dtype());
    const std::string file =
        file_name(fmt::format("{}.{}.{}.{}.raw", infos[i].name, kind, dims, type));
    info("Writing file for {} binding {} (with datatype {} and dimensions {}) to {}", kind,
         infos[i].name, type, dims, file);
    write_raw(file, {tensors[i].data(), tensors[i].bytes()}, options.has("--force"));
  }
}

}  // namespace octet::cli::trtexec
