// SPDX-License-Identifier: Apache-2.0
// Sequences whose elements are known by name when a model is read, as PyTorch's exporter writes lists of tensors: what reads them
// reads the tensors.
#pragma once

#include "onnx/flatten.h"

namespace octet {

// Nodes of sequences that stay (a position or a number of elements that only a run knows) are left as they are, and unsupported.
void resolve_sequences(const octet_onnx::ModelProto& model, FlatGraph& flat);

}  // namespace octet
