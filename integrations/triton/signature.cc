// SPDX-License-Identifier: Apache-2.0
#include "signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "octet/closest.h"

namespace octet::triton {
namespace {

struct TypePair {
  Dtype ours;
  TRITONSERVER_DataType server;
  const char* name;
};

constexpr TypePair kTypes[] = {
    {Dtype::f32, TRITONSERVER_TYPE_FP32, "FP32"},
    {Dtype::f16, TRITONSERVER_TYPE_FP16, "FP16"},
    {Dtype::bf16, TRITONSERVER_TYPE_BF16, "BF16"},
    {Dtype::f64, TRITONSERVER_TYPE_FP64, "FP64"},
    {Dtype::s8, TRITONSERVER_TYPE_INT8, "INT8"},
    {Dtype::u8, TRITONSERVER_TYPE_UINT8, "UINT8"},
    {Dtype::s16, TRITONSERVER_TYPE_INT16, "INT16"},
    {Dtype::u16, TRITONSERVER_TYPE_UINT16, "UINT16"},
    {Dtype::s32, TRITONSERVER_TYPE_INT32, "INT32"},
    {Dtype::u32, TRITONSERVER_TYPE_UINT32, "UINT32"},
    {Dtype::s64, TRITONSERVER_TYPE_INT64, "INT64"},
    {Dtype::u64, TRITONSERVER_TYPE_UINT64, "UINT64"},
    {Dtype::boolean, TRITONSERVER_TYPE_BOOL, "BOOL"},
};

std::vector<int64_t> dims_of(const TensorInfo& info, bool batched) {
  std::vector<int64_t> dims(info.type.shape.begin(), info.type.shape.end());
  if (batched && !dims.empty()) dims.erase(dims.begin());
  return dims;
}

Json entry(const TensorInfo& info, bool batched) {
  const std::vector<int64_t> dims = dims_of(info, batched);
  Json made = {{"name", info.name},
               {"data_type", "TYPE_" + type_name(server_type(info.type.dtype))}};
  made["dims"] = dims;
  if (info.type.shape.is_unknown()) {
    made["dims"] = {-1};
  } else if (dims.empty()) {  // the configuration's language has no scalars
    made["dims"] = {1};
    made["reshape"] = {{"shape", Json::array()}};
  }
  return made;
}

bool is_empty(const Json& config, const char* key) {
  return !config.contains(key) || config.at(key).empty();
}

Json states_of(const Json& config) {
  return config.value("sequence_batching", Json::object()).value("state", Json::array());
}

// `key`: what a state calls its input, or its output.
bool names(const Json& states, const char* key, std::string_view tensor) {
  return std::ranges::any_of(states,
                             [&](const Json& state) { return state.value(key, "") == tensor; });
}

Json entries(const std::vector<TensorInfo>& infos, bool batched, const Json& states,
             const char* key) {
  Json made = Json::array();
  for (const TensorInfo& info : infos) {
    if (!names(states, key, info.name)) made.push_back(entry(info, batched));
  }
  return made;
}

[[noreturn]] void refuse(const std::string& message) {
  throw Error(Error::Code::invalid_argument, message);
}

// What the backend sees of a tensor of the configuration.
std::vector<int64_t> configured_dims(const Json& tensor) {
  const bool reshaped = tensor.contains("reshape") && tensor.at("reshape").is_object();
  std::vector<int64_t> dims;
  const Json listed = reshaped ? tensor.at("reshape").value("shape", Json::array())
                               : tensor.value("dims", Json::array());
  for (const Json& dim : listed) dims.push_back(whole_number(dim));
  return dims;
}

// A fixed size of the configuration fits an open one of the engine, not the other way around.
bool fits(const std::vector<int64_t>& configured, const std::vector<int64_t>& own) {
  return std::ranges::equal(configured, own, [](int64_t a, int64_t b) {
    return a == b || (b == Shape::kDynamic && a > 0);
  });
}

struct Side {
  const char* kind;  // "input"
  const std::vector<TensorInfo>& infos;
  int64_t max_batch;
};

const TensorInfo& named(const Side& side, const std::string& name) {
  const auto at = std::ranges::find(side.infos, name, &TensorInfo::name);
  if (at != side.infos.end()) return *at;
  std::vector<std::string> known;
  for (const TensorInfo& info : side.infos) known.push_back(info.name);
  refuse(fmt::format("the configuration has {} '{}', which the engine has not{}", side.kind, name,
                     did_you_mean(name, known)));
}

void check_entry(const Side& side, const Json& tensor) {
  const TensorInfo& info = named(side, tensor.value("name", ""));
  const std::string type = "TYPE_" + type_name(server_type(info.type.dtype));
  if (tensor.value("data_type", "") != type)
    refuse(fmt::format("{} '{}': the configuration says {}, the engine has {}", side.kind,
                       info.name, tensor.value("data_type", ""), type));
  if (tensor.value("allow_ragged_batch", false))
    refuse(
        fmt::format("{} '{}': allow_ragged_batch is not for this backend: requests of unlike "
                    "sizes run one after another",
                    side.kind, info.name));
  if (tensor.value("optional", false))
    refuse(fmt::format("{} '{}' is optional in the configuration: the engine needs all of them",
                       side.kind, info.name));
  if (info.type.shape.is_unknown()) return;
  const std::vector<int64_t> own = dims_of(info, side.max_batch > 0);
  const std::vector<int64_t> configured = configured_dims(tensor);
  if (!fits(configured, own))
    refuse(fmt::format("{} '{}': the configuration says {}{}, the engine has {}", side.kind,
                       info.name, text_of(configured), side.max_batch > 0 ? " after the batch" : "",
                       side.max_batch > 0 ? text_of(own) + " after the batch" : text_of(own)));
}

void check_side(const Side& side, const Json& configured) {
  for (const Json& tensor : configured) check_entry(side, tensor);
}

void check_types(const std::vector<TensorInfo>& infos) {
  for (const TensorInfo& info : infos) {
    if (server_type(info.type.dtype) == TRITONSERVER_TYPE_INVALID)
      throw Error(Error::Code::unsupported,
                  fmt::format("tensor '{}' is {}, which requests cannot carry", info.name,
                              dtype_name(info.type.dtype)));
  }
}

// Of a state both tensors have its type and sizes.
void check_states(const Signature& signature, const Json& states) {
  for (Json state : states) {
    state["name"] = state.value("input_name", "");
    check_entry({"input", signature.inputs, signature.max_batch}, state);
    state["name"] = state.value("output_name", "");
    check_entry({"output", signature.outputs, signature.max_batch}, state);
  }
}

void check_all_inputs(const std::vector<TensorInfo>& inputs, const Json& configured,
                      const Json& states) {
  for (const TensorInfo& info : inputs) {
    if (names(states, "input_name", info.name)) continue;
    const auto same = [&](const Json& tensor) { return tensor.value("name", "") == info.name; };
    if (std::ranges::none_of(configured, same))
      refuse(fmt::format("the configuration has no input '{}', which the engine needs", info.name));
  }
}

void check_batch(const Signature& signature) {
  if (!signature.batched()) return;
  if (signature.fixed_batch > 0) {
    if (signature.max_batch > signature.fixed_batch)
      refuse(
          fmt::format("max_batch_size is {}, and the engine takes batches of {}: build it with an "
                      "open batch, or lower max_batch_size",
                      signature.max_batch, signature.fixed_batch));
    return;
  }
  if (!begins_open(signature.inputs))
    refuse(
        fmt::format("max_batch_size is {}, and an input of the engine has no open batch: set "
                    "max_batch_size to 0, or build the engine with an open batch",
                    signature.max_batch));
}

}  // namespace

TRITONSERVER_DataType server_type(Dtype dtype) {
  const TypePair* at = std::ranges::find(kTypes, dtype, &TypePair::ours);
  return at != std::end(kTypes) ? at->server : TRITONSERVER_TYPE_INVALID;
}

std::string type_name(TRITONSERVER_DataType type) {
  const TypePair* at = std::ranges::find(kTypes, type, &TypePair::server);
  return at != std::end(kTypes) ? at->name : type == TRITONSERVER_TYPE_BYTES ? "BYTES" : "INVALID";
}

std::string text_of(std::span<const int64_t> dims) {
  std::string text;
  for (const int64_t dim : dims) text += fmt::format("{}{}", text.empty() ? "" : ", ", dim);
  return "[" + text + "]";
}

bool begins_open(const std::vector<TensorInfo>& infos) {
  return std::ranges::all_of(infos, [](const TensorInfo& info) {
    return info.type.shape.rank() > 0 && info.type.shape[0] == Shape::kDynamic;
  });
}

int64_t fixed_batch_of(const std::vector<TensorInfo>& inputs) {
  if (inputs.empty() || inputs[0].type.shape.rank() < 1) return 0;
  const int64_t first = inputs[0].type.shape[0];
  const bool same = std::ranges::all_of(inputs, [&](const TensorInfo& info) {
    return info.type.shape.rank() > 0 && info.type.shape[0] == first;
  });
  return same && first > 0 ? first : 0;
}

Json completed(Json config, const std::vector<TensorInfo>& inputs,
               const std::vector<TensorInfo>& outputs, int64_t max_batch) {
  const Json states = states_of(config);
  config["max_batch_size"] = max_batch;
  if (is_empty(config, "input"))
    config["input"] = entries(inputs, max_batch > 0, states, "input_name");
  if (is_empty(config, "output"))
    config["output"] = entries(outputs, max_batch > 0, states, "output_name");
  const bool scheduled = config.contains("dynamic_batching") ||
                         config.contains("sequence_batching") ||
                         config.contains("ensemble_scheduling");
  if (max_batch > 1 && !scheduled) config["dynamic_batching"] = Json::object();
  return config;
}

Signature agreed(const Json& config, const Engine& engine) {
  Signature signature{engine.inputs(), engine.outputs(),
                      whole_number(config.value("max_batch_size", Json(0))), 0};
  signature.fixed_batch = fixed_batch_of(signature.inputs);
  check_types(signature.inputs);
  check_types(signature.outputs);
  check_batch(signature);
  const Json inputs = config.value("input", Json::array()), states = states_of(config);
  check_side({"input", signature.inputs, signature.max_batch}, inputs);
  check_side({"output", signature.outputs, signature.max_batch},
             config.value("output", Json::array()));
  check_states(signature, states);
  check_all_inputs(signature.inputs, inputs, states);
  for (const TensorInfo& info : signature.outputs)
    signature.states.push_back(names(states, "output_name", info.name));
  return signature;
}

}  // namespace octet::triton
