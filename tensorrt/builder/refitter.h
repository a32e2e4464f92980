// SPDX-License-Identifier: Apache-2.0
// New weights for an engine: its model, which a refittable plan carries, is built again with them.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tensorrt/engine/engine.h"
#include "tensorrt/shared/handed.h"
#include "tensorrt/shared/onnx_text.h"

namespace octet_trt {

class Refitter final : public Handed<IRefitter> {
 public:
  Refitter(Engine& engine, ILogger* logger);
  bool setWeights(char const* layerName, WeightsRole role, Weights weights) noexcept override;
  bool refitCudaEngine() noexcept override;
  int32_t getMissing(int32_t size, char const** layerNames, WeightsRole* roles) noexcept override;
  int32_t getAll(int32_t size, char const** layerNames, WeightsRole* roles) noexcept override;
  bool setDynamicRange(char const* tensorName, float min, float max) noexcept override;
  float getDynamicRangeMin(char const* tensorName) const noexcept override;
  float getDynamicRangeMax(char const* tensorName) const noexcept override;
  int32_t getTensorsWithDynamicRange(int32_t size,
                                     char const** tensorNames) const noexcept override;
  void setErrorRecorder(IErrorRecorder* recorder) noexcept override;
  IErrorRecorder* getErrorRecorder() const noexcept override;
  bool setNamedWeights(char const* name, Weights weights) noexcept override;
  int32_t getMissingWeights(int32_t size, char const** weightsNames) noexcept override;
  int32_t getAllWeights(int32_t size, char const** weightsNames) noexcept override;
  ILogger* getLogger() const noexcept override;
  bool setMaxThreads(int32_t maxThreads) noexcept override;
  int32_t getMaxThreads() const noexcept override;
#if NV_TENSORRT_MAJOR >= 10
  IRefitter* getPImpl() noexcept override { return this; }
  bool setNamedWeightsWithLocation(char const* name, Weights weights,
                                   TensorLocation location) noexcept override;
  Weights getNamedWeights(char const* weightsName) const noexcept override;
  TensorLocation getWeightsLocation(char const* weightsName) const noexcept override;
  bool unsetNamedWeights(char const* weightsName) noexcept override;
  void setWeightsValidation(bool weightsValidation) noexcept override;
  bool getWeightsValidation() const noexcept override;
  bool refitCudaEngineAsync(cudaStream_t stream) noexcept override;
  Weights getWeightsPrototype(char const* weightsName) const noexcept override;
#endif

  const Reporter& reporter() const { return reporter_; }
  const Watched<Refitter> watched{this};

 private:
  struct Weight {
    std::string name;
    octet::TensorType type;
    size_t place = 0;    // among the model's initializers
    std::string values;  // as they are, or as they were set
    bool is_set = false;
  };

  Weight* find(const std::string& name) const;
  bool set(const std::string& name, const Weights& weights);
  std::string changed_graph(std::string_view graph) const;
  bool rebuild();

  std::shared_ptr<EngineState> state_;
  Reporter reporter_;
  mutable std::map<std::string, Weight> weights_;
  std::map<std::string, std::array<float, 2>> ranges_;
  std::set<std::string> layers_;  // names that were handed out
  bool validates_ = true;
  int32_t max_threads_ = 1;
};

// Null, and a line in the log, where the plan does not allow it.
void* make_refitter(ICudaEngine& engine, ILogger* logger) noexcept;
#if NV_TENSORRT_MAJOR >= 10
void* make_parser_refitter(IRefitter& refitter, ILogger* logger) noexcept;
#endif

}  // namespace octet_trt
