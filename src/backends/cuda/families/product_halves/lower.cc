// SPDX-License-Identifier: Apache-2.0
// MatMul of two values that a run brings, stored in 16 bits: a chain with the casts that read them, what moved them, and the rounding behind.
#include <algorithm>
#include <limits>

#include "backends/cuda/families/product_halves/spec.h"
#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/halves.h"
#include "backends/cuda/lower/heads.h"
#include "backends/cuda/lower/product.h"
#include "ops/shared/matmul_views.h"
#include "ops/shared/moved_view.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

using product_halves::Operand;
using product_halves::Spec;
using product_halves::Tile;

struct HalfProduct {
  MatMulViews views;
  size_t a = 0, b = 0;     // inputs of the chain
  s64 a_at = 0, b_at = 0;  // where they begin in it
  Number type = Number::f16, y = Number::f32, rounded = Number::f32;
};

bool rounds(const Graph& graph, const Node& node) {
  return node.op->name == "RoundTo" || is_narrowing(graph, node);
}

// The cast before an operand, and what moves its 16 bits.
void take_reads(const Graph& graph, const Uses& uses, ValueId id, std::vector<u32>& nodes) {
  const auto own = [&](ValueId value) -> const Node* {
    const s32 n = is_read_once(graph, uses, value) ? uses.producer(value) : -1;
    return n < 0 ? nullptr : &graph.nodes[static_cast<size_t>(n)];
  };
  const Node* node = own(id);
  if (node == nullptr || !is_widening(graph, *node)) return;
  do {
    nodes.push_back(static_cast<u32>(node - graph.nodes.data()));
    node = own(node->inputs[0]);
  } while (node != nullptr && makes_views(*node) && node->outputs.size() == 1 &&
           node->op->name != "Gather");
}

// Views give axes of one element no stride.
bool lies_together(s64 stride, s64 size) { return stride == 1 || size == 1; }

std::string read_operands(const LowerRequest& chain, const Node& node, HalfProduct& product) {
  const Graph& body = chain_body(chain.node);
  const std::optional<HeadOperand> a = operand_of(chain, node.inputs[0]),
                                   b = operand_of(chain, node.inputs[1]);
  if (!a || !b) return "an operand is no view of what it is moved from";
  if (a->view.shape.rank() < 2 || b->view.shape.rank() < 2) return "an operand is a vector";
  const Number type = number_of(body.value(body.inputs[a->input]).type.dtype);
  if (type == Number::f32 || type != number_of(body.value(body.inputs[b->input]).type.dtype))
    return "operands are not stored in one type of 16 bits";
  product.type = type;
  product.a = a->input, product.a_at = a->view.offset;
  product.b = b->input, product.b_at = b->view.offset;
  product.views = matmul_views(node, a->view, b->view);
  return {};
}

std::string read(const LowerRequest& chain, HalfProduct& product) {
  const Graph& body = chain_body(chain.node);
  const Node& last = body.nodes.back();
  const Node& node = rounds(body, last) ? body.nodes[body.nodes.size() - 2] : last;
  if (std::string reason = read_operands(chain, node, product); !reason.empty()) return reason;
  product.y = number_of(body.value(last.outputs[0]).type.dtype);
  product.rounded = rounds(body, last) ? rounding_of(body, last) : product.y;
  const MatMulViews& v = product.views;
  const MatMulGeometry& g = v.geometry;
  constexpr s64 kMost = std::numeric_limits<s32>::max() / 2;
  if (v.output.elements() == 0 || g.k == 0) return "there is nothing to compute";
  if (g.m > kMost || g.n > kMost || g.k > kMost) return "a matrix has 2^30 rows or columns";
  if (!lies_together(v.a_k, g.k) && !lies_together(v.a_row, g.m)) return "elements of a lie apart";
  if (!lies_together(v.b_k, g.k) && !lies_together(v.b_n, g.n)) return "elements of b lie apart";
  return {};
}

Operand operand(s64 along_k, s64 k, s64 other) {
  const bool dense = lies_together(along_k, k);
  return {.along_k = dense, .stride = dense ? other : along_k, .access = 2};
}

// Without accesses and a tile.
Spec spec_of(const HalfProduct& product) {
  const MatMulViews& v = product.views;
  const MatMulGeometry& g = v.geometry;
  Spec spec{.m = field_of(g.m),
            .n = field_of(g.n),
            .k = field_of(g.k),
            .f16 = product.type == Number::f16,
            .a = operand(v.a_k, g.k, v.a_row),
            .b = operand(v.b_k, g.k, v.b_n),
            .batches = {},
            .y = product.y,
            .rounded = product.rounded,
            .y_pairs = false,
            .tile = {}};
  for (int d = g.batch.rank(); d-- > 0;) {
    const auto i = static_cast<size_t>(d);
    append(spec.batches,
           {.size = g.batch[d], .a = v.a_batch[i], .b = v.b_batch[i], .y = v.y_batch[i]});
  }
  return spec;
}

f64 cost_of(const Spec& spec, f64 bytes, const Chip& chip) {
  const Costs& costs = chip.costs();
  TileWork work{.at_once = 2};
  work.tiles = blocks(spec);
  const f64 bm = product_halves::bm(spec), bn = product_halves::bn(spec);
  const f64 k = static_cast<f64>(k_tiles(spec)) * product_halves::kBk;
  work.multiply_cycles = bm * bn * k / costs.rate_mma_f16 + costs.tile_begin;
  work.load_bytes = static_cast<f64>(stage_bytes(spec)) * k_tiles(spec);
  work.finish_cycles = bm * bn / costs.product_terms_finish_rate;
  return tile_cost(work, bytes, chip);
}

Spec cheapest_spec(const HalfProduct& product, f64 bytes, const Chip& chip) {
  std::vector<Spec> all;
  for (const Tile& tile : {Tile{2, 2, 4, 8, 3}, Tile{2, 2, 2, 4, 4}, Tile{1, 4, 1, 2, 4}}) {
    all.push_back(spec_of(product));
    all.back().tile = tile;
  }
  return *std::ranges::min_element(all, {},
                                   [&](const Spec& spec) { return cost_of(spec, bytes, chip); });
}

s32 access_of(const Operand& operand, s64 offset, s64 dense, const std::vector<s64>& batch) {
  constexpr s64 kWidest = 16;
  s64 width = common_power(kWidest, {offset, 2 * operand.stride, 2 * dense});
  for (const s64 stride : batch) width = common_power(width, {2 * stride});
  return field_of(std::max<s64>(width, 2));
}

Launch launch_of(const HalfProduct& product, Spec spec, const BindArgs& bind) {
  const MatMulViews& v = product.views;
  const MatMulGeometry& g = v.geometry;
  spec.a.access = access_of(spec.a, bind.input_offset(product.a) + 2 * product.a_at,
                            spec.a.along_k ? g.k : g.m, v.a_batch);
  spec.b.access = access_of(spec.b, bind.input_offset(product.b) + 2 * product.b_at,
                            spec.b.along_k ? g.k : g.n, v.b_batch);
  spec.y_pairs = g.n % 2 == 0 && bind.output_offset(0) % (2 * bytes_of(spec.y)) == 0;
  return {.source = source_of("product_halves", spec),
          .shape = {.blocks = blocks(spec),
                    .threads = threads(spec),
                    .shared_bytes = shared_bytes(spec),
                    .programmatic_dependent = true}};
}

}  // namespace

std::vector<u32> find_half_product(const Graph& graph, const Uses& uses, u32 last) {
  std::vector<u32> nodes{last};
  u32 at = last;
  if (rounds(graph, graph.nodes[last])) {
    const s32 from = uses.producer(graph.nodes[last].input(0));
    if (from < 0) return {};
    nodes.push_back(at = static_cast<u32>(from));
  }
  if (!is_product_of_values(graph, graph.nodes[at])) return {};
  for (const ValueId id : graph.nodes[at].inputs) take_reads(graph, uses, id, nodes);
  std::ranges::sort(nodes);
  return nodes;
}

Offer offer_half_product(const LowerRequest& chain) {
  HalfProduct product;
  if (std::string reason = read(chain, product); !reason.empty()) return Reject{reason};
  const CudaDevice& device = device_of(chain);
  const Spec spec = cheapest_spec(product, moved_bytes(chain), device.chip());
  if (std::string reason = device.chip().reject_without_mma(spec.f16); !reason.empty())
    return Reject{reason};
  if (shared_bytes(spec) > device.chip().shared_bytes_per_block)
    return Reject{"no tile fits the chip"};
  Candidate candidate =
      candidate_of(chain,
                   fmt::format("matmul_of_{}_{}x{}", spec.f16 ? "f16" : "bf16",
                               product_halves::bm(spec), product_halves::bn(spec)),
                   Layout::linear);
  candidate.cost = cost_of(spec, moved_bytes(chain), device.chip());
  candidate.macs_per_cycle = device.chip().costs().rate_mma_f16 * device.chip().multiprocessors;
  candidate.close = true;
  set_step(candidate, device,
           {.make_launch = [product,
                            spec](const BindArgs& bind) { return launch_of(product, spec, bind); }},
           [product](const StepData& data) {
             const auto at = [&](size_t input, s64 first) {
               return reinterpret_cast<const u16*>(data.input(input)) + first;
             };
             return product_halves::Params{at(product.a, product.a_at), at(product.b, product.b_at),
                                           data.output()};
           });
  return candidate;
}

}  // namespace octet::cuda
