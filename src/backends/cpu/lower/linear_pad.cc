// SPDX-License-Identifier: Apache-2.0
// Pad of any rank, mode and type, in the order in which the input lies: rows copied in runs. Images padded on height and width alone
// have a better lowering, which is asked first.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "backends/host/queue.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"
#include "ops/shared/pad.h"
#include "plan/offer.h"

namespace octet {
namespace {

// Longer axes would make the maps as large as the tensor.
constexpr s64 kMaxDim = 1 << 24;
constexpr size_t kValue = 2;  // input

// Consecutive elements of a row of the output; from < 0: the fill value.
struct Run {
  s64 from, to, length;
};

std::vector<Run> runs_of(std::span<const s64> map) {
  std::vector<Run> runs;
  for (size_t i = 0; i < map.size(); ++i) {
    const bool filled = map[i] < 0;
    const bool goes_on =
        i > 0 && (filled ? map[i - 1] < 0 : map[i - 1] >= 0 && map[i] == map[i - 1] + 1);
    if (goes_on) {
      ++runs.back().length;
    } else {
      runs.push_back({filled ? -1 : map[i], static_cast<s64>(i), 1});
    }
  }
  return runs;
}

struct PadStep {
  size_t bytes;
  std::array<std::byte, 8> known{};
  bool reads_value = false;  // of the run
  AxisMaps outer;            // source offsets in elements; -1: filled
  std::vector<Run> runs;
  s64 rows = 1, length = 0;

  void fill_run(const std::byte* value, std::byte* to, s64 count) const noexcept {
    for (s64 i = 0; i < count; ++i) std::memcpy(to + static_cast<size_t>(i) * bytes, value, bytes);
  }

  void row(const std::byte* src, const std::byte* value, std::byte* dst, s64 index) const noexcept {
    dst += static_cast<size_t>(index * length) * bytes;
    s64 offset = 0;
    for (size_t d = outer.size(); d-- > 0;) {
      const auto size = static_cast<s64>(outer[d].size());
      const s64 at = outer[d][static_cast<size_t>(index % size)];
      if (at < 0) return fill_run(value, dst, length);
      offset += at;
      index /= size;
    }
    src += static_cast<size_t>(offset) * bytes;
    for (const Run& run : runs) {
      std::byte* to = dst + static_cast<size_t>(run.to) * bytes;
      if (run.from < 0) {
        fill_run(value, to, run.length);
      } else {
        std::memcpy(to, src + static_cast<size_t>(run.from) * bytes,
                    static_cast<size_t>(run.length) * bytes);
      }
    }
  }

  void operator()(const StepArgs& step) const noexcept {
    const std::byte* value = reads_value ? step.inputs[kValue] : known.data();
    pool_of(step).parallel_for(rows, [&](s64 begin, s64 end, int) {
      for (s64 i = begin; i < end; ++i) row(step.inputs[0], value, step.outputs[0], i);
    });
  }
};

// Where rows are whole pixels that stay as they are, the axis before becomes part of the row: its neighbours are copied at once.
void merge_pixels(PadStep& step) {
  while (!step.outer.empty() && step.runs.size() == 1 && step.runs[0].from == 0) {
    const s64 pixel = step.length;
    const std::vector<s64> map = std::move(step.outer.back());
    step.outer.pop_back();
    step.rows /= std::ssize(map);
    step.length = 0;
    step.runs.clear();
    for (s64 at : map) {
      Run* last = step.runs.empty() ? nullptr : &step.runs.back();
      const bool goes_on =
          last != nullptr &&
          (at < 0 ? last->from < 0 : last->from >= 0 && at == last->from + last->length);
      if (goes_on) {
        last->length += pixel;
      } else {
        step.runs.push_back({at < 0 ? -1 : at, step.length, pixel});
      }
      step.length += pixel;
    }
  }
}

bool read_ints(const LowerRequest& request, size_t i, std::vector<s64>& values) {
  if (!request.has_input(i)) return true;
  const Tensor* tensor = request.constant(i);
  if (tensor == nullptr || (tensor->dtype() != Dtype::s64 && tensor->dtype() != Dtype::s32))
    return false;
  for (s64 k = 0; k < tensor->elements(); ++k) {
    const auto at = static_cast<size_t>(k);
    values.push_back(tensor->dtype() == Dtype::s64 ? tensor->as<s64>()[at] : tensor->as<s32>()[at]);
  }
  return true;
}

// The axes in the order of memory, with offsets in place of indices; the last one becomes runs.
std::shared_ptr<PadStep> step_of(const AxisMaps& maps, const Shape& input, Layout layout,
                                 size_t bytes) {
  auto step = std::make_shared<PadStep>();
  step->bytes = bytes;
  std::vector<int> order =
      layout == Layout::nhwc ? std::vector<int>{0, 2, 3, 1} : std::vector<int>{};
  for (int d = 0; order.empty() || std::ssize(order) < input.rank(); ++d) order.push_back(d);
  s64 stride = 1;
  for (size_t i = order.size(); i-- > 0; stride *= input[order[i]]) {
    std::vector<s64> map = maps[static_cast<size_t>(order[i])];
    if (i + 1 == order.size()) {
      step->runs = runs_of(map);
      step->length = std::ssize(map);
      continue;
    }
    for (s64& at : map) at = at < 0 ? at : at * stride;
    step->rows *= std::ssize(map);
    step->outer.insert(step->outer.begin(), std::move(map));
  }
  if (step->length == input[order.back()]) merge_pixels(*step);
  return step;
}

}  // namespace

Offer lower_linear_pad(const LowerRequest& request) {
  if (request.constant(0) != nullptr) return Reject{"the input is a constant"};
  const Shape &input = request.inputs[0].shape, &output = request.outputs[0].shape;
  if (input.rank() == 0 || input.elements() == 0 || output.elements() == 0)
    return Reject{"a side is empty or a scalar"};
  if (std::ranges::any_of(output, [](s64 dim) { return dim > kMaxDim; }))
    return Reject{"an axis is longer than 2^24"};
  std::vector<s64> pads, axes;
  if (!read_ints(request, 1, pads) || !read_ints(request, 3, axes))
    return Reject{"the pads are not constant"};
  const bool has_value = request.has_input(kValue) &&
                         attribute_of<&PadAttributes::mode>(request.node) == PadMode::constant;
  const Layout layout = request.layouts[0];
  const size_t bytes = dtype_bytes(request.inputs[0].dtype);
  auto step = step_of(pad_maps({request.node, input, output, pads, axes, request.has_input(3)}),
                      input, layout, bytes);
  step->reads_value = has_value && request.constant(kValue) == nullptr;
  if (has_value && !step->reads_value)
    std::memcpy(step->known.data(), request.constant(kValue)->data(), bytes);
  Candidate candidate;
  candidate.kernel = "pad_rows";
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.inputs[0] = layout;
  candidate.outputs = {layout};
  candidate.holds = request.constants();
  candidate.bind = [step](const BindArgs&) -> RunStep {
    return [step](const StepArgs& args) { (*step)(args); };
  };
  return candidate;
}

}  // namespace octet
