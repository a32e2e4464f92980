// SPDX-License-Identifier: Apache-2.0
// OpDef::infer and OpDef::eval of plugins' operators.
#pragma once

#include "graph/op_def.h"
#include "plugin/codes.h"

namespace octet {

void infer_plugin_reals(Inference& inference);
void infer_plugin_codes(Inference& inference);
// Runs the first combination of the host that takes these numbers, with copies where it wants another layout.
void eval_plugin(const Eval& eval);

// What a node of this plugin means, from its attributes or, of reals, from its types.
CodesForm form_of(const Node& node, std::span<const TensorType> inputs);

}  // namespace octet
