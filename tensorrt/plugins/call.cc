// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/plugins/call.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "octet/device_memory.h"
#include "tensorrt/plugins/sizes.h"
#include "tensorrt/plugins/staging.h"
#include "tensorrt/shared/gpu.h"

namespace octet_trt {
namespace {

constexpr int64_t kAlign = 256;  // of what plugins get as workspace
constexpr size_t kMostWorkspace = size_t{1} << 40;

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

}  // namespace

bool is_octets_own(const TypedFormat& port, int32_t rank) {
  return port.format == TensorFormat::kLINEAR || (port.format == TensorFormat::kHWC && rank == 4);
}

std::shared_ptr<LivePlugin> plugin_of(const octet_plugin_call& call) {
  auto plugin = find_live(*static_cast<const std::string*>(call.instance));
  if (plugin == nullptr) refuse("the network or engine of this plugin is gone");
  return plugin;
}

int64_t AbiCall::block_bytes(size_t i) const { return aligned(stored_bytes(i)); }

int64_t AbiCall::own_bytes() const {
  int64_t bytes = kAlign;  // to begin at a multiple
  for (size_t i = 0; i < count(); ++i)
    if (is_blocked(i)) bytes += block_bytes(i);
  return bytes;
}

PluginIo AbiCall::io() const {
  PluginIo io;
  io.inputs = signature_.inputs;
  const bool implicit = plugin_->record.implicit;
  for (size_t i = 0; i < count(); ++i) {
    const octet_plugin_tensor& given = tensor(i);
    const Dims all = to_dims(std::vector<int64_t>(given.dims, given.dims + given.rank));
    if (implicit && i == 0) io.batch = static_cast<int32_t>(all.d[0]);
    const float scale = given.param_count > 0 ? given.scales[0] : 0;
    io.tensors.push_back(
        describe(implicit ? without_front(all) : all, combo_[i].type, combo_[i].format, scale));
  }
  return io;
}

int64_t AbiCall::plugin_bytes() const {
  const size_t bytes = plugin_->workspace(io());
  if (bytes > kMostWorkspace) {
    plugin_failed(plugin_->record.name, "getWorkspaceSize() says " + std::to_string(bytes) +
                                            " bytes; the limit is " +
                                            std::to_string(kMostWorkspace));
  }
  return static_cast<int64_t>(bytes);
}

std::optional<size_t> AbiCall::aliased(size_t i) const {
  const int32_t output = static_cast<int32_t>(i) - signature_.inputs;
  const int32_t alias = plugin_->aliased_input(output);
  if (alias < 0) return std::nullopt;
  const auto input = static_cast<size_t>(alias);
  const auto sizes = [&](size_t at) {
    return std::span(tensor(at).dims, static_cast<size_t>(tensor(at).rank));
  };
  if (alias >= signature_.inputs || combo_[input] != combo_[i] ||
      !std::ranges::equal(sizes(input), sizes(i))) {
    plugin_failed(plugin_->record.name, "getAliasedInput(" + std::to_string(output) +
                                            ") returned " + std::to_string(alias) +
                                            ", no input of the output's sizes, type and format");
  }
  return input;
}

// Between the rows of a tensor and its blocks; what fills blocks up is zero.
void AbiCall::move(size_t i, std::byte* blocks, bool into) const {
  const auto bytes = bytes_of(combo_[i].type);
  auto* rows = static_cast<std::byte*>(tensor(i).data);
  if (into) std::memset(blocks, 0, static_cast<size_t>(block_bytes(i)));
  for_each_place(layout(i), [&](int64_t at, int64_t place) {
    std::byte* row = rows + at * static_cast<int64_t>(bytes);
    std::byte* block = blocks + place * static_cast<int64_t>(bytes);
    std::memcpy(into ? block : row, into ? row : block, bytes);
  });
}

void AbiCall::run() {
  const PluginIo tensors = io();
  std::vector<void*> data;
  auto* at = static_cast<std::byte*>(call_.workspace);
  at += (kAlign - static_cast<int64_t>(reinterpret_cast<uintptr_t>(at) % kAlign)) % kAlign;
  for (size_t i = 0; i < count(); ++i) {
    data.push_back(tensor(i).data);
    if (!is_blocked(i)) continue;
    data.back() = at;
    if (is_input(i)) move(i, at, true);
    at += block_bytes(i);
  }
  const auto inputs = static_cast<size_t>(signature_.inputs);
  for (size_t i = inputs; i < count(); ++i) {
    const std::optional<size_t> alias = aliased(i);
    if (!alias) continue;
    // It is changed where it lies, and others may read it: the output is a copy that is changed.
    void*& input = data[*alias];
    if (call_.stream == nullptr)
      std::memcpy(data[i], input, static_cast<size_t>(stored_bytes(i)));
    else
      octet::copy_memory(data[i], input, stored_bytes(i),
                         "cuda:" + std::to_string(call_.device_index), call_.stream);
    input = data[i];
  }
  enqueue(tensors, data, at);
  tell_sizes(call_, *plugin_);
  for (size_t i = inputs; i < count(); ++i)
    if (is_blocked(i)) move(i, static_cast<std::byte*>(data[i]), false);
}

// In the stream of a run on the GPU; else a plugin that knows a GPU's pointers alone gets copies there.
void AbiCall::enqueue(const PluginIo& io, std::vector<void*>& data, std::byte* workspace) {
  const std::string device = call_.stream == nullptr ? run_device() : "cpu";
  if (device != "cpu") {
    StagedCall staged{io, data, {}, plugin_bytes()};
    for (size_t i = 0; i < count(); ++i) staged.bytes.push_back(stored_bytes(i));
    return enqueue_staged(*plugin_, staged, index_ == 0, device);
  }
  cudaStream_t stream =
      call_.stream == nullptr ? current_stream() : static_cast<cudaStream_t>(call_.stream);
  plugin_->enqueue(
      {io, data.data(), data.data() + signature_.inputs, workspace, stream, call_.stream},
      index_ == 0);
}

}  // namespace octet_trt
