// SPDX-License-Identifier: Apache-2.0
// Which sizes a network with inputs of any size does take.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "octet/engine.h"

namespace octet {

// What to say where a run over these inputs failed by `error` because the network does not take images of their size: one sentence with
// the sizes that it takes. Empty where that is not the reason.
std::string size_advice(const Engine& engine, std::span<const Tensor> inputs, const Error& error);

// Where planning fails for `shapes`: the least power of two up to 128 such that it succeeds when every dynamic dimension beyond the
// first is rounded up to a multiple of it. Found by trying. Nothing where none helps, or no such dimension is dynamic.
std::optional<int64_t> side_that_fits(const Engine& engine, std::span<const Shape> shapes);

}  // namespace octet
