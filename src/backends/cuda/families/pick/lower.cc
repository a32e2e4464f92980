// SPDX-License-Identifier: Apache-2.0
// GatherChannels of images: runs of channels are moved, others picked one by one (the kernel of this folder).
#include <limits>

#include "backends/cuda/families/pick/spec.h"
#include "backends/cuda/lower/element_type.h"
#include "backends/cuda/lower/move.h"
#include "backends/cuda/lower/product.h"
#include "ops/attributes/moves.h"

namespace octet::cuda {
namespace {

struct Pick {
  size_t input = 0;
  s64 channel = 0;
};

struct PickStep {
  std::vector<TensorType> inputs;
  TensorType output;
  std::vector<Pick> picks;  // of each channel of the output
};

std::vector<Pick> picks_of(const LowerRequest& request) {
  std::vector<Pick> picks;
  for (s64 channel : attribute_of<&GatherChannelsAttributes::channels>(request.node)) {
    size_t i = 0;
    for (; channel >= request.inputs[i].shape[1]; ++i) channel -= request.inputs[i].shape[1];
    picks.push_back({i, channel});
  }
  return picks;
}

// Channels that follow each other in one input.
std::vector<Move> runs_of(const PickStep& step) {
  std::vector<Move> runs;
  for (size_t c = 0; c < step.picks.size(); ++c) {
    const Pick& pick = step.picks[c];
    Move* last = runs.empty() ? nullptr : &runs.back();
    if (last != nullptr && last->input == pick.input &&
        last->in_first.second + last->axes[1].size == pick.channel) {
      ++last->axes[1].size;
      continue;
    }
    Shape one = step.output.shape;
    one[1] = 1;
    runs.push_back(whole_move(one));
    runs.back().input = pick.input;
    runs.back().in_first = {1, pick.channel};
    runs.back().out_first = {1, static_cast<s64>(c)};
  }
  return runs;
}

Launch make_launch(const CudaDevice& device, const PickStep& step, const BindArgs& bind) {
  const Shape& shape = step.output.shape;
  const s64 bytes = static_cast<s64>(dtype_bytes(step.output.dtype));
  const PixelStrides y = pixel_strides(shape, bind.outputs[0]);
  const s64 vector =
      common_power(8 / bytes, {shape[1], y.image, y.row, y.pixel, bind.output_offset(0) / bytes});
  pick::Spec spec{.element = element_of_bytes(bytes),
                  .vector = field_of(vector),
                  .images = shape[0],
                  .out_h = field_of(shape[2]),
                  .out_w = field_of(shape[3]),
                  .channels = field_of(shape[1]),
                  .y = y,
                  .inputs = {}};
  for (size_t i = 0; i < step.inputs.size(); ++i)
    append(spec.inputs, pixel_strides(step.inputs[i].shape, bind.inputs[i]));
  return {.source = source_of("pick", spec),
          .shape = blocks_for(device, count(spec), pick::kThreads)};
}

std::vector<std::byte> table_of(const PickStep& step) {
  std::vector<u32> table;
  for (const Pick& pick : step.picks) {
    table.push_back(static_cast<u32>(pick.input) << pick::kInputShift |
                    static_cast<u32>(pick.channel));
  }
  return bytes_of<u32>(table);
}

}  // namespace

Offer lower_gather_channels(const LowerRequest& request) {
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    if (request.constant(i) != nullptr) return Reject{"an input is a constant"};
    constexpr s64 kMostChannels = 1 << 24;
    if (request.inputs[i].shape.rank() != 4) return Reject{"the inputs are not images"};
    if (request.inputs[i].shape[1] > kMostChannels) return Reject{"there are 2^24 channels"};
  }
  if (request.inputs.size() > size_t{pick::kMostInputs})
    return Reject{"there are more than 8 inputs"};
  const Shape& shape = request.outputs[0].shape;
  constexpr s64 kMost = std::numeric_limits<s32>::max();
  if (shape.elements() == 0) return Reject{"there is nothing to move"};
  if (shape[1] > kMost || shape[2] * shape[3] > kMost)
    return Reject{"an image has more than 2^31 pixels or channels"};
  const PickStep step{request.inputs, request.outputs[0], picks_of(request)};
  Candidate candidate = candidate_of(request, "pick_channels", Layout::nhwc);
  candidate.strided = candidate.writes_slices = true;
  constexpr size_t kMostRuns = 4;
  if (std::vector<Move> runs = runs_of(step); runs.size() <= kMostRuns) {
    candidate.kernel = "move_channels";
    set_moves(candidate, request, {.moves = std::move(runs)});
    return candidate;
  }
  const CudaDevice& device = device_of(request);
  set_step(candidate, device,
           {.make_launch = [&device,
                            step](const BindArgs& bind) { return make_launch(device, step, bind); },
            .recipes =
                [step](const BindArgs&) {
                  return std::vector<BlobRecipe>{{"", {}, [step] { return table_of(step); }}};
                }},
           [inputs = step.inputs.size()](const StepData& data) {
             pick::Params p{};
             for (size_t i = 0; i < inputs; ++i) p.x[i] = data.input(i);
             p.picks = data.blob<u32>(0);
             p.y = data.output();
             return p;
           });
  return candidate;
}

}  // namespace octet::cuda
