// SPDX-License-Identifier: Apache-2.0
// Plugins for programs that link none of these libraries (octet/tensorrt_bridge.h).
#include "tensorrt/exports/bridge.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "octet/tensorrt_bridge.h"
#include "tensorrt/builder/builder.h"
#include "tensorrt/engine/engine.h"
#include "tensorrt/plugins/json.h"
#include "tensorrt/plugins/operator.h"
#include "tensorrt/plugins/registry.h"

struct octet_trt_opened {
  std::unique_ptr<octet_trt::Builder> builder;
  std::unique_ptr<octet_trt::Network> network;
  octet_trt::LivePlugins live;
  std::string model, plugins, states;
  std::vector<const octet_plugin*> operators;
};

namespace octet_trt {
namespace {

class SilentLogger final : public ILogger {
 public:
  void log(Severity, char const*) noexcept override {}
};

// What a registry says of a library.
class Heard final : public IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return text.empty() ? 0 : 1; }
  ErrorCode getErrorCode(int32_t) const noexcept override { return ErrorCode::kINVALID_ARGUMENT; }
  ErrorDesc getErrorDesc(int32_t) const noexcept override { return text.c_str(); }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { text.clear(); }
  bool reportError(ErrorCode, ErrorDesc desc) noexcept override {
    text = desc;
    return true;
  }
  RefCount incRefCount() noexcept override { return 1; }
  RefCount decRefCount() noexcept override { return 1; }

  std::string text;
};

void tell(octet_trt_message* message, const char* text) {
  if (message != nullptr && message->capacity > 0)
    std::snprintf(message->text, message->capacity, "%s", text);
}

// What is thrown becomes the message.
template <class Work>
octet_trt_opened* opening(octet_trt_message* message, const Work& work) noexcept {
  try {
    auto opened = std::make_unique<octet_trt_opened>();
    work(*opened);
    return opened.release();
  } catch (const std::exception& error) {
    tell(message, error.what());
  } catch (...) {
    tell(message, "an exception of a plugin's own type");
  }
  return nullptr;
}

// Declares the operators of plugins that live.
void take(octet_trt_opened& opened) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& plugin : opened.live) {
    const octet_plugin* declared = &declared_plugin(plugin->record.signature);
    if (std::ranges::find(opened.operators, declared) == opened.operators.end())
      opened.operators.push_back(declared);
    list.push_back(to_json(plugin->record));
    opened.states += plugin->record.state;
  }
  opened.plugins = list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

int32_t load_library(const char* path, octet_trt_message* message) noexcept {
  Heard heard;
  IErrorRecorder* before = registry().getErrorRecorder();
  registry().setErrorRecorder(&heard);
  const bool loaded = registry().loadLibrary(path) != nullptr;
  registry().setErrorRecorder(before);
  if (!loaded) tell(message, heard.text.c_str());
  return loaded ? 0 : 1;
}

octet_trt_opened* open_model(const void* onnx, uint64_t bytes, const char* weights_folder,
                             octet_trt_message* message) noexcept {
  return opening(message, [&](octet_trt_opened& opened) {
    static SilentLogger logger;
    constexpr uint32_t kExplicitBatch = 1;
    opened.builder = std::make_unique<Builder>(&logger, NV_TENSORRT_VERSION);
    opened.network.reset(static_cast<Network*>(opened.builder->createNetworkV2(kExplicitBatch)));
    opened.network->parse({static_cast<const char*>(onnx), bytes}, weights_folder);
    opened.model = opened.network->write().bytes;
    opened.live = opened.network->plugins_of_model();
    take(opened);
  });
}

octet_trt_opened* open_plan(const void* attached, uint64_t bytes,
                            octet_trt_message* message) noexcept {
  return opening(message, [&](octet_trt_opened& opened) {
    for (const PluginRecord& record :
         attached_plugins({static_cast<const std::byte*>(attached), bytes}))
      opened.live.push_back(live_again(record));
    take(opened);
  });
}

const void* bytes_of(const std::string& text, uint64_t* bytes) {
  if (bytes != nullptr) *bytes = text.size();
  return text.data();
}
const void* model_of(const octet_trt_opened* opened, uint64_t* bytes) noexcept {
  return bytes_of(opened->model, bytes);
}
const void* states_of(const octet_trt_opened* opened, uint64_t* bytes) noexcept {
  return bytes_of(opened->states, bytes);
}
const char* plugins_of(const octet_trt_opened* opened) noexcept { return opened->plugins.c_str(); }
const octet_plugin* operator_of(const octet_trt_opened* opened, uint64_t index) noexcept {
  return index < opened->operators.size() ? opened->operators[index] : nullptr;
}
void close_opened(octet_trt_opened* opened) noexcept { delete opened; }

}  // namespace

const octet_trt_bridge& bridge() {
  static const octet_trt_bridge functions = {sizeof functions, load_library, open_model,
                                             open_plan,        model_of,     plugins_of,
                                             states_of,        operator_of,  close_opened};
  return functions;
}

}  // namespace octet_trt
