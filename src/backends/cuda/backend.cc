// SPDX-License-Identifier: Apache-2.0
// What a GPU offers. It has no reference of its own: what no lowering accepts runs on the CPU, with copies that the plan shows.
#include "backends/cuda/backend.h"

#include <vector>

#include "backends/cuda/families/compare/lower.h"
#include "backends/cuda/lower/channels.h"
#include "backends/cuda/lower/convert.h"
#include "backends/cuda/lower/halves.h"
#include "backends/cuda/lower/plugin.h"
#include "backends/cuda/lowerings.h"

namespace octet::cuda {

#define CHAIN(name, find, offer)                                         \
  std::vector<u32> find(const Graph& graph, const Uses& uses, u32 last); \
  Offer offer(const LowerRequest& request);
#define FORKED_CHAIN CHAIN
#define KEEPING_CHAIN CHAIN
#include "backends/cuda/lower/chains.def"
#undef KEEPING_CHAIN
#undef FORKED_CHAIN
#undef CHAIN

namespace {

constexpr Lowering kLowerings[] = {
#define LOWERING(op, function, f32) {op, #function, function, f32},
#include "backends/cuda/lower/lowerings.def"
#undef LOWERING
};

void adapt(Graph& graph, const Target&) {
  share_concatenations(graph);
  store_halves(graph);
}

}  // namespace

const Backend& cuda_backend() {
  static const std::vector<ChainRule> chains{
#define CHAIN(name, find, offer) {name, find, offer},
#define FORKED_CHAIN(name, find, offer) {name, find, offer, true},
#define KEEPING_CHAIN(name, find, offer) {name, find, offer, false, true},
#include "backends/cuda/lower/chains.def"
#undef KEEPING_CHAIN
#undef FORKED_CHAIN
#undef CHAIN
  };
  static const Backend backend{.name = "cuda",
                               .lowerings = kLowerings,
                               .chains = chains,
                               .plugins = offer_plugin_on_device,
                               .sized_plugin = run_sized_plugin,
                               .convert = cuda_convert,
                               .compare = cuda_compare,
                               .adapt = adapt};
  return backend;
}

}  // namespace octet::cuda
