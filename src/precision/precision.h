// SPDX-License-Identifier: Apache-2.0
// Which node runs in INT8, and why; then the Q/DQ nodes that say so in the graph. Fusion (passes/fuse_qdq.cc) turns them
// into integer operators, for calibrated and explicitly quantized models alike.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/types.h"
#include "graph/graph.h"
#include "octet/range.h"
#include "passes/qdq.h"
#include "precision/layer_losses.h"

namespace octet {

class WeightCodes;    // ops/quantized/weight_codes.h
struct LayerRequest;  // precision/constraints.h

using Ranges = std::unordered_map<ValueId, Range>;

// A layer that INT8 was asked for, and that would stay real otherwise.
struct OverruledGuard {
  std::string layer;
  f64 lost = 0;      // what it costs, as a part of the model's outputs or of the layer's own result
  std::string cost;  // the sentence of the guard
};

struct PrecisionOptions {
  std::vector<std::string> keep_float;          // node names, ONNX node names or operator names
  std::span<const LayerRequest> requests = {};  // one for each node; empty: nothing is asked
  std::vector<OverruledGuard>* overruled = nullptr;  // to be filled; null: nobody asks
  std::span<const LayerLoss> measured = {};          // layers that are not among them are estimated
  // By what part those of them that stay real may slow an engine; absent: all are estimated.
  std::optional<f64> most_slower = std::nullopt;
};

// The f32 activations whose ranges assign_precision and place_qdq need, in graph order.
std::vector<ValueId> values_to_observe(const Graph& graph);

// What is kept in f32 by names. One that a layer, or an ONNX node in it, has means these; any other means an operator.
class KeptNames {
 public:
  KeptNames(const Graph& graph, std::span<const std::string> names);
  // The name that keeps the node; null: none does.
  const std::string* keeper_of(const Node& node) const;

 private:
  std::unordered_set<std::string> nodes_, operators_;
};

// The names of all layers of the graph and of its bodies, and of the ONNX nodes in them.
std::unordered_set<std::string_view> node_names(const Graph& graph);
// Throws Error(invalid_argument) for a keep_float name that no node is called by.
void check_kept_names(const Graph& graph, std::span<const std::string> names);

// Sets Node::decision of every node. Throws Error(invalid_argument) when a keep_float name matches nothing.
void assign_precision(Graph& graph, const Ranges& ranges, const PrecisionOptions& options);

// What a user is told of guards that requests overruled; empty where none were.
std::string warning_of(std::vector<OverruledGuard> overruled);

// After assign_precision: the tensors without a usable range, and the layers that are real for want of it.
std::vector<MissingRange> missing_ranges(const Graph& graph, const Ranges& ranges);

// Shortens the range of a value that only a table reads, where the table's function is flat: the tail of SiLU, GELU, sigmoid.
void narrow_table_inputs(const Graph& graph, Ranges& ranges);

// The codes that a range gets (docs/numerics.md section 1).
CodeType code_type_of(const Range& range);

// A convolution that stays real where codes cost too much: of an image, with constant f32 weights.
bool is_guarded(const Graph& graph, const Node& node);

// The part of the model's outputs that the rounding of a convolution's input takes away, as far as calibration saw the channels: 0 nothing,
// 1 all. `relevance`: of the channels of its result (precision/relevance.h).
f64 lost_share(const Graph& graph, const Node& node, const Range& input, const Range& output,
               const std::vector<f64>& relevance);

// The same of a recurrent layer that has a form of codes, by a trial of some steps.
f64 lost_by_recurrence(const Graph& graph, const Node& node, const Range& input);

// Takes from each convolution's bias what the rounding of its weights adds to the mean of its channels.
void correct_biases(Graph& graph, const Ranges& ranges, WeightCodes& weight_codes);

// Puts QuantizeLinear and DequantizeLinear around every value that an int8 node reads or moves. Values that share one
// scale by their operators (pooling, reshaping, concatenation) get one range.
void place_qdq(Graph& graph, const Ranges& ranges, WeightCodes& weight_codes);

// After fusion: gives a precision and a reason to nodes that have none yet, and codes the name of the real value they
// replaced, so that the integer graph can be compared with the float one by name.
void finish_decisions(Graph& graph);

}  // namespace octet
