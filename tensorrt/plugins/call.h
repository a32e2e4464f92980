// SPDX-License-Identifier: Apache-2.0
// A run of a plugin, or one question about it, as Octet's interface asks (octet/plugin.h).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "octet/plugin.h"
#include "tensorrt/plugins/live.h"
#include "tensorrt/shared/block_format.h"

namespace octet_trt {

// Blocks of channels are made by these calls: Octet gives rows, or channels last where the tensor has four dimensions.
bool is_octets_own(const TypedFormat& port, int32_t rank);

// Throws octet::Error where nobody holds the plugin of this call any more.
std::shared_ptr<LivePlugin> plugin_of(const octet_plugin_call& call);

class AbiCall {
 public:
  AbiCall(octet_plugin_call& call, const PluginSignature& signature, size_t combo)
      : call_(call),
        signature_(signature),
        combo_(signature.combos[combo]),
        index_(combo),
        plugin_(plugin_of(call)) {}

  int64_t workspace_bytes() const { return own_bytes() + plugin_bytes(); }
  void run();

 private:
  void enqueue(const PluginIo& io, std::vector<void*>& data, std::byte* workspace);
  const octet_plugin_tensor& tensor(size_t i) const {
    const auto inputs = static_cast<size_t>(signature_.inputs);
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
  int64_t block_bytes(size_t i) const;
  int64_t own_bytes() const;
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

}  // namespace octet_trt
