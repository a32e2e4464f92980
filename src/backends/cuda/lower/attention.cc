// SPDX-License-Identifier: Apache-2.0
// Attention as a chain: queries by keys, what is added to the scores, Softmax to codes, by values: kernels/attention.cu.
#include "backends/cuda/lower/attention.h"

#include <algorithm>
#include <cmath>

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

constexpr s64 kRows = 64;  // of a tile, and columns of one product

// How the kernel divides the work.
struct HeadsTile {
  s64 split = 1;   // warpgroups that share the keys
  s64 blocks = 1;  // that share a multiprocessor
  s64 parts = 1;   // blocks of a head

  s64 keys(const Heads& heads) const {
    return ceil_div(heads.key_count(), kRows * split) * kRows * split;
  }
  s64 sums(const Heads& heads) const { return keys(heads) / split / 2; }  // of a thread
};

bool has_only_operands(const LowerRequest& request) {
  for (const size_t i : {kProductBias, kProductResidual, kProductTable, kProductAddend})
    if (request.has_input(i)) return false;
  return true;
}

// What a product reads: an input of the chain, as moves inside of it turn it.
struct Operand {
  size_t input = 0;
  StridedView view;
};

size_t output_of(const Node& node, ValueId id) {
  return static_cast<size_t>(std::ranges::find(node.outputs, id) - node.outputs.begin());
}

// Behind products of the chain it is none of its inputs, and lies as it is.
std::optional<Operand> operand_of(const LowerRequest& chain, ValueId id) {
  const Graph& body = chain_body(chain.node);
  const Uses uses(body);
  std::vector<ValueId> moved;
  ValueId source = id;
  for (s32 n;
       (n = uses.producer(source)) >= 0 && makes_views(body.nodes[static_cast<size_t>(n)]);) {
    moved.push_back(source);
    source = body.nodes[static_cast<size_t>(n)].inputs[0];
  }
  const std::optional<size_t> input = chain_input(chain.node, source);
  if (!input) return Operand{0, dense_view(body.value(id).type.shape)};
  Operand operand{*input, dense_view(body.value(source).type.shape)};
  for (; !moved.empty(); moved.pop_back()) {
    const Node& node = body.nodes[static_cast<size_t>(uses.producer(moved.back()))];
    std::optional<StridedView> view =
        view_behind(body, node, output_of(node, moved.back()), operand.view);
    if (!view) return {};
    operand.view = *std::move(view);
  }
  return operand;
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
  const std::optional<Operand> queries = operand_of(chain, scores.input(kProductX)),
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

// Whether the scores of all heads lie one after another: strides of the batch, a query and a key.
bool is_dense(const MatMulGeometry& g, const std::vector<s64>& batch, s64 query, s64 key) {
  s64 expected = g.m * g.n;
  for (int d = g.batch.rank(); d-- > 0;) {
    if (g.batch[d] != 1 && batch[static_cast<size_t>(d)] != expected) return false;
    expected *= g.batch[d];
  }
  return (key == 1 || g.n == 1) && (query == g.n || g.m == 1);
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

std::string read_mask(const LowerRequest& request, size_t scores, const Node& chain, Heads& heads) {
  const size_t other = 1 - scores;
  const Shape &whole = request.inputs[scores].shape, &shape = request.inputs[other].shape;
  const MatMulGeometry& g = heads.by_keys.geometry;
  ScoreMask& mask = heads.mask;
  Shape rows = g.batch;
  rows.push_back(g.m), rows.push_back(g.n);
  if (whole != rows) return "scores are turned, or of a vector";
  if (activation_of(request.node).kind != Activation::Kind::none)
    return "the sum has an activation";
  if (request.inputs[other].dtype != Dtype::f32) return "the mask is not f32";
  if (request.outputs[0].shape != whole) return "the mask is larger than the scores";
  mask.exists = true;
  if (const Tensor* constant = request.constant(other)) {
    mask.constant = *constant;
  } else {
    mask.input = *chain_input(chain, request.node.input(other));
  }
  std::vector<s64> strides(static_cast<size_t>(whole.rank()));
  s64 step = 1;
  for (int d = shape.rank(); d-- > 0;) {
    if (shape[d] != 1) strides[static_cast<size_t>(d + whole.rank() - shape.rank())] = step;
    step *= shape[d];
  }
  mask.key = strides.back(), strides.pop_back();
  mask.row = strides.back(), strides.pop_back();
  mask.batch = strides;
  return {};
}

std::string check_sizes(const Heads& heads) {
  const MatMulGeometry &keys = heads.by_keys.geometry, &values = heads.by_values.geometry;
  const MatMulViews &k = heads.by_keys, &v = heads.by_values;
  constexpr s64 kHeadStep = 16, kLargestHead = 128, kMostKeys = 768;
  if (keys.batch != values.batch || keys.m != values.m || keys.n != values.k)
    return "the products do not follow each other";
  if (!is_dense(keys, k.y_batch, k.y_row, k.y_n) || !is_dense(keys, v.a_batch, v.a_row, v.a_k))
    return "scores are turned";
  if (keys.k != values.n) return "keys and values differ in size";
  if (k.output.elements() == 0 || keys.k == 0) return "there is nothing to compute";
  if (keys.k % kHeadStep != 0 || keys.k > kLargestHead)
    return "the size of a head is no multiple of 16, or more than 128";
  if (keys.n > kMostKeys) return fmt::format("there are more than {} keys", kMostKeys);
  if (k.a_k != 1 || k.b_k != 1 || v.b_n != 1 || v.y_n != 1) return "codes of a head lie apart";
  return {};
}

}  // namespace

std::string read_heads(const LowerRequest& request, Heads& heads) {
  const Graph& body = chain_body(request.node);
  const u32 end = static_cast<u32>(body.nodes.size() - 1);
  const std::vector<u32> parts = find_attention(body, Uses(body), end);
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
  if (last == 3) {
    const Node& add = body.nodes[parts[1]];
    const size_t of_scores = add.input(0) == scores.node.outputs[0] ? 0 : 1;
    const LowerRequest sum = part_request(request, parts[1]);
    if (std::string reason = read_mask(sum, of_scores, request.node, heads); !reason.empty())
      return reason;
  }
  if (std::string reason = read_shares(part_request(request, parts[last - 1]), heads);
      !reason.empty())
    return reason;
  if (heads.context.epilogue.zero_point(kProductX) != heads.range.zero_point)
    return "shares are read with another zero point";
  return check_sizes(heads);
}

namespace {

s64 tiles_of(const Heads& heads) { return ceil_div(heads.query_count(), kRows); }

// As kernels/attention.cu lays it out.
s64 shared_bytes(const Heads& heads, const HeadsTile& tile) {
  constexpr s64 kAlignment = 1024, kRowBytes = 48;
  const s64 depths = ceil_div(heads.head(), kRows), keys = tile.keys(heads);
  s64 bytes = 2 * depths * keys * kRows + depths * kRows * kRows;
  if (tile.split == 2) bytes += depths * 16 * 256 * 4 + 2 * kRows * kRowBytes;
  return bytes + keys * 4 + depths * kRows * 4 + kAlignment;
}

// In cycles.
f64 cost_of_tile(const Heads& heads, const HeadsTile& tile, const Chip& chip) {
  const Costs& costs = chip.costs();
  const s64 blocks = heads.by_keys.geometry.batches() * tile.parts;
  const s64 slots = chip.multiprocessors * tile.blocks;
  // Blocks of one multiprocessor share its rate; one alone waits for itself.
  const f64 beside =
      static_cast<f64>(std::min(tile.blocks, ceil_div(blocks, s64{chip.multiprocessors})));
  const f64 of_key = std::max(costs.attention_key * beside,
                              costs.attention_key_alone / static_cast<f64>(tile.split));
  const f64 tiles = static_cast<f64>(ceil_div(tiles_of(heads), tile.parts));
  const f64 block = costs.attention_load + tiles * of_key * static_cast<f64>(tile.keys(heads));
  return costs.attention_start + static_cast<f64>(ceil_div(blocks, slots)) * block;
}

// Those that registers and shared memory allow, each with as many blocks of a head as cost least.
std::vector<HeadsTile> heads_tiles(const Heads& heads, const Chip& chip) {
  constexpr s64 kMostSums = 192, kMostOfMany = 96;
  std::vector<HeadsTile> all;
  for (const s64 split : {2, 1}) {
    HeadsTile best{.split = split};
    if (best.sums(heads) > kMostSums) continue;
    if (shared_bytes(heads, best) > chip.shared_bytes_per_block) continue;
    const s64 by_memory =
        chip.shared_bytes / (shared_bytes(heads, best) + chip.reserved_shared_bytes);
    best.blocks = std::min((best.sums(heads) <= kMostOfMany ? 4 : 2) / split, by_memory);
    for (HeadsTile tile = best; tile.parts <= tiles_of(heads); ++tile.parts) {
      if (cost_of_tile(heads, tile, chip) < cost_of_tile(heads, best, chip)) best = tile;
    }
    all.push_back(best);
  }
  std::ranges::stable_sort(all, {},
                           [&](const HeadsTile& tile) { return cost_of_tile(heads, tile, chip); });
  return all;
}

s64 access_of(s64 most, s64 offset, s64 row, const std::vector<s64>& batch) {
  s64 width = common_power(most, {offset, row});
  for (const s64 stride : batch) width = common_power(width, {stride});
  return width;
}

std::string batches_of(const Heads& heads) {
  const Shape& batch = heads.by_keys.geometry.batch;
  std::string list;
  for (int d = batch.rank(); d-- > 0;) {
    const auto i = static_cast<size_t>(d);
    list += fmt::format("X({},{},{},{},{},{}) ", batch[d], heads.by_keys.a_batch[i],
                        heads.by_keys.b_batch[i], heads.by_values.b_batch[i],
                        heads.mask.exists ? heads.mask.batch[i] : 0, heads.by_values.y_batch[i]);
  }
  return list;
}

bool sums_fit(const Heads& heads) {
  constexpr f64 kFar = 1 << 30, kLargestProduct = 255.0 * 255.0;
  const f64 largest = kLargestProduct * static_cast<f64>(heads.key_count());
  return largest * static_cast<f64>(heads.context.multiplier.as<f32>()[0]) < kFar;
}

void set_operands_of(KernelSource& source, const Heads& heads, const BindArgs& bind) {
  const MatMulViews &k = heads.by_keys, &v = heads.by_values;
  const Epilogue &scores = heads.scores.epilogue, &context = heads.context.epilogue;
  constexpr s64 kWidest = 16, kWord = 4;
  const auto narrow = [](s64 width) { return width >= kWord ? width : 1; };
  source.set("Q_ROW", k.a_row), source.set("K_ROW", k.b_n);
  source.set("V_ROW", v.b_k), source.set("OUT_ROW", v.y_row);
  source.set("Q_VEC", narrow(access_of(kWidest, bind.input_offset(heads.queries) + heads.queries_at,
                                       k.a_row, k.a_batch)));
  source.set("K_VEC", narrow(access_of(kWidest, bind.input_offset(heads.keys) + heads.keys_at,
                                       k.b_n, k.b_batch)));
  source.set("V_VEC", narrow(access_of(kWord, bind.input_offset(heads.values) + heads.values_at,
                                       v.b_k, v.b_batch)));
  source.set("OUT_VEC", access_of(kWidest, bind.output_offset(0), v.y_row, v.y_batch));
  source.set("Q_S8", s64{heads.scores.x_s8}), source.set("K_S8", s64{heads.keys_s8});
  source.set("V_S8", s64{heads.values_s8}), source.set("Y_S8", s64{heads.shares_s8});
  source.set("X_S8", s64{heads.scores.x_s8});
  source.set("ZP_Q", s64{scores.zero_point(kProductX)});
  source.set("ZP_K", s64{scores.zero_point(kProductWeights)});
  source.set("ZP_V", s64{context.zero_point(kProductWeights)});
  source.set("BATCHES", batches_of(heads));
}

void set_numbers(KernelSource& source, const Heads& heads) {
  source.set("SCORE_M", heads.scores.multiplier.as<f32>()[0]);
  source.set("CONTEXT_M", heads.context.multiplier.as<f32>()[0]);
  source.set("MASKED", s64{heads.mask.exists});
  source.set("MASK_ROW", heads.mask.row), source.set("MASK_KEY", heads.mask.key);
  source.set("Y_CODES", s64{1});
  source.set("Y_SCALE", heads.shares.y), source.set("Y_RECIPROCAL", reciprocal_of(heads.shares.y));
  source.set("ZP_Y", s64{heads.range.zero_point});
  source.set("LO", s64{heads.range.lo}), source.set("HI", s64{heads.range.hi});
  add_epilogue(source, "context", heads.context, sums_fit(heads));
}

Launch launch_of_heads(const Heads& heads, const HeadsTile& tile, const BindArgs& bind) {
  constexpr int kWarpgroup = 128;
  Launch launch{.source = {"attention", {}}, .shape = {}};
  KernelSource& source = launch.source;
  source.set("QUERIES", heads.query_count()), source.set("KEYS", heads.key_count());
  source.set("HEAD", heads.head()), source.set("KEYS_PADDED", tile.keys(heads));
  source.set("BN", kRows), source.set("BKI", kRows);
  source.set("SPLIT", tile.split), source.set("TEAMS", s64{1});
  source.set("PARTS", tile.parts), source.set("MIN_BLOCKS", tile.blocks);
  set_operands_of(source, heads, bind);
  set_numbers(source, heads);
  launch.shape = {.blocks = heads.by_keys.geometry.batches() * tile.parts,
                  .threads = kWarpgroup * static_cast<int>(tile.split),
                  .shared_bytes = shared_bytes(heads, tile),
                  .programmatic_dependent = true};
  return launch;
}

params::AttentionParams heads_params(const Heads& heads, const StepData& data) {
  const ScoreMask& mask = heads.mask;
  params::AttentionParams p{data.input(heads.queries) + heads.queries_at,
                            data.input(heads.keys) + heads.keys_at,
                            data.input(heads.values) + heads.values_at, nullptr, data.output()};
  if (mask.constant) {
    p.mask = data.blob<f32>(0);
  } else if (mask.exists) {
    p.mask = reinterpret_cast<const f32*>(data.input(mask.input));
  }
  return p;
}

Candidate heads_candidate(const LowerRequest& request, const Heads& heads, const HeadsTile& tile) {
  const CudaDevice& device = device_of(request);
  Candidate candidate = candidate_of(
      request, fmt::format("attention_64x{}_x{}", tile.keys(heads), tile.split), Layout::linear);
  candidate.cost = cost_of_tile(heads, tile, device.chip());
  candidate.macs_per_cycle = device.chip().costs().rate_wgmma_s8 * device.chip().multiprocessors;
  const auto recipes = [mask = heads.mask](const BindArgs&) {
    return mask.constant ? std::vector{constant_blob(mask.constant)} : std::vector<BlobRecipe>{};
  };
  set_step(candidate, device,
           {.make_launch =
                [heads, tile](const BindArgs& bind) { return launch_of_heads(heads, tile, bind); },
            .recipes = recipes},
           [heads](const StepData& data) { return heads_params(heads, data); });
  return candidate;
}

}  // namespace

Candidates heads_candidates(const LowerRequest& request, const Heads& heads) {
  Candidates candidates;
  for (const HeadsTile& tile : heads_tiles(heads, device_of(request).chip()))
    candidates.push_back(heads_candidate(request, heads, tile));
  return candidates;
}

Offer offer_attention(const LowerRequest& request) {
  if (std::string reason = device_of(request).chip().reject_without({Instruction::wgmma});
      !reason.empty())
    return Reject{reason};
  Heads heads;
  if (std::string reason = read_heads(request, heads); !reason.empty()) return Reject{reason};
  Candidates candidates = heads_candidates(request, heads);
  if (candidates.empty()) return Reject{"no tile fits the chip"};
  return candidates;
}

}  // namespace octet::cuda
