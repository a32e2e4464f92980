// SPDX-License-Identifier: Apache-2.0
// CacheAppend: the kernel of this folder, whose length is a value of the run.
#include "backends/cuda/families/cache_append/spec.h"
#include "backends/cuda/lower/product.h"
#include "backends/cuda/lower/step.h"
#include "core/check.h"
#include "ops/attributes/moves.h"
#include "ops/shared/axes.h"

namespace octet::cuda {
namespace {

enum : size_t { kPast, kUpdate, kLength };

struct AppendRequest {
  std::string node;
  s64 outer = 1, rows = 0, update = 0;
  s64 row_bytes = 1;
};

// What a thread may move at once where values lie.
s64 access_of(const AppendRequest& append, const BindArgs& bind) {
  constexpr s64 kWidest = 16;
  return common_power(kWidest, {append.row_bytes, bind.input_offset(kPast),
                                bind.input_offset(kUpdate), bind.output_offset(0)});
}

Launch launch_of(const CudaDevice& device, const AppendRequest& append, const BindArgs& bind) {
  const s64 access = access_of(append, bind);
  const cache_append::Spec spec{.access = field_of(access),
                                .row = append.row_bytes / access,
                                .outer = append.outer,
                                .rows = append.rows,
                                .update = append.update};
  return {.source = source_of("cache_append", spec),
          .shape = blocks_for(device, pieces(spec), cache_append::kThreads)};
}

// Throws what the definition throws.
Report::Raise raise_of(const AppendRequest& append) {
  return [append](u32, s64 length) {
    Error error(Error::Code::invalid_argument,
                fmt::format("{} rows behind {} do not fit a cache of {}", append.update, length,
                            append.rows));
    error.add_context("running '" + append.node + "'");
    throw error;
  };
}

}  // namespace

Offer lower_cache_append(const LowerRequest& request) {
  for (const size_t i : {size_t{kPast}, size_t{kUpdate}, size_t{kLength}}) {
    if (request.constant(i) != nullptr) return Reject{"an operand is constant"};
  }
  const Shape& past = request.inputs[kPast].shape;
  if (past.elements() == 0) return Reject{"the cache is empty"};
  const int axis =
      normalize_axis(attribute_of<&CacheAppendAttributes::axis>(request.node), past.rank());
  const AppendRequest append{
      .node = request.node.name,
      .outer = dims_product(past, 0, axis),
      .rows = past[axis],
      .update = request.inputs[kUpdate].shape[axis],
      .row_bytes = static_cast<s64>(dtype_bytes(request.inputs[kPast].dtype)) *
                   dims_product(past, axis + 1, past.rank())};
  Candidate candidate = candidate_of(request, "cache_append", Layout::linear);
  candidate.overwrites = {kPast};
  const CudaDevice& device = device_of(request);
  set_placed_step(
      candidate, device,
      {.make_launch = [&device,
                       append](const BindArgs& bind) { return launch_of(device, append, bind); }},
      [&device, append](const BindArgs&) {
        return [report = std::make_shared<Report>(device, raise_of(append))](const StepData& data) {
          cuda_queue(data.args).watch(report);
          return cache_append::Params{data.input(kPast), data.input(kUpdate),
                                      reinterpret_cast<const s64*>(data.input(kLength)),
                                      report->words(), data.output()};
        };
      });
  return candidate;
}

}  // namespace octet::cuda
