// SPDX-License-Identifier: Apache-2.0
// Samples of level 8 include this header of what checks engines of the safety runtime. There is no such checker here: none is created.
#pragma once

#include "NvInfer.h"

namespace nvinfer1 {
namespace consistency {

class IConsistencyChecker {
 public:
  virtual bool validate() const noexcept = 0;
  virtual ~IConsistencyChecker() = default;
};

}  // namespace consistency
}  // namespace nvinfer1
