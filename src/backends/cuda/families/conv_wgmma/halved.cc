// SPDX-License-Identifier: Apache-2.0
// QConv or QMatMul whose reals a layer of 16 bits reads: the chain of it and of the cast, whose kernel stores 16 bits.
#include <limits>

#include "backends/cuda/lower/conv_request.h"
#include "backends/cuda/lower/halves.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

bool is_product(const Node& node) { return node.op->name == "QConv" || node.op->name == "QMatMul"; }

// Of each input of the product, which one of the chain it is.
using InputMap = std::vector<size_t>;
constexpr size_t kNone = std::numeric_limits<size_t>::max();

InputMap inputs_of(const LowerRequest& chain, const Node& product) {
  InputMap map;
  for (const ValueId id : product.inputs)
    map.push_back(id == kNoValue ? kNone : chain_input(chain.node, id).value_or(kNone));
  return map;
}

BindArgs bind_of_part(const BindArgs& bind, const InputMap& map) {
  BindArgs own = bind;
  own.inputs.assign(map.size(), {});
  if (!bind.input_offsets.empty()) own.input_offsets.assign(map.size(), 0);
  for (size_t i = 0; i < map.size(); ++i) {
    if (map[i] == kNone) continue;
    own.inputs[i] = bind.inputs[map[i]];
    if (!bind.input_offsets.empty()) own.input_offsets[i] = bind.input_offsets[map[i]];
  }
  return own;
}

// The candidate of the chain's product as one of the chain.
Candidate of_chain(const LowerRequest& chain, const InputMap& map, Candidate inner) {
  Candidate candidate = inner;
  candidate.kernel = "halved_" + inner.kernel;
  candidate.inputs.assign(chain.node.inputs.size(), Layout::linear);
  for (size_t i = 0; i < map.size(); ++i) {
    if (map[i] != kNone) candidate.inputs[map[i]] = inner.inputs[i];
  }
  candidate.holds = {};
  candidate.by_image = false;  // the chain's parts know the whole batch
  candidate.prepare = [map, prepare = inner.prepare](const BindArgs& bind) {
    return prepare(bind_of_part(bind, map));
  };
  candidate.bind = [map, bind_part = inner.bind](const BindArgs& bind) -> RunStep {
    return [map, run = bind_part(bind_of_part(bind, map))](const StepArgs& args) {
      std::vector<const std::byte*> inputs;
      for (const size_t i : map) inputs.push_back(i == kNone ? nullptr : args.inputs[i]);
      run({inputs.data(), args.outputs, args.workspace, args.queue});
    };
  };
  return candidate;
}

}  // namespace

std::vector<u32> find_halved_product(const Graph& graph, const Uses& uses, u32 last) {
  const Node& cast = graph.nodes[last];
  if (!is_narrowing(graph, cast)) return {};
  const s32 from = uses.producer(cast.input(0));
  if (from < 0 || !is_read_once(graph, uses, cast.input(0))) return {};
  if (!is_product(graph.nodes[static_cast<size_t>(from)])) return {};
  return {static_cast<u32>(from), last};
}

Offer offer_halved_product(const LowerRequest& chain) {
  const LowerRequest part = part_request(chain, 0);
  const bool rows = part.node.op->name == "QMatMul";
  ConvRequest conv;
  std::string reason = rows ? read_linear(part, conv) : read_conv(part, conv);
  if (!reason.empty()) return Reject{reason};
  if (!conv.product.real()) return Reject{"the result is codes"};
  conv.product.real_type = chain.outputs[0].dtype == Dtype::f16 ? Number::f16 : Number::bf16;
  Candidates all;
  const auto add = [&](const Offer& offer) {
    if (const Reject* no = std::get_if<Reject>(&offer)) reason = no->reason;
    if (const Candidates* some = std::get_if<Candidates>(&offer))
      all.insert(all.end(), some->begin(), some->end());
  };
  if (!rows) add(conv_joined_offer(part, conv));
  add(conv_wgmma_offer(part, conv, rows ? Layout::linear : Layout::nhwc));
  if (all.empty()) return Reject{reason};
  const InputMap map = inputs_of(chain, part.node);
  for (Candidate& candidate : all) candidate = of_chain(chain, map, std::move(candidate));
  return all;
}

}  // namespace octet::cuda
