// SPDX-License-Identifier: Apache-2.0
// Gather, GatherElements and GatherND by indices that a run brings, or out of a constant, embeddings for example: the kernel of this folder. An index outside of its axis is the
// Error that it is on the CPU, thrown where the run is waited for.
#include <limits>

#include "backends/cuda/families/gather/spec.h"
#include "backends/cuda/lower/element_type.h"
#include "backends/cuda/lower/step.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"
#include "ops/shared/indexing.h"

namespace octet::cuda {
namespace {

enum : size_t { kX, kIds };

struct GatherStep {
  std::string node = {};
  Shape shape = {};          // of x
  int first = 0, width = 1;  // axes that are picked along
  s64 ids = 0;               // slices of the output for each index of the axes before
  gather::Form form = gather::Form::slices;
  ElementType id = ElementType::s64;
  s64 elements = 0;             // of the output
  s64 bytes = 1;                // of an element
  Tensor x = {}, indices = {};  // where they are constant

  s64 slices(int axis) const { return dims_product(shape, axis, first + width); }
  s64 inner() const { return dims_product(shape, first + width, shape.rank()); }
};

std::string read(const LowerRequest& request, GatherStep& step) {
  const Tensor *constant = request.constant(kX), *indices = request.constant(kIds);
  if (constant != nullptr) step.x = *constant;
  if (indices != nullptr) step.indices = *indices;
  step.node = request.node.name;
  step.shape = request.inputs[kX].shape;
  step.elements = request.outputs[0].shape.elements();
  step.bytes = static_cast<s64>(dtype_bytes(request.inputs[kX].dtype));
  step.id = element_type(request.inputs[kIds].dtype);
  if (step.elements == 0 || step.shape.elements() == 0) return "there is nothing to move";
  constexpr s64 kMost = std::numeric_limits<s32>::max();  // what a report has bits for
  if (request.inputs[kIds].shape.elements() > kMost) return "there are 2^31 indices";
  return {};
}

// What a thread may copy at once where values lie: up to 16 bytes of a slice.
s64 access_of(const GatherStep& step, const BindArgs& bind) {
  s64 access = step.form == gather::Form::elements ? step.bytes : 16;
  const s64 from = step.x ? 0 : bind.input_offset(kX);
  while (step.inner() * step.bytes % access != 0 || from % access != 0 ||
         bind.output_offset(0) % access != 0)
    access /= 2;
  return access;
}

Launch make_launch(const CudaDevice& device, const GatherStep& step, const BindArgs& bind) {
  const s64 access = access_of(step, bind);
  gather::Spec spec{.form = step.form,
                    .id = step.id,
                    .access = field_of(access),
                    .inner = step.inner() * step.bytes / access,
                    .count = step.elements * step.bytes / access,
                    .ids = step.ids,
                    .slices = step.slices(step.first),
                    .axes = {}};
  for (int axis = step.first; axis < step.first + step.width; ++axis)
    append(spec.axes, {step.shape[axis], step.slices(axis + 1)});
  return {.source = source_of("gather", spec),
          .shape = blocks_for(device, spec.count, gather::kThreads)};
}

std::vector<BlobRecipe> blobs_of(const GatherStep& step) {
  std::vector<BlobRecipe> blobs;
  if (step.x) blobs.push_back(constant_blob(step.x));
  if (step.indices) blobs.push_back(constant_blob(step.indices));
  return blobs;
}

// Throws what the definition throws.
Report::Raise raise_of(const GatherStep& step) {
  return [node = step.node, shape = step.shape, first = step.first, width = step.width](u32 number,
                                                                                        s64 index) {
    const int axis = first + static_cast<int>(number % static_cast<u32>(width));
    try {
      checked_index(index, shape[axis], axis);
    } catch (Error& error) {
      error.add_context("running '" + node + "'");
      throw;
    }
  };
}

Offer offer(const LowerRequest& request, const char* kernel, const GatherStep& step) {
  Candidate candidate = candidate_of(request, kernel, Layout::linear);
  const CudaDevice& device = device_of(request);
  set_placed_step(
      candidate, device,
      {.make_launch = [&device,
                       step](const BindArgs& bind) { return make_launch(device, step, bind); },
       .recipes = [step](const BindArgs&) { return blobs_of(step); }},
      [&device, step](const BindArgs&) {
        return [report = std::make_shared<Report>(device, raise_of(step)),
                x_is_constant = static_cast<bool>(step.x),
                ids_are_constant = static_cast<bool>(step.indices)](const StepData& data) {
          cuda_queue(data.args).watch(report);
          gather::Params p{};
          p.x = x_is_constant ? data.blob<u8>(0) : data.input(kX);
          p.ids = ids_are_constant ? data.blob<u8>(x_is_constant ? 1 : 0) : data.input(kIds);
          p.outside = report->words();
          p.y = data.output();
          return p;
        };
      });
  return candidate;
}

}  // namespace

Offer lower_gather_at_run(const LowerRequest& request) {
  GatherStep step;
  if (std::string reason = read(request, step); !reason.empty()) return Reject{reason};
  // Of an activation that is a move. What is all constant is not folded where the result is large: embeddings of positions.
  if (step.indices && !step.x) return Reject{"the indices are constant"};
  step.first = normalize_axis(attribute_of<&AxisAttributes::axis>(request.node), step.shape.rank());
  step.ids = request.inputs[kIds].shape.elements();
  return offer(request, "gather_at_run", step);
}

Offer lower_gather_elements(const LowerRequest& request) {
  GatherStep step{.form = gather::Form::elements};
  if (std::string reason = read(request, step); !reason.empty()) return Reject{reason};
  const Shape& indices = request.inputs[kIds].shape;
  step.first = normalize_axis(attribute_of<&AxisAttributes::axis>(request.node), step.shape.rank());
  step.ids = indices[step.first];
  for (int d = 0; d < step.shape.rank(); ++d) {
    if (d != step.first && indices[d] != step.shape[d])
      return Reject{"there are fewer indices than elements along another axis"};
  }
  return offer(request, "gather_elements", step);
}

Offer lower_gather_nd(const LowerRequest& request) {
  GatherStep step{.form = gather::Form::tuples};
  if (std::string reason = read(request, step); !reason.empty()) return Reject{reason};
  const Shape& indices = request.inputs[kIds].shape;
  step.first = static_cast<int>(attribute_of<&GatherNDAttributes::batch_dims>(request.node));
  step.width = static_cast<int>(indices[indices.rank() - 1]);
  step.ids = dims_product(indices, step.first, indices.rank() - 1);
  return offer(request, "gather_nd", step);
}

}  // namespace octet::cuda
