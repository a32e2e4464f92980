// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "octet/tensorrt_inspector.h"
#include "tensorrt/engine/engine.h"
#include "tensorrt/shared/handed.h"

namespace octet_trt {

class Context;

class Inspector final : public Handed<IEngineInspector> {
 public:
  Inspector(std::shared_ptr<const EngineState> state, Reporter told);
#if NV_TENSORRT_MAJOR >= 10
  IEngineInspector* getPImpl() noexcept override { return this; }
#endif
  bool setExecutionContext(IExecutionContext const* context) noexcept override;
  IExecutionContext const* getExecutionContext() const noexcept override;
  AsciiChar const* getLayerInformation(int32_t layerIndex,
                                       LayerInformationFormat format) const noexcept override;
  AsciiChar const* getEngineInformation(LayerInformationFormat format) const noexcept override;
  void setErrorRecorder(IErrorRecorder* recorder) noexcept override;
  IErrorRecorder* getErrorRecorder() const noexcept override;

 private:
  std::shared_ptr<const EngineState> state_;
  Reporter reporter_;
  const octet::EngineInspector& inspector() const;

  Watch<const Context> context_;  // the client's, which may go before
  mutable std::optional<octet::EngineInspector> inspector_;
  mutable int64_t changes_ = 0;
  mutable std::string text_;  // valid until the next question
};

}  // namespace octet_trt
