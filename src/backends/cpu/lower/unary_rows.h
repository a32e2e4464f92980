// SPDX-License-Identifier: Apache-2.0
// Steps of one value in and one value out, whose kernels take a run of elements.
#pragma once

#include <memory>

#include "backends/cpu/lower/f_rows.h"
#include "backends/host/queue.h"
#include "plan/offer.h"

namespace octet {

// The bind of a candidate that calls run(args, offset of the output, of the input, count) for pieces of the rows of both.
template <class F>
auto unary_rows(const LowerRequest& request, const F& run) {
  return [run, input = request.inputs[0].shape,
          output = request.outputs[0].shape](const BindArgs& bind) -> RunStep {
    const RowOperand operands[] = {{output, bind.outputs[0]}, {input, bind.inputs[0]}};
    auto rows = std::make_shared<const Rows>(operands);
    return [run, rows](const StepArgs& args) {
      rows->for_each(pool_of(args),
                     [&](const Rows::Offsets& at, s64 count) { run(args, at[0], at[1], count); });
    };
  };
}

}  // namespace octet
