// SPDX-License-Identifier: Apache-2.0
// What an engine's outputs are where the numbers of some inputs are known ahead of a run.
#include "octet/output_types.h"

#include <fmt/format.h>

#include "core/memory.h"
#include "graph/propagate.h"
#include "plan/plan.h"
#include "runtime/inside.h"

namespace octet {

std::vector<TensorType> output_types(const Engine& engine, std::span<const Shape> input_shapes,
                                     std::span<const Tensor> known) {
  return without_bad_alloc([&] {
    const Graph& graph = Inside::model(engine).graph;
    check_input_shapes(graph, input_shapes);
    if (known.size() > input_shapes.size())
      fail(Error::Code::invalid_argument, "{} values were given for {} inputs", known.size(),
           input_shapes.size());
    std::vector<TensorType> inputs;
    for (size_t i = 0; i < input_shapes.size(); ++i) {
      const TensorType type{graph.value(graph.inputs[i]).type.dtype, input_shapes[i]};
      if (i < known.size() && known[i] && known[i].type() != type)
        fail(Error::Code::invalid_argument, "the values of input '{}' are {}, expected {}",
             graph.value(graph.inputs[i]).name, to_string(known[i].type()), to_string(type));
      inputs.push_back(type);
    }
    PropagateOptions options;
    options.keep_products = true;
    const Propagated facts = propagate(graph, inputs, known, options);
    std::vector<TensorType> outputs;
    for (const ValueId id : graph.outputs) outputs.push_back(facts.types[id]);
    return outputs;
  });
}

}  // namespace octet
