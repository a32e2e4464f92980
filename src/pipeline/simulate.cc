// SPDX-License-Identifier: Apache-2.0
#include "octet/simulate.h"

#include "core/memory.h"
#include "passes/infer_types.h"
#include "pipeline/kept.h"
#include "runtime/inside.h"

namespace octet {

Engine simulation(const Engine& engine) {
  return without_bad_alloc([&] {
    const Model& made = Inside::model(engine);
    auto model = std::make_shared<Model>();
    model->graph = kept_graph(made);
    forget_size_numbers(model->graph);
    for (Node& node : model->graph.nodes)
      node.decision = {Precision::f32, ReasonCode::float_build, "simulated in f32"};
    model->producer = made.producer;
    model->preprocess = made.preprocess;
    return Inside::engine(std::move(model));
  });
}

}  // namespace octet
