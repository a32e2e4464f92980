// SPDX-License-Identifier: Apache-2.0
// Slice(x, starts, ends, axes?, steps?): every step-th element of a range of each axis; steps may be negative.
#include <algorithm>
#include <numeric>

#include "graph/op_def.h"
#include "ops/shared/axes.h"
#include "ops/shared/node_parser.h"
#include "ops/shared/open_dims.h"
#include "ops/shared/strided.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_model;

void parse(NodeParser& parser) {
  if (parser.opset >= 10) return;
  parser.ints_to_input("starts", 1);
  parser.ints_to_input("ends", 2);
  parser.ints_to_input("axes", 3);
}

struct Parameters {
  std::vector<s64> starts;
  std::vector<s64> ends;
  std::vector<s64> axes;
  std::vector<s64> steps;
};

// The view of a dense tensor that a slice is.
class Slicer {
 public:
  explicit Slicer(const Shape& input)
      : view_{.shape = input, .strides = dense_strides(input), .offset = 0}, input_(input) {}

  void cut(int axis, s64 start, s64 end, s64 step) {
    const s64 dim = input_[axis];
    if (step == 0) fail(kInvalid, "the step of axis {} is 0", axis);
    const bool forward = step > 0;
    start = std::clamp<s64>(start < 0 ? start + dim : start, 0, forward ? dim : dim - 1);
    end = std::clamp<s64>(end < 0 ? end + dim : end, forward ? 0 : -1, forward ? dim : dim - 1);
    // Unsigned, because -step overflows for the lowest step.
    const u64 stride = forward ? static_cast<u64>(step) : u64{0} - static_cast<u64>(step);
    const s64 distance = forward ? end - start : start - end;
    const u64 count = distance <= 0 ? 0 : (static_cast<u64>(distance) - 1) / stride + 1;
    s64& along = view_.strides[static_cast<size_t>(axis)];
    view_.shape[axis] = static_cast<s64>(count);
    if (count > 0) view_.offset += start * along;
    along = count > 1 ? along * step : 0;
  }

  const StridedView& view() const { return view_; }

 private:
  StridedView view_;
  Shape input_;
};

StridedView slice(const Shape& input, Parameters p) {
  if (p.axes.empty()) {
    p.axes.resize(p.starts.size());
    std::iota(p.axes.begin(), p.axes.end(), s64{0});
  }
  if (p.steps.empty()) p.steps.assign(p.starts.size(), 1);
  if (p.ends.size() != p.starts.size() || p.axes.size() != p.starts.size() ||
      p.steps.size() != p.starts.size()) {
    fail(kInvalid, "there are {} starts, {} ends, {} axes and {} steps", p.starts.size(),
         p.ends.size(), p.axes.size(), p.steps.size());
  }
  Slicer slicer(input);
  const std::vector<int> axes = normalize_axes(p.axes, input.rank());
  for (size_t i = 0; i < axes.size(); ++i) {
    // An empty axis stays empty, and clamping to [0, dim - 1] would have no room.
    if (input[axes[i]] > 0) slicer.cut(axes[i], p.starts[i], p.ends[i], p.steps[i]);
  }
  return slicer.view();
}

void infer(Inference& inference) {
  for (size_t i = 1; i <= 4; ++i) {
    if (!dims_are_open(inference, i)) continue;
    inference.output(inference.inputs[0].dtype, open_shape(inference.inputs[0].shape.rank()));
    return;
  }
  Parameters p{inference.required_ints(1, "the starts of a slice"),
               inference.required_ints(2, "the ends of a slice"),
               {},
               {}};
  if (inference.has_input(3)) p.axes = inference.required_ints(3, "the axes of a slice");
  if (inference.has_input(4)) p.steps = inference.required_ints(4, "the steps of a slice");
  inference.output(inference.inputs[0].dtype, slice(inference.inputs[0].shape, std::move(p)).shape);
}

void eval(const Eval& eval) {
  const ConstView& input = eval.inputs[0];
  const StridedView view = slice(input.shape, {read_ints(eval, 1), read_ints(eval, 2),
                                               read_ints(eval, 3), read_ints(eval, 4)});
  require_shape(eval.outputs[0].shape, view.shape);
  strided_copy(view, input.dtype, input.data, eval.outputs[0].data);
}

}  // namespace

extern constinit const OpDef kSlice{.name = "Slice",
                                    .inputs = {3, 5},
                                    .parse = parse,
                                    .infer = infer,
                                    .eval = eval,
                                    .quant = kMovesCodes};
}  // namespace octet
