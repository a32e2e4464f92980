// SPDX-License-Identifier: Apache-2.0
// ScatterND and ScatterElements by constant indices, which is how exporters write that a part of a tensor is assigned: the kernel of this folder. Of
// updates of one place the last counts; since the host knows all of them, none waits for another.
#include <limits>

#include "backends/cpu/lower/resize_request.h"
#include "backends/cuda/families/assign/spec.h"
#include "backends/cuda/lower/step.h"
#include "octet/error.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"
#include "ops/shared/element_offsets.h"
#include "ops/shared/indexing.h"

namespace octet::cuda {
namespace {

enum : size_t { kX, kIds, kUpdates };

struct AssignStep {
  Tensor x = {}, indices = {}, updates = {};  // x and updates: where they are constant
  std::vector<s32> table = {};                // of each slice of x
  s64 elements = 0, inner = 1;                // of x, of a slice
  s64 bytes = 1;                              // of an element
};

std::string read(const LowerRequest& request, std::vector<s64>& ids, AssignStep& step) {
  constexpr s64 kMost = std::numeric_limits<s32>::max();
  if (attribute_of<&ScatterAttributes::reduction>(request.node) != ScatterReduction::none)
    return "updates are combined with what is there";
  if (!read_constant_ints(request, kIds, ids)) return "the indices are not constant";
  if (const Tensor* x = request.constant(kX)) step.x = *x;
  if (const Tensor* updates = request.constant(kUpdates)) step.updates = *updates;
  if (step.x && step.updates) return "all operands are constant";
  const TensorType& x = request.inputs[kX];
  step.indices = *request.constant(kIds);
  step.elements = x.shape.elements();
  step.bytes = static_cast<s64>(dtype_bytes(x.dtype));
  if (step.elements == 0 || ids.empty()) return "there is nothing to move";
  if (step.elements > kMost || std::ssize(ids) > kMost) return "there are 2^31 elements";
  return {};
}

// Of slices that begin at those elements of x.
void set_table(AssignStep& step, const std::vector<s64>& offsets) {
  step.table.assign(static_cast<size_t>(step.elements / step.inner), -1);
  s32 update = 0;
  for (const s64 offset : offsets) step.table[static_cast<size_t>(offset / step.inner)] = update++;
}

// What a thread may copy at once where values lie: up to 16 bytes of a slice.
s64 access_of(const AssignStep& step, const BindArgs& bind) {
  s64 access = 16;
  const auto fits = [&](s64 offset) { return offset % access == 0; };
  while (!fits(step.inner * step.bytes) || !fits(bind.output_offset(0)) ||
         !fits(step.x ? 0 : bind.input_offset(kX)) ||
         !fits(step.updates ? 0 : bind.input_offset(kUpdates)))
    access /= 2;
  return access;
}

Launch make_launch(const CudaDevice& device, const AssignStep& step, const BindArgs& bind) {
  const s64 access = access_of(step, bind);
  const assign::Spec spec{.access = field_of(access),
                          .inner = step.inner * step.bytes / access,
                          .count = step.elements * step.bytes / access};
  return {.source = source_of("assign", spec),
          .shape = blocks_for(device, spec.count, assign::kThreads)};
}

Offer offer(const LowerRequest& request, const AssignStep& step) {
  Candidate candidate = candidate_of(request, "assign", Layout::linear);
  if (!step.x) candidate.overwrites = {kX};
  const CudaDevice& device = device_of(request);
  set_step(
      candidate, device,
      {.make_launch = [&device,
                       step](const BindArgs& bind) { return make_launch(device, step, bind); },
       .recipes =
           [step](const BindArgs&) {
             std::vector<BlobRecipe> blobs{{fmt::format("assign {} {}", step.elements, step.inner),
                                            {step.indices},
                                            [table = step.table] { return bytes_of<s32>(table); }}};
             if (step.x) blobs.push_back(constant_blob(step.x));
             if (step.updates) blobs.push_back(constant_blob(step.updates));
             return blobs;
           }},
      [x_is_constant = static_cast<bool>(step.x),
       is_constant = static_cast<bool>(step.updates)](const StepData& data) {
        assign::Params p{};
        p.x = x_is_constant ? data.blob<u8>(1) : data.input(kX);
        p.updates = is_constant ? data.blob<u8>(1) : data.input(kUpdates);
        p.table = data.blob<s32>(0);
        p.y = data.output();
        return p;
      });
  return candidate;
}

}  // namespace

Offer lower_scatter_nd(const LowerRequest& request) {
  AssignStep step;
  std::vector<s64> ids;
  if (std::string reason = read(request, ids, step); !reason.empty()) return Reject{reason};
  const Shape &x = request.inputs[kX].shape, &indices = step.indices.shape();
  step.inner = dims_product(x, static_cast<int>(indices[indices.rank() - 1]), x.rank());
  try {
    set_table(step, tuple_offsets({step.indices.dtype(), indices}, ids, x, 0));
  } catch (const Error&) {
    return Reject{"an index lies outside its axis"};
  }
  return offer(request, step);
}

Offer lower_scatter_elements(const LowerRequest& request) {
  AssignStep step;
  std::vector<s64> ids;
  if (std::string reason = read(request, ids, step); !reason.empty()) return Reject{reason};
  const Shape& x = request.inputs[kX].shape;
  const int axis = normalize_axis(attribute_of<&AxisAttributes::axis>(request.node), x.rank());
  try {
    set_table(step, element_offsets(x, step.indices.shape(), ids, axis));
  } catch (const Error&) {
    return Reject{"an index lies outside its axis"};
  }
  return offer(request, step);
}

}  // namespace octet::cuda
