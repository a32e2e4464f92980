// SPDX-License-Identifier: Apache-2.0
// Attention as a chain: queries by keys, what is added to the scores, Softmax to codes, by values.
#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/cuda/families/attention/attention.h"
#include "backends/cuda/families/attention/spec.h"
#include "backends/cuda/lower/attention_pieces.h"
#include "backends/cuda/lower/codes.h"
#include "backends/cuda/lower/conv_cost.h"
#include "core/divide.h"
#include "graph/op_def.h"
#include "ops/shared/activation.h"
#include "ops/shared/moved_view.h"
#include "ops/shared/softmax.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

using attention::Spec;

bool has_only_operands(const LowerRequest& request) {
  for (const size_t i : {kProductBias, kProductResidual, kProductTable, kProductAddend})
    if (request.has_input(i)) return false;
  return true;
}

// A product of two activations with one multiplier and nothing added.
std::string read_plain(const LowerRequest& request, Product& product) {
  for (const size_t i : {kProductX, kProductWeights}) {
    if (!is_code(request.inputs[i].dtype)) return "an operand is not u8 or s8";
    if (request.constant(i) != nullptr) return "an operand is a constant";
  }
  if (!has_only_operands(request)) return "something is added to a product";
  if (std::string reason = read_product(request, product); !reason.empty()) return reason;
  const std::span<const f32> multiplier = product.multiplier.as<f32>();
  constexpr f32 kLargest = 0x1p40f;
  if (multiplier.size() != 1) return "columns have multipliers of their own";
  if (!(multiplier[0] > 1 / kLargest && multiplier[0] < kLargest)) return "a multiplier is extreme";
  if (product.epilogue.activation.kind != Activation::Kind::none)
    return "a product has an activation";
  return {};
}

// Where the kernel finds queries, keys and values.
std::string read_operands(const LowerRequest& chain, const Node& scores, const Node& context,
                          Heads& heads) {
  const std::optional<HeadOperand> queries = operand_of(chain, scores.input(kProductX)),
                                   keys = operand_of(chain, scores.input(kProductWeights)),
                                   values = operand_of(chain, context.input(kProductWeights));
  if (!queries || !keys || !values) return "an operand is no view of what it is moved from";
  const StridedView shares =
      dense_view(chain_body(chain.node).value(context.input(kProductX)).type.shape);
  heads.by_keys = matmul_views(scores, queries->view, keys->view);
  heads.by_values = matmul_views(context, shares, values->view);
  heads.queries = queries->input, heads.queries_at = queries->view.offset;
  heads.keys = keys->input, heads.keys_at = keys->view.offset;
  heads.values = values->input, heads.values_at = values->view.offset;
  return {};
}

std::string read_shares(const LowerRequest& request, Heads& heads) {
  const SoftmaxGeometry g = softmax_geometry(request.node, request.inputs[0].shape);
  if (g.inner != 1 || g.count != heads.key_count()) return "Softmax is not over the keys";
  const Epilogue epilogue = epilogue_of(request.node);
  heads.range = epilogue.range;
  heads.shares = row_scales(request.node);
  heads.shares_s8 = request.outputs[0].dtype == Dtype::s8;
  return {};
}

std::string check_sizes(const Heads& heads) {
  const MatMulGeometry &keys = heads.by_keys.geometry, &values = heads.by_values.geometry;
  const MatMulViews &k = heads.by_keys, &v = heads.by_values;
  constexpr s64 kHeadStep = 16, kLargestHead = 128, kMostKeys = 768;
  constexpr s64 kMostQueries = std::numeric_limits<s32>::max() - attention::kRows;
  if (keys.batch != values.batch || keys.m != values.m || keys.n != values.k)
    return "the products do not follow each other";
  if (!is_dense(keys, k.y_batch, k.y_row, k.y_n) || !is_dense(keys, v.a_batch, v.a_row, v.a_k))
    return "scores are turned";
  if (keys.k != values.n) return "keys and values differ in size";
  if (k.output.elements() == 0 || keys.k == 0) return "there is nothing to compute";
  if (keys.k % kHeadStep != 0 || keys.k > kLargestHead)
    return "the size of a head is no multiple of 16, or more than 128";
  if (keys.n > kMostKeys) return fmt::format("there are more than {} keys", kMostKeys);
  if (keys.m > kMostQueries) return "there are 2^31 queries or more";
  if (keys.batch.rank() > attention::kMostAxes) return "the batch has more than 6 axes";
  if (k.a_k != 1 || k.b_k != 1 || v.b_n != 1 || v.y_n != 1) return "codes of a head lie apart";
  return {};
}

// Gives the batch other axes, each of them one of its own or a part of one; false where they are none.
bool part_batch(MatMulViews& views, const Shape& wanted) {
  MatMulViews parted = views;
  const size_t rank = static_cast<size_t>(wanted.rank());
  parted.geometry.batch = wanted;
  for (std::vector<s64>* strides : {&parted.a_batch, &parted.b_batch, &parted.y_batch})
    strides->assign(rank, 0);
  size_t to = rank;
  for (size_t own = views.a_batch.size(); own-- > 0;) {
    s64 left = views.geometry.batch[static_cast<int>(own)];
    for (s64 step = 1; left > 1; step *= wanted[static_cast<int>(to)]) {
      if (to == 0 || left % wanted[static_cast<int>(--to)] != 0) return false;
      parted.a_batch[to] = views.a_batch[own] * step;
      parted.b_batch[to] = views.b_batch[own] * step;
      parted.y_batch[to] = views.y_batch[own] * step;
      left /= wanted[static_cast<int>(to)];
    }
  }
  while (to > 0 && wanted[static_cast<int>(to - 1)] == 1) --to;
  if (to == 0) views = std::move(parted);
  return to == 0;
}

// A sum of scores, whose batch may have axes of its own there.
std::string read_sum(const LowerRequest& request, u32 n, Heads& heads) {
  const Graph& body = chain_body(request.node);
  const Node& add = body.nodes[n];
  const bool first_is_mask =
      body.is_constant(add.input(0)) || chain_input(request.node, add.input(0)).has_value();
  const size_t of_scores = first_is_mask ? 1 : 0;
  const LowerRequest sum = part_request(request, n);
  Shape batch;
  for (int d = 0; d + 2 < sum.inputs[of_scores].shape.rank(); ++d)
    batch.push_back(sum.inputs[of_scores].shape[d]);
  if (batch.elements() == 0 || !part_batch(heads.by_keys, batch) ||
      !part_batch(heads.by_values, batch))
    return "the batch has other axes where scores are added";
  if (std::string reason = read_mask(sum, of_scores, heads.by_keys.geometry, heads.mask);
      !reason.empty())
    return reason;
  if (heads.mask.constant) return {};
  const std::optional<size_t> mask = chain_input(request.node, add.input(1 - of_scores));
  if (!mask) return "the mask is made inside";
  heads.mask.input = *mask;
  return {};
}

}  // namespace

std::string read_heads(const LowerRequest& request, Heads& heads) {
  const Graph& body = chain_body(request.node);
  const u32 end = static_cast<u32>(body.nodes.size() - 1);
  const std::vector<u32> parts = find_attention(body, Uses(body), end);
  if (parts.empty()) return why_in_pieces(body);
  const size_t last = parts.size() - 1;
  const LowerRequest scores = part_request(request, parts[0]), context = part_request(request, end);
  if (std::string reason = read_plain(scores, heads.scores); !reason.empty()) return reason;
  if (!heads.scores.real()) return "scores are codes";
  if (std::string reason = read_plain(context, heads.context); !reason.empty()) return reason;
  if (heads.context.real()) return "the result is not codes";
  if (std::string reason = read_operands(request, scores.node, context.node, heads);
      !reason.empty())
    return reason;
  heads.keys_s8 = scores.inputs[kProductWeights].dtype == Dtype::s8;
  heads.values_s8 = context.inputs[kProductWeights].dtype == Dtype::s8;
  const auto add = std::ranges::find_if(
      parts, [&](u32 n) { return body.nodes[n].op->name == std::string_view("Add"); });
  if (add != parts.end()) {
    if (std::string reason = read_sum(request, *add, heads); !reason.empty()) return reason;
  }
  if (std::string reason = read_shares(part_request(request, parts[last - 1]), heads);
      !reason.empty())
    return reason;
  if (heads.context.epilogue.zero_point(kProductX) != heads.range.zero_point)
    return "shares are read with another zero point";
  return check_sizes(heads);
}

namespace {

bool sums_fit(const Heads& heads) {
  constexpr f64 kFar = 1 << 30, kLargestProduct = 255.0 * 255.0;
  const f64 largest = kLargestProduct * static_cast<f64>(heads.key_count());
  return largest * static_cast<f64>(heads.context.multiplier.as<f32>()[0]) < kFar;
}

// The last axis first.
attention::Batch batch_of(const Heads& heads) {
  const Shape& batch = heads.by_keys.geometry.batch;
  const auto axis = [&](int from_last) -> attention::BatchAxis {
    const int d = batch.rank() - 1 - from_last;
    if (d < 0) return {.size = 1, .queries = 0, .keys = 0, .values = 0, .mask = 0, .y = 0};
    const auto i = static_cast<size_t>(d);
    return {.size = batch[d],
            .queries = heads.by_keys.a_batch[i],
            .keys = heads.by_keys.b_batch[i],
            .values = heads.by_values.b_batch[i],
            .mask = heads.mask.exists ? heads.mask.batch[i] : 0,
            .y = heads.by_values.y_batch[i]};
  };
  return {.count = batch.rank(),
          .axis0 = axis(0),
          .axis1 = axis(1),
          .axis2 = axis(2),
          .axis3 = axis(3),
          .axis4 = axis(4),
          .axis5 = axis(5)};
}

// Without places of values and a tile.
Spec spec_of(const Heads& heads) {
  const MatMulViews &k = heads.by_keys, &v = heads.by_values;
  const Epilogue &scores = heads.scores.epilogue, &context = heads.context.epilogue;
  EpilogueSpec end = epilogue_spec(heads.context);
  end.t_fits = sums_fit(heads);
  return {.queries = field_of(heads.query_count()),
          .keys = field_of(heads.key_count()),
          .head = field_of(heads.head()),
          .q = {.is_signed = heads.scores.x_s8,
                .zero_point = scores.zero_point(kProductX),
                .row = k.a_row,
                .access = 1},
          .k = {.is_signed = heads.keys_s8,
                .zero_point = scores.zero_point(kProductWeights),
                .row = k.b_n,
                .access = 1},
          .v = {.is_signed = heads.values_s8,
                .zero_point = context.zero_point(kProductWeights),
                .row = v.b_k,
                .access = 1},
          .batch = batch_of(heads),
          .score_multiplier = bits_of(heads.scores.multiplier.as<f32>()[0]),
          .masked = heads.mask.exists,
          .mask_row = heads.mask.row,
          .mask_key = heads.mask.key,
          .mask_pairs = false,
          .shares = {.scale = bits_of(heads.shares.y),
                     .reciprocal = bits_of(reciprocal_of(heads.shares.y)),
                     .zero_point = heads.range.zero_point,
                     .lo = heads.range.lo,
                     .hi = heads.range.hi},
          .shares_signed = heads.shares_s8,
          .context_multiplier = bits_of(heads.context.multiplier.as<f32>()[0]),
          .context = end,
          .y_row = v.y_row,
          .y_access = 1,
          .tile = {}};
}

s64 sums_of_thread(const Spec& spec) { return own_keys(spec) / 2; }

// In cycles.
f64 cost_of(const Heads& heads, const Spec& spec, const Chip& chip) {
  const Costs& costs = chip.costs();
  const attention::Tile& tile = spec.tile;
  const s64 blocks = heads.by_keys.geometry.batches() * tile.parts;
  const s64 slots = chip.multiprocessors * s64{tile.blocks};
  // Blocks of one multiprocessor share its rate; one alone waits for itself.
  const f64 beside =
      static_cast<f64>(std::min<s64>(tile.blocks, ceil_div(blocks, s64{chip.multiprocessors})));
  // What wgmma hides behind Softmax, the warps' own instructions add.
  const f64 products = 2.0 * attention::kRows * depths(spec) * attention::kRows;
  const f64 own = chip.has(Instruction::wgmma) ? 0 : products / costs.rate_mma_s8;
  const f64 of_key = std::max((costs.attention_key + own) * beside,
                              (costs.attention_key_alone + own) / tile.split);
  const f64 block = costs.attention_load + tiles_of_part(spec) * of_key * tile.keys;
  return costs.attention_start + static_cast<f64>(ceil_div(blocks, slots)) * block;
}

// With each tile that registers and shared memory allow, with as many blocks of a head as cost least.
std::vector<Spec> heads_specs(const Heads& heads, const Chip& chip) {
  constexpr s64 kMostSums = 192, kMostOfMany = 96;
  std::vector<Spec> all;
  Spec best = spec_of(heads);
  for (const s32 split : {2, 1}) {
    const s32 step = attention::kRows * split;
    best.tile = {.split = split,
                 .teams = 1,
                 .parts = 1,
                 .blocks = 1,
                 .keys = ceil_div_s32(best.keys, step) * step};
    if (sums_of_thread(best) > kMostSums) continue;
    const s64 bytes = memory(best).all;
    if (bytes > chip.shared_bytes_per_block) continue;
    const s64 by_memory = chip.shared_bytes / (bytes + chip.reserved_shared_bytes);
    best.tile.blocks =
        field_of(std::min<s64>((sums_of_thread(best) <= kMostOfMany ? 4 : 2) / split, by_memory));
    for (Spec spec = best; spec.tile.parts <= tiles(spec); ++spec.tile.parts) {
      if (cost_of(heads, spec, chip) < cost_of(heads, best, chip)) best = spec;
    }
    all.push_back(best);
  }
  std::ranges::stable_sort(all, {}, [&](const Spec& spec) { return cost_of(heads, spec, chip); });
  return all;
}

s64 access_of(s64 most, s64 offset, s64 row, const std::vector<s64>& batch) {
  s64 width = common_power(most, {offset, row});
  for (const s64 stride : batch) width = common_power(width, {stride});
  return width;
}

void set_access(Spec& spec, const Heads& heads, const BindArgs& bind) {
  const MatMulViews &k = heads.by_keys, &v = heads.by_values;
  constexpr s64 kWidest = 16, kWord = 4;
  const auto narrow = [](s64 width) { return field_of(width >= kWord ? width : 1); };
  spec.q.access = narrow(
      access_of(kWidest, bind.input_offset(heads.queries) + heads.queries_at, k.a_row, k.a_batch));
  spec.k.access =
      narrow(access_of(kWidest, bind.input_offset(heads.keys) + heads.keys_at, k.b_n, k.b_batch));
  spec.v.access =
      narrow(access_of(kWord, bind.input_offset(heads.values) + heads.values_at, v.b_k, v.b_batch));
  spec.y_access = field_of(access_of(kWidest, bind.output_offset(0), v.y_row, v.y_batch));
  const ScoreMask& mask = heads.mask;
  if (!mask.exists || mask.key != 1 || spec.keys % 2 != 0) return;
  constexpr s64 kBytes = sizeof(f32), kPair = 2;
  const s64 offset = mask.constant ? 0 : bind.input_offset(mask.input) / kBytes;
  spec.mask_pairs = access_of(kPair, offset, mask.row, mask.batch) == kPair;
}

Launch launch_of_heads(const Heads& heads, Spec spec, const BindArgs& bind) {
  set_access(spec, heads, bind);
  return {.source = source_of("attention", spec),
          .shape = {.blocks = heads.by_keys.geometry.batches() * spec.tile.parts,
                    .threads = threads(spec),
                    .shared_bytes = memory(spec).all,
                    .programmatic_dependent = true}};
}

attention::Params heads_params(const Heads& heads, const StepData& data) {
  const ScoreMask& mask = heads.mask;
  attention::Params p{data.input(heads.queries) + heads.queries_at,
                      data.input(heads.keys) + heads.keys_at,
                      data.input(heads.values) + heads.values_at, nullptr, data.output()};
  if (mask.constant) {
    p.mask = data.blob<f32>(0);
  } else if (mask.exists) {
    p.mask = reinterpret_cast<const f32*>(data.input(mask.input));
  }
  return p;
}

Candidate heads_candidate(const LowerRequest& request, const Heads& heads, const Spec& spec) {
  const CudaDevice& device = device_of(request);
  Candidate candidate = candidate_of(
      request, fmt::format("attention_64x{}_x{}", spec.tile.keys, spec.tile.split), Layout::linear);
  candidate.cost = cost_of(heads, spec, device.chip());
  candidate.macs_per_cycle = device.chip().warpgroup_rate() * device.chip().multiprocessors;
  const auto recipes = [mask = heads.mask](const BindArgs&) {
    return mask.constant ? std::vector{constant_blob(mask.constant)} : std::vector<BlobRecipe>{};
  };
  set_step(candidate, device,
           {.make_launch =
                [heads, spec](const BindArgs& bind) { return launch_of_heads(heads, spec, bind); },
            .recipes = recipes},
           [heads](const StepData& data) { return heads_params(heads, data); });
  return candidate;
}

}  // namespace

Candidates heads_candidates(const LowerRequest& request, const Heads& heads) {
  Candidates candidates;
  for (const Spec& spec : heads_specs(heads, device_of(request).chip()))
    candidates.push_back(heads_candidate(request, heads, spec));
  return candidates;
}

Offer offer_attention(const LowerRequest& request) {
  Heads heads;
  if (std::string reason = read_heads(request, heads); !reason.empty()) return Reject{reason};
  Candidates candidates = heads_candidates(request, heads);
  if (candidates.empty()) return Reject{"no tile fits the chip"};
  return candidates;
}

}  // namespace octet::cuda
