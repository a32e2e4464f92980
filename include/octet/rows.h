// SPDX-License-Identifier: Apache-2.0
// Runs over batches whose rows lie apart, such as requests of many clients that run together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "octet/engine.h"
#include "octet/tensor.h"

namespace octet {

// A batch each row of which (an index of the first axis) lies for itself in the host's memory, dense.
template <class Byte>
struct BasicRowsView {
  TensorType type;              // of the whole batch; every size is known
  std::span<Byte* const> rows;  // as many as the first size
};
using RowsView = BasicRowsView<const std::byte>;
using MutableRowsView = BasicRowsView<std::byte>;

// As Context::run_into() over one batch of these rows. Layers that go through the batch image by image read and write rows where they lie, if these are
// multiples of the element's size; what else takes them gets one copy. Returns how many bytes were copied.
// The context keeps no row of the caller's; its copies, a batch of each tensor at most, stay in its memory for the next run.
int64_t run_rows_into(Context& context, std::span<const RowsView> inputs,
                      std::span<const MutableRowsView> outputs);

}  // namespace octet
