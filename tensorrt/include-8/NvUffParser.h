// SPDX-License-Identifier: Apache-2.0
// Samples of level 8 include this header of a parser that TensorRT itself gave up. There is no such parser here: none is created.
#pragma once

#include "NvInfer.h"

namespace nvuffparser {

enum class UffInputOrder : int32_t { kNCHW = 0, kNHWC = 1, kNC = 2 };

class IUffParser {
 public:
  virtual bool registerInput(char const* inputName, nvinfer1::Dims inputDims,
                             UffInputOrder inputOrder) noexcept = 0;
  virtual bool registerOutput(char const* outputName) noexcept = 0;
  virtual bool parse(char const* file, nvinfer1::INetworkDefinition& network,
                     nvinfer1::DataType weightsType = nvinfer1::DataType::kFLOAT) noexcept = 0;
  virtual ~IUffParser() noexcept = default;
};

inline IUffParser* createUffParser() noexcept { return nullptr; }
inline void shutdownProtobufLibrary() noexcept {}

}  // namespace nvuffparser
