// SPDX-License-Identifier: Apache-2.0
// Samples of level 8 include this header of the safety runtime. There is no such runtime here: none is created.
#pragma once

#include "NvInfer.h"

namespace nvinfer1 {
namespace safe {

class IExecutionContext {
 public:
  virtual ~IExecutionContext() noexcept = default;
};

class ICudaEngine {
 public:
  virtual IExecutionContext* createExecutionContext() noexcept = 0;
  virtual ~ICudaEngine() noexcept = default;
};

class IRuntime {
 public:
  virtual ICudaEngine* deserializeCudaEngine(void const* blob, std::size_t size) noexcept = 0;
  virtual void setErrorRecorder(IErrorRecorder* recorder) noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual ~IRuntime() noexcept = default;
};

}  // namespace safe
}  // namespace nvinfer1
