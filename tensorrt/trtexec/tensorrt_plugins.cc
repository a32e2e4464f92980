// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/tensorrt_plugins.h"

#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <iterator>

#include "cli/fail.h"
#include "cli/tensorrt_folders.h"
#include "octet/attachment.h"
#include "octet/input.h"
#include "octet/plugins.h"
#include "octet/tensorrt_bridge.h"
#include "octet/tensorrt_plan.h"

namespace octet::cli::trtexec {
namespace {

namespace fs = std::filesystem;

class Message {
 public:
  octet_trt_message* at() { return &message_; }
  const char* text() const { return text_.data(); }

 private:
  std::array<char, 4096> text_ = {};
  octet_trt_message message_ = {text_.data(), text_.size()};
};

// Null until the first library of plugins is loaded: then it is there for as long as the process.
const octet_trt_bridge*& opened_bridge() {
  static const octet_trt_bridge* bridge = nullptr;
  return bridge;
}

// The one that the process has already is the one whose registry plugins meet.
void* open_library(bool old) {
  const std::string level = old ? "8" : "10", name = "libnvinfer.so." + level;
  if (void* there = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD)) return there;
  std::error_code error;
  for (const fs::path& folder : tensorrt_folders(level)) {
    const fs::path path = folder / name;
    if (!fs::exists(path, error)) continue;
    if (void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL)) return opened;
  }
  return dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

const octet_trt_bridge& bridge_of(bool old) {
  const octet_trt_bridge*& bridge = opened_bridge();
  if (bridge != nullptr) return *bridge;
  void* library = open_library(old);
  if (library == nullptr)
    fail(Error::Code::unsupported, "TensorRT's interface of Octet is not installed: {}; {}",
         dlerror(), kHowToGetTensorrt);
  const auto function =
      reinterpret_cast<octet_trt_bridge_function>(dlsym(library, OCTET_TRT_BRIDGE));
  if (function == nullptr || function()->size < sizeof(octet_trt_bridge))
    fail(Error::Code::unsupported, "libnvinfer of this process is not Octet's, or an elder one");
  bridge = function();
  return *bridge;
}

void add_operators(const octet_trt_bridge& bridge, const octet_trt_opened* opened) {
  for (uint64_t i = 0;; ++i) {
    const octet_plugin* plugin = bridge.operators(opened, i);
    if (plugin == nullptr) return;
    add_plugin(*plugin);
  }
}

std::vector<std::byte> read_whole(const std::string& path) {
  constexpr uint64_t kMostPlanBytes = uint64_t{16} << 30;
  const std::string text = read_text(path, kMostPlanBytes);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

// What a plan with such plugins carries; nothing of other files, of which loading says what is wrong.
std::vector<std::byte> attached_plugins(const std::string& path) {
  try {
    std::vector<std::byte> attached = attachment(read_whole(path));
    const std::optional<TensorRtPlan> plan = tensorrt_plan(attached);
    if (plan && plan->plugins != "[]") return attached;
  } catch (const Error&) {
  }
  return {};
}

std::span<const std::byte> bytes_of(const void* data, uint64_t size) {
  return {static_cast<const std::byte*>(data), size};
}

}  // namespace

void load_tensorrt_library(const std::string& library, bool old) {
  Message message;
  if (bridge_of(old).load_library(fs::absolute(library).c_str(), message.at()) == 0) return;
  fail(Error::Code::invalid_argument, "{}", message.text());
}

std::optional<PluginModel> plugin_model(const Options& options) {
  const octet_trt_bridge* bridge = opened_bridge();
  if (bridge == nullptr) return std::nullopt;
  const std::vector<std::byte> bytes = read_whole(options.onnx);
  Message message;
  const fs::path folder = fs::absolute(options.onnx).parent_path();
  // It stays open: runs call its plugins until the process ends.
  const octet_trt_opened* opened =
      bridge->open_model(bytes.data(), bytes.size(), folder.c_str(), message.at());
  if (opened == nullptr) fail(Error::Code::invalid_model, "'{}': {}", options.onnx, message.text());
  if (bridge->operators(opened, 0) == nullptr) return std::nullopt;
  add_operators(*bridge, opened);
  PluginModel model;
  uint64_t size = 0;
  const void* onnx = bridge->model(opened, &size);
  model.onnx = bytes_of(onnx, size);
  model.plugins = bridge->plugins(opened);
  const void* states = bridge->states(opened, &size);
  model.states.assign(static_cast<const char*>(states), size);
  return model;
}

void open_plan_plugins(const Options& options) {
  const octet_trt_bridge* bridge = opened_bridge();
  if (bridge == nullptr) return;
  const std::vector<std::byte> attached = attached_plugins(options.load);
  if (attached.empty()) return;
  Message message;
  const octet_trt_opened* opened =
      bridge->open_plan(attached.data(), attached.size(), message.at());
  if (opened == nullptr) fail(Error::Code::unsupported, "'{}': {}", options.load, message.text());
  add_operators(*bridge, opened);
}

void check_plan_plugins(const Options& options) {
  if (opened_bridge() != nullptr || attached_plugins(options.load).empty()) return;
  fail(Error::Code::unsupported,
       "'{}' has plugins of TensorRT: --dynamicPlugins=<file> loads the library that has them",
       options.load);
}

}  // namespace octet::cli::trtexec
