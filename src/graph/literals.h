// SPDX-License-Identifier: Apache-2.0
// Types and constants in the text of a graph.
#pragma once

#include "graph/lexer.h"
#include "graph/text.h"

namespace octet {

// "f32[1,?]"; "f32[*]" of any rank.
TensorType parse_type(Lexer& lexer);
// "{1, 2}", or "#3", which `blob` knows.
Tensor parse_tensor(Lexer& lexer, const TensorType& type, const BlobSource& blob);

}  // namespace octet
