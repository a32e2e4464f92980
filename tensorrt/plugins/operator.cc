// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/plugins/operator.h"

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>

#include "octet/plugin.h"
#include "octet/plugins.h"
#include "tensorrt/plugins/call.h"
#include "tensorrt/plugins/sizes.h"
#include "tensorrt/shared/block_format.h"

namespace octet_trt {
namespace {

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
  void add_port(const std::string& name, uint32_t flags, int32_t min_rank, int32_t max_rank);
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
    const auto plugin = plugin_of(*call);
    const SizeSources from = size_sources(*call, plugin->record.signature.shapes);
    const std::vector<Dims> outputs = plugin->output_dims(from);
    for (size_t i = 0; i < outputs.size() && i < call->output_count; ++i) {
      call->outputs[i].rank = outputs[i].nbDims;
      std::copy(outputs[i].d, outputs[i].d + outputs[i].nbDims, call->outputs[i].dims);
    }
    open_sizes(*call, plugin->told_sizes(from));
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
  for (size_t i = 0; i < inputs; ++i)
    add_port("input" + std::to_string(i), 0, signature.ranks[i], signature.ranks[i]);
  for (int32_t i = 0; i < signature.shapes; ++i)
    add_port("shape" + std::to_string(i), OCTET_PORT_CONSTANT, 0, OCTET_PLUGIN_MAX_RANK);
  for (size_t i = inputs; i < signature.ranks.size(); ++i) {
    const bool sized = std::ranges::count(signature.sized, static_cast<int32_t>(i - inputs)) != 0;
    add_port("output" + std::to_string(i - inputs), sized ? OCTET_PORT_DATA_SIZED : 0,
             signature.ranks[i], signature.ranks[i]);
  }
  for (size_t i = 0; i < signature.combos.size(); ++i) add_combination(i, OCTET_DEVICE_HOST);
  for (size_t i = 0; signature.sized.empty() && i < signature.combos.size(); ++i)
    add_combination(i, OCTET_DEVICE_CUDA);
  operator_.size = sizeof operator_;
  operator_.name = name_.c_str();
  operator_.domain = kPluginDomain;
  operator_.version = 1;
  operator_.flags = OCTET_OPERATOR_CONCURRENT;
  operator_.attribute_count = 1;
  operator_.attributes = &attribute_;
  operator_.input_count = inputs + static_cast<size_t>(signature.shapes);
  operator_.inputs = ports_.data();
  operator_.output_count = signature.ranks.size() - inputs;
  operator_.outputs = ports_.data() + operator_.input_count;
  operator_.combination_count = combinations_.size();
  operator_.combinations = combinations_.data();
  operator_.infer = infer_plugin;
  operator_.create = create_instance;
  operator_.destroy = destroy_instance;
  operator_.user = this;
  list_[0] = &operator_;
  plugin_ = {sizeof plugin_, OCTET_PLUGIN_ABI, 0, "TensorRT plugin", "1", 1, list_};
}

void Declared::add_port(const std::string& name, uint32_t flags, int32_t min_rank,
                        int32_t max_rank) {
  ports_.push_back(
      {sizeof(octet_plugin_port), texts_.emplace_back(name).c_str(), flags, 1, min_rank, max_rank});
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
  octet_plugin_format numbers = {};  // of shape inputs
  numbers.size = sizeof numbers;
  numbers.type = OCTET_TYPE_S64;
  const auto inputs = static_cast<size_t>(signature_.inputs);
  for (size_t i = 0; i < combo.size(); ++i) {
    if (i == inputs) formats.resize(inputs + static_cast<size_t>(signature_.shapes), numbers);
    formats.push_back(abi_format(combo[i], signature_.ranks[i]));
    name += std::string(i == inputs ? "--" : "-") + name_of(combo[i].type);
    if (combo[i].format != TensorFormat::kLINEAR)
      name += std::string(".") + (format_info(combo[i].format)->name + 1);
  }
  if (device == OCTET_DEVICE_CUDA) name += "-cuda";
  octet_plugin_combination combination = {};
  combination.size = sizeof combination;
  combination.name = texts_.emplace_back(std::move(name)).c_str();
  combination.device = device;
  combination.inputs = formats.data();
  combination.outputs = formats.data() + inputs + signature_.shapes;
  combination.run = run_plugin;
  combination.workspace = plugin_workspace;
  combinations_.push_back(combination);
}

}  // namespace

namespace {

// Adds what is not there.
const Declared& declared(const PluginSignature& signature) {
  static std::mutex* const mutex = new std::mutex;
  static auto* const all = new std::map<std::string, std::unique_ptr<Declared>>;
  const std::lock_guard lock(*mutex);
  const std::string name = operator_name(signature);
  const auto found = all->find(name);
  if (found != all->end()) return *found->second;
  auto made = std::make_unique<Declared>(signature);
  octet::add_plugin(made->plugin());
  return *all->emplace(name, std::move(made)).first->second;
}

}  // namespace

std::string declare_operator(const PluginSignature& signature) {
  return declared(signature).name();
}

const octet_plugin& declared_plugin(const PluginSignature& signature) {
  return declared(signature).plugin();
}

}  // namespace octet_trt
