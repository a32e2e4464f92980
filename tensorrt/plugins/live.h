// SPDX-License-Identifier: Apache-2.0
// Plugins of networks that are being built and of engines that are loaded. Who builds or runs holds them; Octet's operators find them by
// their keys.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tensorrt/plugins/formats.h"

namespace octet_trt {

// All that a plan keeps of a plugin in a network.
struct PluginRecord {
  std::string key;  // of all that follows
  PluginName name;
  std::string layer;
  bool implicit = false;  // its tensors have a batch that it does not see
  std::string state;      // what it serialized, configured for reals
  PluginSignature signature;
};
std::string key_of(const PluginRecord& record);

class LivePlugin {
 public:
  LivePlugin(PluginRecord about, std::unique_ptr<PluginObject> object)
      : record(std::move(about)), object_(std::move(object)) {}

  // With the batch where it is implicit.
  std::vector<Dims> output_dims(const SizeSources& from) const;
  ToldSizes told_sizes(const SizeSources& from) const;
  std::vector<Dims> told_dims(const SizeSources& from, const SizeValues& values) const;
  size_t workspace(const PluginIo& io) const;
  int32_t aliased_input(int32_t output) const;
  // Runs on one object at a time; there are as many as there were runs at the same time, or queues whose work goes on.
  void enqueue(const PluginCall& call, bool as_serialized);

  const PluginRecord record;

 private:
  struct Started {
    PluginIo io;
    std::unique_ptr<PluginObject> object;
    const void* queue;
  };
  Started start(const PluginCall& call, bool as_serialized);
  SizeSources typed(SizeSources from) const;

  std::unique_ptr<PluginObject> object_;
  mutable std::mutex mutex_;  // of object_ and idle_
  std::vector<Started> idle_;
};
using LivePlugins = std::vector<std::shared_ptr<LivePlugin>>;

// Makes it findable as long as it is held. Of several with one key, which are alike, the last one is found.
std::shared_ptr<LivePlugin> publish(PluginRecord record, std::unique_ptr<PluginObject> object);
// Null: nobody holds it.
std::shared_ptr<LivePlugin> find_live(const std::string& key);

// The stream that runs of this thread are asked for in.
cudaStream_t& current_stream();

}  // namespace octet_trt
