// SPDX-License-Identifier: Apache-2.0
// What samples derive to keep their settings in; the library itself reads none of it.
#pragma once

#include "trt_entry.h"

namespace nvonnxparser {

class IOnnxConfig {
 public:
  virtual ~IOnnxConfig() noexcept = default;
  using Verbosity = int32_t;
  virtual void setModelDtype(nvinfer1::DataType const) noexcept = 0;
  virtual nvinfer1::DataType getModelDtype() const noexcept = 0;
  virtual char const* getModelFileName() const noexcept = 0;
  virtual void setModelFileName(char const* onnxFilename) noexcept = 0;
  virtual Verbosity getVerbosityLevel() const noexcept = 0;
  virtual void addVerbosity() noexcept = 0;
  virtual void reduceVerbosity() noexcept = 0;
  virtual void setVerbosityLevel(Verbosity) noexcept = 0;
  virtual char const* getTextFileName() const noexcept = 0;
  virtual void setTextFileName(char const* textFileName) noexcept = 0;
  virtual char const* getFullTextFileName() const noexcept = 0;
  virtual void setFullTextFileName(char const* fullTextFileName) noexcept = 0;
  virtual bool getPrintLayerInfo() const noexcept = 0;
  virtual void setPrintLayerInfo(bool) noexcept = 0;
#if NV_TENSORRT_MAJOR < 10
  virtual void destroy() noexcept { delete this; }
#endif
};

}  // namespace nvonnxparser
