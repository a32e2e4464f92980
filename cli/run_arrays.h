// SPDX-License-Identifier: Apache-2.0
// The outputs of many results as the arrays of one .npz.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "octet/engine.h"

namespace octet::cli {

class RunArrays {
 public:
  explicit RunArrays(std::span<const TensorInfo> outputs)
      : infos_(outputs.begin(), outputs.end()), results_(outputs.size()) {}

  void add(std::span<const Tensor> outputs);
  // One array an output, the results in order along its first axis; "NAME[0]", "NAME[1]" and so on where their other sizes differ.
  std::vector<std::pair<std::string, Tensor>> joined() const;

 private:
  std::vector<TensorInfo> infos_;
  std::vector<std::vector<Tensor>> results_;  // of each output
};

}  // namespace octet::cli
