// SPDX-License-Identifier: Apache-2.0
// A Clip of codes between QuantizeLinear and DequantizeLinear is how quantizers write fewer than 8 bits and narrow ranges
// (Brevitas, QCDQ). The same bounds as reals before the QuantizeLinear give the same codes, because rounding keeps the order and a code's
// real value quantizes to that code; there they become the bounds of the layer before. Runs before fuse_activation.
#include <algorithm>
#include <optional>

#include "core/rounding.h"
#include "ops/quantized/epilogue.h"
#include "ops/registry.h"
#include "passes/graph_pass.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/qdq.h"

namespace octet {
namespace {

class Clipper : EditingPass {
 public:
  using EditingPass::EditingPass;

  void run() {
    for (at_ = 0; at_ < graph_.nodes.size(); ++at_) {
      const Node& clip = graph_.nodes[at_];
      const Node* quantize =
          is_op(clip, "Clip") ? producer_of(graph_, uses_, clip.inputs[0]) : nullptr;
      if (quantize == nullptr || !is_quantize(*quantize)) continue;
      if (only_reader(graph_, uses_, clip.inputs[0]) == nullptr) continue;
      const std::optional<CodeType> type = code_type(graph_, *quantize);
      const auto bounds = type ? bounds_of(clip, *type) : std::nullopt;
      if (!bounds) continue;
      if (!rewrites_.allow()) break;
      move_before(clip, *type, *bounds);
    }
    edit_.apply();
  }

 private:
  // Constant bounds of codes, within the type; the lower one is no higher than the upper one.
  std::optional<CodeRange> bounds_of(const Node& clip, const CodeType& type) const {
    CodeRange range = code_range(type.dtype);
    s32* const ends[] = {&range.lo, &range.hi};
    for (size_t i = 0; i < 2; ++i) {
      if (clip.input(i + 1) == kNoValue) continue;
      const Tensor* bound = graph_.constant_input(clip, i + 1);
      if (bound == nullptr || bound->elements() != 1 || !is_code(bound->dtype())) return {};
      *ends[i] = code_at(view(*bound), 0);
    }
    if (range.lo > range.hi) return {};
    return range;
  }

  // QuantizeLinear takes the Clip's place, behind a Clip of reals.
  void move_before(const Node& clip, const CodeType& type, const CodeRange& bounds) {
    const auto from = static_cast<size_t>(uses_.producer(clip.inputs[0]));
    Node quantize = graph_.nodes[from];
    Node before = node_beside(clip, find_op("Clip"), clip.name, {quantize.inputs[0]});
    for (s32 code : {bounds.lo, bounds.hi}) {
      const f32 real = dequantize(code, type.params.scale, type.params.zero_point);
      before.inputs.push_back(graph_.add_constant(clip.name + ".bound", Tensor::scalar(real)));
    }
    const TensorType real = graph_.value(quantize.inputs[0]).type;
    before.outputs = {graph_.add_value(clip.name + ".real", real)};
    quantize.inputs[0] = before.outputs[0];
    quantize.outputs = graph_.nodes[at_].outputs;
    edit_.insert_before(at_, std::move(before));
    graph_.nodes[at_] = std::move(quantize);
    edit_.erase(from);
  }
};

}  // namespace

void clip_before_quantize(Graph& graph, Rewrites& rewrites) { Clipper(graph, rewrites).run(); }

}  // namespace octet
