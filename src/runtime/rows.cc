// SPDX-License-Identifier: Apache-2.0
// Rows that lie apart: the steps of a plan that go through the batch in groups of images are told where each group's images lie.
#include "octet/rows.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/check.h"
#include "core/memory.h"
#include "plan/device.h"
#include "runtime/context.h"
#include "runtime/inside.h"

namespace octet {
namespace {

constexpr auto kCode = Error::Code::invalid_argument;

// A tensor over memory that the caller keeps alive. A step's pointer array has one type for both directions, and inputs are only read.
Tensor borrowed(const TensorType& type, std::byte* data) {
  static std::byte nothing{};  // what an empty tensor points to
  return {type, std::shared_ptr<const std::byte>(std::shared_ptr<void>(),
                                                 data == nullptr ? &nothing : data)};
}

// The rows of one tensor, and the tensor that a run gets for them.
struct Side {
  CallerTensor tensor;
  TensorType type;
  std::vector<std::byte*> rows = {};
  size_t row_bytes = 0;
  Tensor given = {};
  bool is_copied = false;

  // Whether each `count` rows from a multiple of it on lie side by side.
  bool are_neighbors(s64 count) const {
    for (size_t i = 1; i < rows.size(); ++i) {
      if (i % static_cast<size_t>(count) != 0 && rows[i] != rows[i - 1] + row_bytes) return false;
    }
    return true;
  }

  bool are_aligned() const {
    const auto element = static_cast<uintptr_t>(dtype_bytes(type.dtype));
    return std::ranges::all_of(
        rows, [&](std::byte* row) { return reinterpret_cast<uintptr_t>(row) % element == 0; });
  }
};

std::string name_of(const Graph& graph, const CallerTensor& tensor) {
  const std::vector<ValueId>& ids = tensor.is_output ? graph.outputs : graph.inputs;
  return fmt::format("{} '{}'", tensor.is_output ? "output" : "input",
                     graph.value(ids[tensor.index]).name);
}

template <class View>
std::vector<Side> sides_of(const Graph& graph, std::span<const View> views, bool are_outputs) {
  const size_t wanted = (are_outputs ? graph.outputs : graph.inputs).size();
  if (views.size() != wanted)
    fail(kCode, "the model has {} {}, got {}", wanted, are_outputs ? "outputs" : "inputs",
         views.size());
  std::vector<Side> sides;
  for (const View& view : views) {
    Side& side = sides.emplace_back(Side{{are_outputs, sides.size()}, view.type});
    const Shape& shape = view.type.shape;
    if (!shape.is_static() || shape.rank() == 0)
      fail(kCode, "{} is given as {}; rows need a batch of known sizes",
           name_of(graph, side.tensor), to_string(view.type));
    if (std::ssize(view.rows) != shape[0])
      fail(kCode, "{} has {} rows for {}", name_of(graph, side.tensor), view.rows.size(),
           to_string(view.type));
    for (auto* row : view.rows) side.rows.push_back(const_cast<std::byte*>(row));  // NOLINT
    if (shape[0] > 0) side.row_bytes = static_cast<size_t>(view.type.bytes() / shape[0]);
    if (side.row_bytes > 0 && std::ranges::count(side.rows, nullptr) > 0)
      fail(kCode, "{} has a row without data", name_of(graph, side.tensor));
  }
  return sides;
}

// One run: where its rows are told to the plan, and copies of what the plan takes as one.
class RowsRun {
 public:
  RowsRun(Context::Impl& context, std::span<const RowsView> inputs,
          std::span<const MutableRowsView> outputs)
      : context_(context),
        inputs_(sides_of(context.model->graph, inputs, false)),
        outputs_(sides_of(context.model->graph, outputs, true)) {}
  // The context keeps nothing of the caller's memory.
  ~RowsRun() {
    for (const CallerTensor& tensor : placed_) bound_->place_rows(tensor, {});
  }
  RowsRun(const RowsRun&) = delete;
  RowsRun& operator=(const RowsRun&) = delete;

  s64 run() {
    for (Side& side : inputs_) side.given = borrowed(side.type, first_row(side));
    find_plan();
    for (Side& side : inputs_) place(side);
    for (Side& side : outputs_) place(side);
    const std::vector<Tensor> inputs = given(inputs_);
    std::vector<Tensor> outputs = given(outputs_);
    context_.run_into(inputs, outputs, {});
    for (const Side& side : outputs_) deliver(side);
    return copied_;
  }

 private:
  static std::byte* first_row(const Side& side) {
    return side.rows.empty() ? nullptr : side.rows[0];
  }

  static std::vector<Tensor> given(const std::vector<Side>& sides) {
    std::vector<Tensor> tensors;
    for (const Side& side : sides) tensors.push_back(side.given);
    return tensors;
  }

  // Caches that grow, and sizes that depend on data, take batches as one.
  void find_plan() {
    if (context_.grows && context_.growing.has_caches()) return;
    const std::vector<Tensor> inputs = given(inputs_);
    bound_ = context_.bound_plan(inputs);
  }

  void place(Side& side) {
    side.given = borrowed(side.type, first_row(side));
    if (side.rows.empty() || side.row_bytes == 0) return;
    if (side.are_aligned()) {
      if (side.are_neighbors(std::ssize(side.rows))) return;
      if (takes_apart(side)) {
        placed_.push_back(side.tensor);  // first: if it throws, the plan keeps no rows of ours
        bound_->place_rows(side.tensor, side.rows);
        return;
      }
    }
    side.given = joined(side);
    side.is_copied = true;
    if (side.tensor.is_output) return;
    std::byte* to = side.given.mutable_data();
    for (const std::byte* row : side.rows) {
      std::memcpy(to, row, side.row_bytes);
      to += side.row_bytes;
    }
    copied_ += static_cast<s64>(side.given.bytes());
  }

  bool takes_apart(const Side& side) const {
    if (bound_ == nullptr) return false;
    const auto& types =
        side.tensor.is_output ? bound_->plan().output_types : bound_->plan().input_types;
    const s64 count = bound_->rows_at_a_time(side.tensor);
    return types[side.tensor.index] == side.type && count > 0 && side.are_neighbors(count);
  }

  // Kept for the next run.
  Tensor joined(const Side& side) {
    auto& all = side.tensor.is_output ? context_.joined_outputs : context_.joined_inputs;
    all.resize(std::max(all.size(), side.tensor.index + 1));
    Tensor& kept = all[side.tensor.index];
    if (!kept || kept.type() != side.type) kept = Tensor(side.type.dtype, side.type.shape);
    return kept;
  }

  void deliver(const Side& side) {
    if (!side.is_copied) return;
    const std::byte* from = side.given.data();
    for (std::byte* row : side.rows) {
      std::memcpy(row, from, side.row_bytes);
      from += side.row_bytes;
    }
    copied_ += static_cast<s64>(side.given.bytes());
  }

  Context::Impl& context_;
  std::vector<Side> inputs_, outputs_;
  BoundPlan* bound_ = nullptr;  // null: the run is not of one plan
  std::vector<CallerTensor> placed_;
  s64 copied_ = 0;
};

}  // namespace

int64_t run_rows_into(Context& context, std::span<const RowsView> inputs,
                      std::span<const MutableRowsView> outputs) {
  return without_bad_alloc([&] {
    Context::Impl& impl = Inside::impl(context);
    const CurrentDevice unchanged(*impl.target.device);
    return RowsRun(impl, inputs, outputs).run();
  });
}

}  // namespace octet
