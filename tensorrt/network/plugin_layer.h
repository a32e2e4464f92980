// SPDX-License-Identifier: Apache-2.0
// Layers that are plugins.
#pragma once

#include <memory>

#include "tensorrt/network/emit.h"
#include "tensorrt/plugins/live.h"

namespace octet_trt {

// What such a layer has beside the rest.
class PluginCore {
 public:
  // The last `shapes` inputs of the layer are shape inputs.
  void set(PluginName name, std::unique_ptr<PluginObject> object, int32_t shapes = 0);
  PluginObject& object() const { return *object_; }
  // The layer's shape inputs, checked to be what a shape input can be. Throws octet::Error.
  std::vector<Tensor*> shape_inputs(const LayerCore& layer) const;
  // Sets the types of the layer's outputs by asking the plugin. `shapes`: what is known of its shape inputs. Throws octet::Error.
  void infer(LayerCore& layer, std::vector<ShapeNumbers> shapes);
  // The plugin as the network has it now: negotiated, configured for reals, serialized. It is held until the next call.
  const std::shared_ptr<LivePlugin>& live(const LayerCore& layer);
  const std::shared_ptr<LivePlugin>& held() const { return held_; }

 private:
  PluginIo io_of(const LayerCore& layer) const;
  // How many inputs are no shape inputs.
  size_t data_inputs(const LayerCore& layer) const;

  PluginName name_;
  int32_t shapes_ = 0;
  std::vector<ShapeNumbers> numbers_;  // of shape inputs, as they were known last
  std::unique_ptr<PluginObject> object_;
  std::shared_ptr<LivePlugin> held_;
};

class PluginV2Layer final : public LayerOf<IPluginV2Layer>, public PluginCore {
 public:
  using LayerOf::LayerOf;
  PluginCore* plugin() override { return this; }
  IPluginV2& getPlugin() noexcept override { return *object().v2(); }
};

#if NV_TENSORRT_MAJOR >= 10
class PluginV3Layer final : public LayerOf<IPluginV3Layer>, public PluginCore {
 public:
  using LayerOf::LayerOf;
  PluginCore* plugin() override { return this; }
  IPluginV3& getPlugin() noexcept override { return *object().v3(); }
};
#endif

}  // namespace octet_trt
