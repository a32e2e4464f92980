// SPDX-License-Identifier: Apache-2.0
// QConv or QMatMul whose reals a layer of 16 bits reads: the chain of it and of the cast, whose kernel stores 16 bits. Reals that are added to those of a QMatMul (the
// residuals of transformers that stay real between layers of codes) are part of it, where several nodes read the sum: one that normalizes it alone has the sum itself.
#include <algorithm>
#include <limits>
#include <optional>

#include "backends/cuda/lower/conv_request.h"
#include "backends/cuda/lower/halves.h"
#include "backends/cuda/lower/heads.h"
#include "ops/shared/activation.h"
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
Candidate of_chain(const LowerRequest& chain, const InputMap& map, const char* prefix,
                   Candidate inner) {
  Candidate candidate = inner;
  candidate.kernel = prefix + inner.kernel;
  candidate.inputs.assign(chain.node.inputs.size(), Layout::linear);
  for (size_t i = 0; i < inner.inputs.size(); ++i) {  // what is added besides lies as it is
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

namespace {

// A product of codes, what rounds its reals, their sum with others, and the cast that stores it.
struct SummedProduct {
  u32 product = 0, add = 0;
  size_t own = 0;             // which term of the sum the product is
  std::vector<u32> rounding;  // a RoundTo, or a Cast to 16 bits and back
  s32 widening = -1;          // of the other term
  s32 narrowing = -1;         // of the sum

  std::vector<u32> sorted() const {
    std::vector<u32> nodes = rounding;
    nodes.insert(nodes.end(), {product, add});
    for (const s32 n : {widening, narrowing})
      if (n >= 0) nodes.push_back(static_cast<u32>(n));
    std::ranges::sort(nodes);
    return nodes;
  }
};

class SumFinder {
 public:
  SumFinder(const Graph& graph, const Uses& uses) : graph_(graph), uses_(uses) {}

  std::optional<SummedProduct> find(u32 last) const {
    SummedProduct found;
    found.add = last;
    if (is_narrowing(graph_, graph_.nodes[last])) {
      const s32 from = own_producer(graph_.nodes[last].inputs[0]);
      if (from < 0) return {};
      found.narrowing = static_cast<s32>(last), found.add = static_cast<u32>(from);
    }
    const Node& add = graph_.nodes[found.add];
    if (add.op->name != "Add" || add.inputs.size() != 2) return {};
    if (activation_of(add).kind != Activation::Kind::none) return {};
    const Shape& shape = shape_of(add.outputs[0]);
    if (shape_of(add.inputs[0]) != shape || shape_of(add.inputs[1]) != shape) return {};
    for (found.own = 0; found.own < 2; ++found.own) {
      found.rounding.clear(), found.widening = -1;
      if (!walk_product(add.inputs[found.own], found)) continue;
      const ValueId other = add.inputs[1 - found.own];
      if (graph_.is_constant(other) || graph_.value(other).type.dtype != Dtype::f32) continue;
      const s32 n = own_producer(other);
      if (n >= 0 && is_widening(graph_, graph_.nodes[static_cast<size_t>(n)])) found.widening = n;
      return found;
    }
    return {};
  }

 private:
  const Shape& shape_of(ValueId id) const { return graph_.value(id).type.shape; }
  s32 own_producer(ValueId id) const {
    return is_read_once(graph_, uses_, id) ? uses_.producer(id) : -1;
  }

  bool walk_product(ValueId id, SummedProduct& found) const {
    for (s32 n; (n = own_producer(id)) >= 0;) {
      const Node& node = graph_.nodes[static_cast<size_t>(n)];
      if (node.op->name == "QMatMul") {
        found.product = static_cast<u32>(n);
        return true;
      }
      if (!is_rounding(graph_, node)) return false;
      found.rounding.push_back(static_cast<u32>(n));
      id = node.inputs[0];
    }
    return false;
  }

  const Graph& graph_;
  const Uses& uses_;
};

}  // namespace

std::vector<u32> find_summed_product(const Graph& graph, const Uses& uses, u32 last) {
  const std::optional<SummedProduct> found = SumFinder(graph, uses).find(last);
  if (!found || uses.consumers(graph.nodes[last].outputs[0]).size() < 2) return {};
  return found->sorted();
}

Offer offer_summed_product(const LowerRequest& chain) {
  const Graph& body = chain_body(chain.node);
  const std::optional<SummedProduct> found =
      SumFinder(body, Uses(body)).find(static_cast<u32>(body.nodes.size() - 1));
  if (!found) return Reject{"it is no sum behind a product"};
  const LowerRequest part = part_request(chain, found->product);
  ConvRequest conv;
  if (std::string reason = read_linear(part, conv); !reason.empty()) return Reject{reason};
  if (!conv.product.real()) return Reject{"the result is codes"};
  if (conv.product.has_residual) return Reject{"codes are added, too"};
  ValueId other = body.nodes[found->add].inputs[1 - found->own];
  if (found->widening >= 0) other = body.nodes[static_cast<size_t>(found->widening)].inputs[0];
  const std::optional<size_t> input = chain_input(chain.node, other);
  if (!input) return Reject{"what is added is made inside"};
  conv.added = AddedReals{number_of(body.value(other).type.dtype), Number::f32};
  for (const u32 n : found->rounding) {
    if (!is_widening(body, body.nodes[n])) conv.added->rounded = rounding_of(body, body.nodes[n]);
  }
  conv.product.real_type = number_of(chain.outputs[0].dtype);
  Offer offer = conv_wgmma_offer(part, conv, Layout::linear);
  Candidates* all = std::get_if<Candidates>(&offer);
  if (all == nullptr) return offer;
  InputMap map = inputs_of(chain, part.node);
  map.resize(std::max(map.size(), kProductResidual + 1), kNone);
  map[kProductResidual] = *input;
  for (Candidate& candidate : *all)
    candidate = of_chain(chain, map, "summed_", std::move(candidate));
  return offer;
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
  for (Candidate& candidate : all)
    candidate = of_chain(chain, map, "halved_", std::move(candidate));
  return all;
}

}  // namespace octet::cuda
