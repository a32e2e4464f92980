// SPDX-License-Identifier: Apache-2.0
// OpDef::infer and OpDef::eval of plugins' operators.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "core/thread_pool.h"
#include "graph/op_def.h"
#include "plugin/call.h"

namespace octet {

void infer_plugin(Inference& inference);
// Runs the first combination of the host that takes these numbers, with copies where it wants another layout.
void eval_plugin(const Eval& eval);
// The same on the threads of a run.
void eval_plugin_with(const Eval& eval, ThreadPool* pool);

// How a combination runs between tensors of the host: the sizes of the results, all of which are there when it returns.
struct PluginRunner {
  u32 device;  // OCTET_DEVICE_...
  std::function<std::vector<Shape>(const PluginStep&, std::span<const void* const> inputs,
                                   std::span<void* const> outputs)>
      run;
};
// False where no combination for the device takes these numbers.
bool eval_plugin_by(const Eval& eval, const PluginRunner& runner);

// Tensors without elements are the host's affair, where the plugin has a combination for it: a kernel of no blocks is an error of CUDA.
bool is_for_host(const PluginOp& op, const CodesForm& form, std::span<const TensorType> inputs);

// The same numbers as another type: codes as the other byte type, halves as f32 and back.
Tensor kept_as(const Tensor& tensor, Dtype dtype);

// What a node of this plugin means, from its attributes or, of reals, from its types.
CodesForm form_of(const Node& node, std::span<const TensorType> inputs);

}  // namespace octet
