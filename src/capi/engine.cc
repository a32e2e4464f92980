// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <span>

#include "capi/call.h"
#include "capi/tensors.h"
#include "octet/inspect.h"
#include "octet/json.h"

namespace octet::capi {
namespace {

int64_t find(const std::vector<TensorInfo>& infos, const char* name) {
  if (name == nullptr) return -1;
  const auto at = std::ranges::find(infos, std::string_view(name), &TensorInfo::name);
  return at != infos.end() ? at - infos.begin() : -1;
}

octet_channel_numbers numbers_of(const InputProfile& profile) {
  octet_channel_numbers numbers;
  for (const ChannelProfile& channel : profile.channels) {
    numbers.min.push_back(channel.min);
    numbers.max.push_back(channel.max);
    numbers.mean.push_back(channel.mean);
    numbers.deviation.push_back(channel.deviation);
  }
  return numbers;
}

void ask(const octet_engine& engine) {
  std::call_once(engine.asked, [&] {
    KnownInputs known = known_inputs(engine.engine);
    known.calibrated.resize(engine.inputs.size());
    known.codes.resize(engine.inputs.size());
    std::vector<octet_channel_numbers> channels;
    for (const InputProfile& profile : known.calibrated) channels.push_back(numbers_of(profile));
    // All at the end: what failed for want of memory is asked once more.
    engine.known = std::move(known);
    engine.channels = std::move(channels);
  });
}

octet_input_profile profile_of(const octet_engine& engine, uint64_t index) {
  ask(engine);
  const octet_channel_numbers& numbers = engine.channels[index];
  octet_input_profile profile{};
  profile.samples = engine.known.calibrated[index].samples;
  profile.channel_count = numbers.min.size();
  profile.min = numbers.min.data();
  profile.max = numbers.max.data();
  profile.mean = numbers.mean.data();
  profile.deviation = numbers.deviation.data();
  if (const std::optional<CodeSpan>& codes = engine.known.codes[index]) {
    profile.has_codes = 1;
    profile.code_min = codes->min;
    profile.code_max = codes->max;
  }
  return profile;
}

void give_info(const Place& place, octet_tensor_info* info) {
  need(info, "info");
  const octet_tensor_info described = describe(at(place));
  write_sized(info, &described, kTensorInfo);
}

}  // namespace
}  // namespace octet::capi

namespace capi = octet::capi;

octet_engine::octet_engine(octet::Engine e)
    : engine(std::move(e)), inputs(engine.inputs()), outputs(engine.outputs()) {
  if (const auto known = engine.preprocess()) preprocess = octet::to_json(*known);
}

octet_status octet_engine_load(const char* file, octet_engine** out, octet_error** error) {
  return capi::made(out, error, [&] {
    capi::need(file, "file");
    return std::make_unique<octet_engine>(octet::Engine::load(file));
  });
}

octet_status octet_engine_load_bytes(const void* data, uint64_t bytes, octet_engine** out,
                                     octet_error** error) {
  return capi::made(out, error, [&] {
    capi::need(data, "data");
    capi::checked_bytes(bytes);
    const std::span content(static_cast<const std::byte*>(data), bytes);
    return std::make_unique<octet_engine>(octet::Engine::load(content));
  });
}

octet_status octet_engine_save(const octet_engine* engine, const char* file, octet_error** error) {
  return capi::guarded(error, [&] {
    capi::need(engine, "engine");
    capi::need(file, "file");
    engine->engine.save(file);
  });
}

octet_status octet_engine_to_bytes(const octet_engine* engine, octet_bytes** out,
                                   octet_error** error) {
  return capi::made(out, error, [&] {
    capi::need(engine, "engine");
    const std::vector<std::byte> bytes = engine->engine.to_bytes();
    auto given = std::make_unique<octet_bytes>();
    given->data.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return given;
  });
}

void octet_engine_free(octet_engine* engine) { delete engine; }

uint64_t octet_engine_input_count(const octet_engine* engine) {
  return engine != nullptr ? engine->inputs.size() : 0;
}

uint64_t octet_engine_output_count(const octet_engine* engine) {
  return engine != nullptr ? engine->outputs.size() : 0;
}

octet_status octet_engine_input(const octet_engine* engine, uint64_t index, octet_tensor_info* info,
                                octet_error** error) {
  return capi::guarded(error, [&] {
    capi::need(engine, "engine");
    capi::give_info({"input", engine->inputs, index}, info);
  });
}

octet_status octet_engine_output(const octet_engine* engine, uint64_t index,
                                 octet_tensor_info* info, octet_error** error) {
  return capi::guarded(error, [&] {
    capi::need(engine, "engine");
    capi::give_info({"output", engine->outputs, index}, info);
  });
}

int64_t octet_engine_find_input(const octet_engine* engine, const char* name) {
  return engine != nullptr ? capi::find(engine->inputs, name) : -1;
}

int64_t octet_engine_find_output(const octet_engine* engine, const char* name) {
  return engine != nullptr ? capi::find(engine->outputs, name) : -1;
}

const char* octet_engine_preprocess(const octet_engine* engine) {
  return engine != nullptr && engine->preprocess ? engine->preprocess->c_str() : nullptr;
}

octet_status octet_engine_input_profile(const octet_engine* engine, uint64_t index,
                                        octet_input_profile* profile, octet_error** error) {
  return capi::guarded(error, [&] {
    capi::need(engine, "engine");
    capi::need(profile, "profile");
    capi::at({"input", engine->inputs, index});
    const octet_input_profile known = capi::profile_of(*engine, index);
    capi::write_sized(profile, &known, capi::kInputProfile);
  });
}

octet_status octet_engine_inspect(const octet_engine* engine, const char* device, octet_bytes** out,
                                  octet_error** error) {
  return capi::made(out, error, [&] {
    capi::need(engine, "engine");
    octet::InspectOptions options;
    if (device != nullptr) options.device = device;
    return std::make_unique<octet_bytes>(
        octet_bytes{octet::to_json(octet::inspect(engine->engine, options))});
  });
}

const void* octet_bytes_data(const octet_bytes* bytes) {
  return bytes != nullptr ? bytes->data.c_str() : nullptr;
}

uint64_t octet_bytes_size(const octet_bytes* bytes) {
  return bytes != nullptr ? bytes->data.size() : 0;
}

void octet_bytes_free(octet_bytes* bytes) { delete bytes; }
