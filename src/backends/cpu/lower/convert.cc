// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/convert.h"

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/codes/move/move.h"
#include "backends/host/queue.h"
#include "backends/reference/reference.h"

namespace octet {

Candidate cpu_convert(const TensorType& type, Layout from, Layout to, const Target& target) {
  Candidate candidate = reference_convert(type, from, to, target);
  if (from == to) return candidate;
  candidate.kernel = from == Layout::linear ? "nchw_to_nhwc" : "nhwc_to_nchw";
  candidate.bind = [type, isa = isa_of(target)](const BindArgs& bind) -> RunStep {
    return [convert = ConvertLayout{type.shape, dtype_bytes(type.dtype), bind.inputs[0],
                                    bind.outputs[0], isa}](const StepArgs& step) {
      convert_layout(convert, step.inputs[0], step.outputs[0], pool_of(step));
    };
  };
  return candidate;
}

}  // namespace octet
