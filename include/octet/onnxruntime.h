// SPDX-License-Identifier: Apache-2.0
// A model in ONNX Runtime, in a process of its own: Python that is found when it is wanted. Octet does not need it; where it is missing
// the error says what to install.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"
#include "octet/tensor.h"

namespace octet {

struct OnnxRuntimeOptions {
  int threads = 1;
  bool rewrites = true;  // its optimizations of the graph
  double seconds = 600;  // the longest that it may take to answer
  std::string python =
      {};  // empty: that of OCTET_PYTHON, else the first with the packages among those of
           // VIRTUAL_ENV, ./.venv and PATH
};

class OnnxRuntime {
 public:
  // Throws Error(unsupported) where no Python has the packages, Error(io) where it ends or takes too long, and
  // Error(invalid_argument) for what ONNX Runtime says against the model.
  static OnnxRuntime open(const std::filesystem::path& model,
                          const OnnxRuntimeOptions& options = {});
  // A model in memory, its weights inside; `name` is what errors call it.
  static OnnxRuntime open(std::span<const std::byte> model, const std::string& name,
                          const OnnxRuntimeOptions& options = {});
  ~OnnxRuntime();
  OnnxRuntime(OnnxRuntime&&) noexcept;
  OnnxRuntime& operator=(OnnxRuntime&&) noexcept;

  const std::string& version() const;  // "1.17.1"
  const std::vector<TensorInfo>& inputs() const;
  const std::vector<TensorInfo>& outputs() const;

  // Inputs in the order of inputs(); the named outputs, which are among outputs(). Errors as of open().
  std::vector<Tensor> run(std::span<const Tensor> inputs, std::span<const std::string> outputs);

 private:
  struct Impl;
  explicit OnnxRuntime(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace octet
