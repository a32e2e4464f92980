// SPDX-License-Identifier: Apache-2.0
// What eval and compare hold an engine against: its model in FP32 or another engine in this process, the model in ONNX Runtime in another
// process, or outputs that a file keeps.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/output/outputs.h"
#include "cli/samples/engine_source.h"
#include "cli/samples/samples.h"
#include "octet/engine.h"
#include "octet/inspect.h"
#include "octet/spread.h"

namespace octet::cli {

struct ReferenceFlags {
  std::string against;         // a file, or "onnxruntime:FILE"
  std::filesystem::path load;  // of saved outputs
  Output* save = nullptr;
  double seconds = 600;  // for an answer of the other process
  bool given() const { return !against.empty() || !load.empty(); }
};
void add_reference_flags(CLI::App& app, Outputs& outputs, ReferenceFlags& flags);

// "model.onnx" of "onnxruntime:model.onnx"; other texts as they are.
std::string without_runtime(const std::string& against);

class Reference {
 public:
  struct Options {
    int threads = 1;
    ModelFlags model = {};
    int64_t samples = 0;       // that will be compared
    Spread* tested = nullptr;  // runs the tested engine; null: a context of the CPU
  };
  // Throws one Error(invalid_argument) that lists every input and output which differs from those of `engine`.
  Reference(const ReferenceFlags& flags, const Engine& engine, const Options& options);
  ~Reference();
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;

  const std::string& name() const { return name_; }  // "ONNX Runtime 1.17.1"
  // Throws Error(invalid_argument) where there are outputs alone.
  void check_has_layers() const;
  // The errors of the values inside, worst first. Throws as check_has_layers().
  std::vector<ValueError> layers(const Engine& engine, const SampleSource& next,
                                 const CompareOptions& options) const;

  // A sample, with the outputs of the tested engine and of this.
  using EachPair = std::function<void(const LoadedSample&, std::span<const Tensor> tested,
                                      const std::vector<Tensor>& reference)>;
  // All samples that are left; then writes what --save-outputs names.
  void run(const Engine& engine, Samples& samples, const EachPair& each);

 private:
  struct Source;
  std::string name_;
  const ReferenceFlags& flags_;
  int threads_ = 1;
  Spread* tested_ = nullptr;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Source> source_;
};

}  // namespace octet::cli
