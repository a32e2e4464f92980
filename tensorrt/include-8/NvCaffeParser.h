// SPDX-License-Identifier: Apache-2.0
// Samples of level 8 include this header of a parser that TensorRT itself gave up. There is no such parser here: none is created.
#pragma once

#include "NvInfer.h"

namespace nvcaffeparser1 {

class IBlobNameToTensor {
 public:
  virtual nvinfer1::ITensor* find(char const* name) const noexcept = 0;

 protected:
  virtual ~IBlobNameToTensor() = default;
};

class ICaffeParser {
 public:
  virtual IBlobNameToTensor const* parse(char const* deploy, char const* model,
                                         nvinfer1::INetworkDefinition& network,
                                         nvinfer1::DataType weightType) noexcept = 0;
  virtual ~ICaffeParser() noexcept = default;
};

inline ICaffeParser* createCaffeParser() noexcept { return nullptr; }
inline void shutdownProtobufLibrary() noexcept {}

}  // namespace nvcaffeparser1
