// SPDX-License-Identifier: Apache-2.0
// Rows that are normalized each on its own, as the kernels of rows and of norm_pairs take them.
#pragma once

#include "backends/cuda/device/rows.h"
#include "backends/cuda/lower/step.h"

namespace octet::cuda {

struct RowsRequest {
  const char* name = "";
  s64 rows = 0, count = 0, inner = 1;
  s64 channels = 0;  // of an image, where scale and bias belong to them
  s64 group = 1;     // of a row
  bool softmax = false, centered = false;
  f32 epsilon = 0.0f;
  bool has_bias = false;
  Tensor scale = {}, bias = {};  // empty where a run brings them
  Layout layout = Layout::linear;
  RowValues values = {};
  size_t x_input = 0, added_input = 0;  // of the step
};

// Of what the node reads and writes.
RowValues row_values(const LowerRequest& request);
// Of a block. Few rows are spread over all multiprocessors, a warp at least.
s64 row_block_threads(const RowsRequest& rows, s64 lanes, const Chip& chip);

// What Softmax, LayerNormalization and RMSNormalization compute. Empty, or why no kernel takes it.
std::string read_rows(const LowerRequest& request, RowsRequest& rows);
Offer rows_offer(const LowerRequest& request, const RowsRequest& rows);

// The same behind casts of 16 bits and a sum, and before a rounding: families/rows/halves.cc.
std::vector<u32> find_half_rows(const Graph& graph, const Uses& uses, u32 last);
// The same of a normalization with the codes that a QuantizeLinear makes of its result, which others read as it is.
std::vector<u32> find_coded_rows(const Graph& graph, const Uses& uses, u32 last);
Offer offer_half_rows(const LowerRequest& chain);

// Whether norm_pairs takes rows: of whole 16 elements, few enough to keep.
bool takes_pairs(const RowsRequest& rows);
// Whether `parts` eights of threads may share a row.
bool takes_parts(const RowsRequest& rows, s64 parts);
// Whether it may load several elements at once from where values lie.
bool pairs_are_aligned(const BindArgs& bind);
Launch pairs_launch(const RowsRequest& rows, s64 parts, const Chip& chip);
// In cycles.
f64 pairs_cycles(const RowsRequest& rows, s64 parts, const Chip& chip);

}  // namespace octet::cuda
