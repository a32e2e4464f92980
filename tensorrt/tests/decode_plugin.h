// SPDX-License-Identifier: Apache-2.0
// A plugin as programs have them in a header of their own: it decodes three feature maps into a list of the best places. It is careless as
// they are: its namespace is a pointer that nobody sets and clone() copies, it serializes nothing, and it takes reals in rows alone.
// Whoever includes it registers its creator, before main.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "NvInfer.h"

namespace trt_test {

constexpr int kMostPlaces = 16;
constexpr int kPlaceValues = 3;  // score, row, column

// Of all maps: channel 0 is a score, channels 1 and 2 move the place. The same for the plugin and for who checks it.
inline std::vector<float> decoded(const float* const* maps, const int* sides) {
  std::vector<float> places(1 + kMostPlaces * kPlaceValues, 0.0F);
  int count = 0;
  for (int level = 0; level < 3; ++level) {
    const int side = sides[level], size = side * side;
    for (int i = 0; i < size && count < kMostPlaces; ++i) {
      if (maps[level][i] <= 0.5F) continue;
      float* place = places.data() + 1 + kPlaceValues * count++;
      const auto step = static_cast<float>(32 / side);
      place[0] = maps[level][i];
      place[1] = (static_cast<float>(i / side) + maps[level][size + i]) * step;
      place[2] = (static_cast<float>(i % side) + maps[level][2 * size + i]) * step;
    }
  }
  places[0] = static_cast<float>(count);
  return places;
}

class DecodePlugin : public nvinfer1::IPluginV2IOExt {
 public:
  DecodePlugin() = default;
  DecodePlugin(const void*, size_t length) {
    if (length != 0) sides_[0] = -1;
  }
  int getNbOutputs() const noexcept override { return 1; }
  nvinfer1::Dims getOutputDimensions(int, const nvinfer1::Dims*, int) noexcept override {
    return nvinfer1::Dims3(1 + kMostPlaces * kPlaceValues, 1, 1);
  }
  int initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getWorkspaceSize(int) const noexcept override { return 0; }
  int enqueue(int batch, const void* const* inputs, void* const* outputs, void*,
              cudaStream_t stream) noexcept override {
    const size_t values = 1 + kMostPlaces * kPlaceValues;
    auto* out = static_cast<float*>(outputs[0]);
    cudaMemsetAsync(out, 0, static_cast<size_t>(batch) * values * sizeof(float), stream);
    for (int n = 0; n < batch; ++n) {
      const float* maps[3];
      for (int i = 0; i < 3; ++i)
        maps[i] = static_cast<const float*>(inputs[i]) + n * 3 * sides_[i] * sides_[i];
      const std::vector<float> places = decoded(maps, sides_);
      std::memcpy(out + static_cast<size_t>(n) * values, places.data(), values * sizeof(float));
    }
    return 0;
  }
  size_t getSerializationSize() const noexcept override { return 0; }
  void serialize(void*) const noexcept override {}
  bool supportsFormatCombination(int pos, const nvinfer1::PluginTensorDesc* inOut, int,
                                 int) const noexcept override {
    return inOut[pos].format == nvinfer1::TensorFormat::kLINEAR &&
           inOut[pos].type == nvinfer1::DataType::kFLOAT;
  }
  void configurePlugin(const nvinfer1::PluginTensorDesc*, int, const nvinfer1::PluginTensorDesc*,
                       int) noexcept override {}
  const char* getPluginType() const noexcept override { return "Decode_TEST"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  void destroy() noexcept override { delete this; }
  nvinfer1::IPluginV2IOExt* clone() const noexcept override {
    auto* other = new DecodePlugin;
    other->setPluginNamespace(space_);
    return other;
  }
  void setPluginNamespace(const char* space) noexcept override { space_ = space; }
  const char* getPluginNamespace() const noexcept override { return space_; }
  nvinfer1::DataType getOutputDataType(int, const nvinfer1::DataType*,
                                       int) const noexcept override {
    return nvinfer1::DataType::kFLOAT;
  }

 private:
  int sides_[3] = {4, 2, 1};
  const char* space_ = reinterpret_cast<const char*>(8);  // as if nobody had set it
};

class DecodePluginCreator : public nvinfer1::IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return "Decode_TEST"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return &fields_; }
  nvinfer1::IPluginV2IOExt* createPlugin(const char*,
                                         const nvinfer1::PluginFieldCollection*) noexcept override {
    return new DecodePlugin;
  }
  nvinfer1::IPluginV2IOExt* deserializePlugin(const char*, const void* data,
                                              size_t length) noexcept override {
    return new DecodePlugin(data, length);
  }
  void setPluginNamespace(const char* space) noexcept override { space_ = space; }
  const char* getPluginNamespace() const noexcept override { return space_.c_str(); }

 private:
  std::string space_;
  nvinfer1::PluginFieldCollection fields_{};
};
REGISTER_TENSORRT_PLUGIN(DecodePluginCreator);

}  // namespace trt_test
