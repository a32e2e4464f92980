// SPDX-License-Identifier: Apache-2.0
#include "plugin_operator.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "block_format.h"
#include "gpu.h"
#include "octet/device_memory.h"
#include "octet/plugin.h"
#include "octet/plugins.h"
#include "plugin_staging.h"

namespace octet_trt {
namespace {

constexpr int64_t kAlign = 256;  // of what plugins get as workspace
constexpr size_t kMostWorkspace = size_t{1} << 40;

int64_t aligned(int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

uint32_t abi_type(DataType type) {
  switch (to_octet(type)) {
    case octet::Dtype::f32:
      return OCTET_TYPE_F32;
    case octet::Dtype::f16:
      return OCTET_TYPE_F16;
    case octet::Dtype::bf16:
      return OCTET_TYPE_BF16;
    case octet::Dtype::s8:
      return OCTET_TYPE_S8;
    case octet::Dtype::u8:
      return OCTET_TYPE_U8;
    case octet::Dtype::s64:
      return OCTET_TYPE_S64;
    case octet::Dtype::boolean:
      return OCTET_TYPE_BOOL;
    default:
      return OCTET_TYPE_S32;
  }
}

// Blocks of channels are made here: Octet gives rows, or channels last where the tensor has four dimensions.
bool is_octets_own(const TypedFormat& port, int32_t rank) {
  return port.format == TensorFormat::kLINEAR || (port.format == TensorFormat::kHWC && rank == 4);
}

octet_plugin_format abi_format(const TypedFormat& port, int32_t rank) {
  octet_plugin_format format = {};
  format.size = sizeof format;
  format.type = abi_type(port.type);
  if (port.format == TensorFormat::kHWC && rank == 4) format.layout = OCTET_LAYOUT_NHWC;
  if (port.type == DataType::kINT8) {
    format.params = OCTET_PARAMS_PER_TENSOR;
    format.flags = OCTET_FORMAT_SYMMETRIC;
  }
  return format;
}

// One run, or one question about it.
class AbiCall {
 public:
  AbiCall(octet_plugin_call& call, const PluginSignature& signature, size_t combo)
      : call_(call), signature_(signature), combo_(signature.combos[combo]), index_(combo) {
    plugin_ = find_live(*static_cast<const std::string*>(call.instance));
    if (plugin_ == nullptr) refuse("the network or engine of this plugin is gone");
  }

  int64_t workspace_bytes() const { return own_bytes() + plugin_bytes(); }
  void run();

 private:
  void enqueue(const PluginIo& io, std::vector<void*>& data, std::byte* workspace);
  const octet_plugin_tensor& tensor(size_t i) const {
    const auto inputs = static_cast<size_t>(call_.input_count);
    return i < inputs ? call_.inputs[i] : call_.outputs[i - inputs];
  }
  size_t count() const { return combo_.size(); }
  bool is_input(size_t i) const { return i < static_cast<size_t>(signature_.inputs); }
  bool is_blocked(size_t i) const { return !is_octets_own(combo_[i], tensor(i).rank); }
  BlockLayout layout(size_t i) const {
    return block_layout(combo_[i].format, {tensor(i).dims, static_cast<size_t>(tensor(i).rank)});
  }
  int64_t stored_bytes(size_t i) const {
    return layout(i).elements() * static_cast<int64_t>(bytes_of(combo_[i].type));
  }
  int64_t block_bytes(size_t i) const { return aligned(stored_bytes(i)); }
  int64_t own_bytes() const {
    int64_t bytes = kAlign;  // to begin at a multiple
    for (size_t i = 0; i < count(); ++i)
      if (is_blocked(i)) bytes += block_bytes(i);
    return bytes;
  }
  int64_t plugin_bytes() const;
  // The input that output i is written over; nothing where it has its own memory.
  std::optional<size_t> aliased(size_t i) const;
  PluginIo io() const;
  void move(size_t i, std::byte* blocks, bool into) const;

  octet_plugin_call& call_;
  const PluginSignature& signature_;
  const PluginCombo& combo_;
  size_t index_;
  std::shared_ptr<LivePlugin> plugin_;
};

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

// An operator as it is declared, with all that it points to. It lives as long as the process.
class Declared {
 public:
  explicit Declared(const PluginSignature& signature);
  const octet_plugin& plugin() const { return plugin_; }
  const std::string& name() const { return name_; }
  const PluginSignature& signature() const { return signature_; }
  // Of the signature's.
  size_t index_of(const octet_plugin_combination* combination) const {
    return combos_[static_cast<size_t>(combination - combinations_.data())];
  }

 private:
  void add_combination(size_t index, uint32_t device);

  PluginSignature signature_;
  std::string name_;
  octet_plugin_attribute attribute_ = {};
  std::deque<std::string> texts_;
  std::deque<std::vector<octet_plugin_format>> formats_;
  std::vector<octet_plugin_port> ports_;
  std::vector<octet_plugin_combination> combinations_;
  std::vector<size_t> combos_;  // of each: the signature's
  octet_plugin_operator operator_ = {};
  const octet_plugin_operator* list_[1] = {};
  octet_plugin plugin_ = {};
};

const Declared& declared(const octet_plugin_operator* op) {
  return *static_cast<const Declared*>(op->user);
}

// What a plugin throws, or what is said of it, becomes the message of the call.
template <class Work>
int32_t answered(char* message, uint64_t capacity, const Work& work) noexcept {
  try {
    work();
    return OCTET_PLUGIN_OK;
  } catch (const std::exception& error) {
    if (message != nullptr && capacity > 0) std::snprintf(message, capacity, "%s", error.what());
  } catch (...) {
    if (message != nullptr && capacity > 0) std::snprintf(message, capacity, "an exception");
  }
  return OCTET_PLUGIN_FAILED;
}

AbiCall opened(octet_plugin_call& call) {
  const Declared& own = declared(call.op);
  return {call, own.signature(), own.index_of(call.combination)};
}

int32_t run_plugin(octet_plugin_call* call) {
  return answered(call->message, call->message_capacity, [&] { opened(*call).run(); });
}

int64_t plugin_workspace(octet_plugin_call* call) {
  int64_t bytes = -1;
  answered(call->message, call->message_capacity, [&] { bytes = opened(*call).workspace_bytes(); });
  return bytes;
}

int32_t infer_plugin(octet_plugin_call* call) {
  return answered(call->message, call->message_capacity, [&] {
    const auto plugin = find_live(*static_cast<const std::string*>(call->instance));
    if (plugin == nullptr) refuse("the network or engine of this plugin is gone");
    std::vector<Dims> inputs;
    for (uint64_t i = 0; i < call->input_count; ++i) {
      const octet_plugin_tensor& input = call->inputs[i];
      inputs.push_back(to_dims(std::vector<int64_t>(input.dims, input.dims + input.rank)));
    }
    const std::vector<Dims> outputs = plugin->output_dims(inputs);
    for (size_t i = 0; i < outputs.size() && i < call->output_count; ++i) {
      call->outputs[i].rank = outputs[i].nbDims;
      std::copy(outputs[i].d, outputs[i].d + outputs[i].nbDims, call->outputs[i].dims);
    }
  });
}

// The instance is the key: plugins themselves live with networks and engines.
int32_t create_instance(octet_plugin_creation* creation) {
  return answered(creation->message, creation->message_capacity, [&] {
    const octet_plugin_value& key = creation->attributes[0];
    creation->instance = new std::string(key.text, key.count);
  });
}

void destroy_instance(const octet_plugin_operator*, void* instance) {
  delete static_cast<std::string*>(instance);
}

// Letters, digits and _ of the plugin's type, and what makes signatures different.
std::string operator_name(const PluginSignature& signature) {
  std::string name;
  for (const char c : signature.type) {
    const bool is_word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += is_word ? c : '_';
  }
  PluginRecord record;
  record.signature = signature;
  return name + "_" + key_of(record);
}

Declared::Declared(const PluginSignature& signature)
    : signature_(signature), name_(operator_name(signature)) {
  attribute_.size = sizeof attribute_;
  attribute_.name = kPluginKey;
  attribute_.type = OCTET_ATTRIBUTE_TEXT;
  const auto inputs = static_cast<size_t>(signature.inputs);
  for (size_t i = 0; i < signature.ranks.size(); ++i) {
    const std::string& name = texts_.emplace_back(
        i < inputs ? "input" + std::to_string(i) : "output" + std::to_string(i - inputs));
    ports_.push_back(
        {sizeof(octet_plugin_port), name.c_str(), 0, 1, signature.ranks[i], signature.ranks[i]});
  }
  for (size_t i = 0; i < signature.combos.size(); ++i) add_combination(i, OCTET_DEVICE_HOST);
  for (size_t i = 0; i < signature.combos.size(); ++i) add_combination(i, OCTET_DEVICE_CUDA);
  operator_.size = sizeof operator_;
  operator_.name = name_.c_str();
  operator_.domain = kPluginDomain;
  operator_.version = 1;
  operator_.flags = OCTET_OPERATOR_CONCURRENT;
  operator_.attribute_count = 1;
  operator_.attributes = &attribute_;
  operator_.input_count = inputs;
  operator_.inputs = ports_.data();
  operator_.output_count = ports_.size() - inputs;
  operator_.outputs = ports_.data() + inputs;
  operator_.combination_count = combinations_.size();
  operator_.combinations = combinations_.data();
  operator_.infer = infer_plugin;
  operator_.create = create_instance;
  operator_.destroy = destroy_instance;
  operator_.user = this;
  list_[0] = &operator_;
  plugin_ = {sizeof plugin_, OCTET_PLUGIN_ABI, 0, "TensorRT plugin", "1", 1, list_};
}

void Declared::add_combination(size_t index, uint32_t device) {
  const PluginCombo& combo = signature_.combos[index];
  for (size_t i = 0; i < combo.size(); ++i) {
    // Blocks are made on the host.
    if (device == OCTET_DEVICE_CUDA && !is_octets_own(combo[i], signature_.ranks[i])) return;
  }
  combos_.push_back(index);
  std::vector<octet_plugin_format>& formats = formats_.emplace_back();
  std::string name = std::to_string(index);
  for (size_t i = 0; i < combo.size(); ++i) {
    formats.push_back(abi_format(combo[i], signature_.ranks[i]));
    name += std::string(i == static_cast<size_t>(signature_.inputs) ? "--" : "-") +
            name_of(combo[i].type);
    if (combo[i].format != TensorFormat::kLINEAR)
      name += std::string(".") + (format_info(combo[i].format)->name + 1);
  }
  if (device == OCTET_DEVICE_CUDA) name += "-cuda";
  octet_plugin_combination combination = {};
  combination.size = sizeof combination;
  combination.name = texts_.emplace_back(std::move(name)).c_str();
  combination.device = device;
  combination.inputs = formats.data();
  combination.outputs = formats.data() + signature_.inputs;
  combination.run = run_plugin;
  combination.workspace = plugin_workspace;
  combinations_.push_back(combination);
}

}  // namespace

std::string declare_operator(const PluginSignature& signature) {
  static std::mutex* const mutex = new std::mutex;
  static auto* const all = new std::map<std::string, std::unique_ptr<Declared>>;
  const std::lock_guard lock(*mutex);
  std::string name = operator_name(signature);
  if (all->contains(name)) return name;
  auto made = std::make_unique<Declared>(signature);
  octet::add_plugin(made->plugin());
  all->emplace(name, std::move(made));
  return name;
}

}  // namespace octet_trt
