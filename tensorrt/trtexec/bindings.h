// SPDX-License-Identifier: Apache-2.0
// Inputs of a run, from files or at random, and its outputs as texts and files.
#pragma once

#include <string>
#include <vector>

#include "octet/engine.h"
#include "tensorrt/trtexec/options.h"

namespace octet::cli::trtexec {

// One for each input, of the shapes given. Logs where its values come from. Throws Error(invalid_argument) for a file of another size
// and for a name of no input.
std::vector<Tensor> make_inputs(const Options& options, const Engine& engine,
                                const std::vector<Shape>& shapes);
void log_bindings(const std::vector<TensorInfo>& infos, const std::vector<TensorType>& types,
                  const char* kind);

std::string type_text(Dtype dtype);  // "fp32", "int8"

// "name: (1x10)" and the values, as --dumpOutput prints them.
void dump_outputs(const Options& options, const std::vector<TensorInfo>& infos,
                  const std::vector<Tensor>& outputs);
std::string outputs_json(const std::vector<TensorInfo>& infos, const std::vector<Tensor>& outputs);
// Each tensor into a file of the current folder: "name.input.1.3.224.224.fp32.raw".
void dump_raw(const Options& options, const std::vector<TensorInfo>& infos,
              const std::vector<Tensor>& tensors, const char* kind);

}  // namespace octet::cli::trtexec
