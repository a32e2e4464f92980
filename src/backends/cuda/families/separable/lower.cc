// SPDX-License-Identifier: Apache-2.0
// Chains of a depthwise QConv and the 1x1 QConvs around it.
#include <algorithm>
#include <cstring>

#include "backends/cuda/families/separable/tile.h"
#include "ops/shared/pool.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

using separable::kQuad;
using separable::Memory;
using separable::Sizes;
using separable::Spec;
using separable::Tile;

// 'p': a product of pixels, 'd': depthwise, 'm': a maximum of a window; else 0.
char kind_of(const Graph& graph, u32 n) {
  const Node& node = graph.nodes[n];
  if (node.op->name == "MaxPool") return 'm';
  const Tensor* weights = graph.constant_input(node, kProductWeights);
  if (node.op->name != "QConv" || weights == nullptr || weights->shape().rank() != 4) return 0;
  const Shape &x = graph.value(node.inputs[kProductX]).type.shape, &w = weights->shape();
  if (x.rank() != 4) return 0;
  if (x[1] == w[0] && w[1] == 1 && w[2] * w[3] > 1) return 'd';
  return x[1] == w[1] && w[2] * w[3] == 1 ? 'p' : 0;
}

// The only reader of the node that makes its x, or -1.
s64 node_before(const Graph& graph, const Uses& uses, u32 n) {
  const ValueId x = graph.nodes[n].inputs[kProductX];
  return uses.only_consumer(x) == static_cast<s32>(n) ? uses.producer(x) : -1;
}

std::vector<u32> find_parts(const Graph& graph, const Uses& uses, u32 last,
                            std::string_view kinds) {
  std::vector<u32> nodes;
  s64 n = last;
  for (size_t i = kinds.size(); i-- > 0; n = node_before(graph, uses, nodes.front())) {
    if (n < 0) return {};
    if (kind_of(graph, static_cast<u32>(n)) != kinds[i]) return {};
    nodes.insert(nodes.begin(), static_cast<u32>(n));
  }
  return nodes;
}

// A part that another one of the chain reads.
std::string reject_inner(const Product& product) {
  if (product.has_residual || product.has_addend) return "something is added inside";
  return product.real() ? "reals pass inside" : "";
}

std::string read_pointwise(const LowerRequest& request, ConvRequest& conv) {
  if (std::string reason = read_conv(request, conv); !reason.empty()) return reason;
  if (!conv.pointwise() || conv.geometry.groups != 1) return "a part is no product of pixels";
  conv.t_fits = conv.sums_fit();
  return {};
}

std::string read_window(const LowerRequest& request, ConvRequest& conv) {
  constexpr s64 kLargest = 7, kMostRows = 0x7fff;  // the kernel's row of no pixel
  if (std::string reason = read_conv(request, conv); !reason.empty()) return reason;
  if (!conv.geometry.depthwise()) return "the window is not depthwise";
  for (const WindowAxis& axis : {conv.h(), conv.w()}) {
    if (axis.dilation != 1) return "the window is dilated";
    if (axis.kernel > kLargest || axis.stride > 4) return "the window is large";
  }
  if (conv.h().out > kMostRows) return "the image is high";
  conv.t_fits = conv.sums_fit();
  return reject_inner(conv.product);
}

std::string read_pool(const LowerRequest& request) {
  const Window window = pool_geometry(request.node, request.inputs[0].shape).window;
  for (const WindowAxis& axis : {window.h(), window.w()}) {
    const bool halves = axis.kernel == 2 && axis.stride == 2 && axis.dilation == 1 &&
                        axis.pad_begin == 0 && 2 * axis.out <= axis.in;
    if (!halves) return "the pool is not of 2x2 pixels";
  }
  return {};
}

// What follows the window.
std::string read_last(const LowerRequest& part, SeparableRequest& request) {
  if (part.node.op->name == "MaxPool") {
    request.pooled = true;
    return read_pool(part);
  }
  std::string reason = read_pointwise(part, request.project.emplace());
  if (reason.empty() && request.project->product.real()) reason = "the result is real";
  if (reason.empty() && request.project->product.addend_row) reason = "a constant is added";
  return reason;
}

std::string read_parts(const LowerRequest& chain, SeparableRequest& request) {
  const Graph& body = chain_body(chain.node);
  const size_t window = kind_of(body, 0) == 'd' ? 0 : 1;
  const LowerRequest window_part = part_request(chain, window);
  request.y = chain.outputs[0].shape;
  request.window_s8 = window_part.outputs[0].dtype == Dtype::s8;
  std::string reason = read_window(window_part, request.window);
  if (reason.empty() && window == 1) {
    reason = read_pointwise(part_request(chain, 0), request.expand.emplace());
    if (reason.empty()) reason = reject_inner(request.expand->product);
  }
  if (reason.empty() && window + 1 < body.nodes.size())
    reason = read_last(part_request(chain, window + 1), request);
  if (reason.empty() && request.first().geometry.in_channels % kQuad != 0)
    reason = "channels are not a multiple of 4";
  return reason;
}

// Which of the chain's inputs an operand of its last node is.
struct Operands {
  size_t x = 0, residual = 0, addend = 0;
};

Operands operands_of(const Node& chain) {
  const Node& last = chain_body(chain).nodes.back();
  const auto index = [&](size_t i) { return chain_input(chain, last.input(i)).value_or(0); };
  return {0, index(kProductResidual), index(kProductAddend)};
}

// What a kernel keeps of constants, as it lies in shared memory.
class Packing {
 public:
  Packing(const SeparableRequest& request, const Tile& tile)
      : request_(request),
        tile_(tile),
        sizes_(sizes_of(request)),
        memory_(separable::memory(sizes_, tile)),
        bytes_(static_cast<size_t>(memory_.kept)) {}

  std::vector<std::byte> make() {
    if (request_.expand) pack_expand(*request_.expand);
    pack_window(request_.window);
    if (request_.project) pack_project(*request_.project);
    return std::move(bytes_);
  }

 private:
  template <class T>
  void put(s64 at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }

  struct Ends {
    std::vector<s32> biases;
    std::vector<f32> multipliers;

    s32 bias(s64 c) const { return biases[static_cast<size_t>(c)]; }
    f32 multiplier(s64 c) const { return multipliers[static_cast<size_t>(c)]; }
  };

  // Puts the table into its place as well.
  Ends ends_of(const ConvRequest& conv, s64 part) {
    const Product& product = conv.product;
    const s64 channels = conv.geometry.out_channels;
    if (product.table) {
      const std::vector<std::byte> table = table_of(product);
      std::ranges::copy(table, bytes_.begin() + memory_.tables + sizes_.table_bytes * part);
    }
    Ends ends{biases_of(product, channels, conv.weight_sums()),
              multipliers_of(product.multiplier, channels)};
    constexpr s32 kRealBits = 0x4B400000;  // of 1.5 * 2^23
    if (conv.sums_are_short()) {
      for (s32& bias : ends.biases) bias += kRealBits;
    }
    return ends;
  }

  void pack_expand(const ConvRequest& conv) {
    const Ends ends = ends_of(conv, 0);
    for (s64 row = 0; row < memory_.channels; ++row) {
      const s64 c = separable::channel_of_expand_row(row);
      if (c >= conv.cout()) continue;
      conv.for_each_weight(c,
                           [&](s64, s64 k, s8 weight) { put(row * memory_.k_pitch + k, weight); });
    }
    for (s64 c = 0; c < conv.cout(); ++c) {
      const s64 at = memory_.expand_ends + separable::place_of_expand_end(c);
      put(at, ends.bias(c)), put(at + 16, ends.multiplier(c));
    }
  }

  void pack_window(const ConvRequest& conv) {
    const Ends ends = ends_of(conv, 1);
    const s64 taps_w = conv.w().kernel, words = tap_words(sizes_of(request_));
    for (s64 c = 0; c < conv.geometry.out_channels; ++c) {
      const s64 at = memory_.taps_at + c * memory_.taps * 4;
      conv.for_each_weight(c, [&](s64 tap, s64, s8 weight) {
        put(at + tap / taps_w * words * 4 + tap % taps_w, weight);
      });
      put(at + conv.h().kernel * words * 4, ends.bias(c));
      put(memory_.scales + c * 4, ends.multiplier(c));
    }
  }

  void pack_project(const ConvRequest& conv) {
    const Ends ends = ends_of(conv, 2);
    const s64 outputs = separable::outputs(tile_);
    for (s64 row = 0; row < outputs; ++row) {
      const s64 c = separable::channel_of_project_row(row, tile_.tiles_n);
      if (c >= conv.cout()) continue;
      conv.for_each_weight(c, [&](s64, s64 k, s8 weight) {
        put(memory_.project + row * memory_.p_pitch + k / tile_.slice * memory_.a_bytes +
                k % tile_.slice,
            weight);
      });
    }
    for (s64 c = 0; c < conv.cout(); ++c) {
      put(memory_.project_ends + 4 * c, ends.bias(c));
      put(memory_.project_ends + 4 * (outputs + c), ends.multiplier(c));
    }
  }

  const SeparableRequest& request_;
  const Tile& tile_;
  const Sizes sizes_;
  const Memory memory_;
  std::vector<std::byte> bytes_;
};

EpilogueSpec end_of(const ConvRequest* conv) {
  if (conv == nullptr) return {};
  EpilogueSpec end = epilogue_spec(conv->product);
  end.t_fits = conv->t_fits;
  return end;
}

bool is_short(const ConvRequest* conv) { return conv != nullptr && conv->sums_are_short(); }

// Where values lie, and how wide accesses are, are left to place().
Spec spec_of(const SeparableRequest& request, const Tile& tile) {
  const auto [expand, window, project] = request.parts();
  return {.sizes = sizes_of(request),
          .tile = tile,
          .x_signed = request.first().product.x_s8,
          .window_signed = window->product.x_s8,
          .result_signed = request.window_s8,
          .zero_point = window->product.epilogue.zero_point(kProductX),
          .x = {},
          .y = {},
          .residual = {},
          .addend = {},
          .x_access = 1,
          .y_access = 1,
          .expand_end = end_of(expand),
          .window_end = end_of(window),
          .project_end = end_of(project),
          .short_expand = is_short(expand),
          .short_window = is_short(window),
          .short_project = is_short(project)};
}

void place(Spec& spec, const SeparableRequest& request, const Operands& operands,
           const BindArgs& bind) {
  const ConvRequest& last = request.last();
  const PixelStrides x = request.first().input_strides(bind.inputs[operands.x]),
                     y = pixel_strides(request.y, bind.outputs[0]);
  spec.x = x, spec.y = y;
  spec.x_access = field_of(common_power(
      16, {spec.sizes.x_channels, x.image, x.row, x.pixel, bind.input_offset(operands.x)}));
  s64 width =
      common_power(request.project ? std::min<s64>(16, 2 * spec.tile.tiles_n) : 16,
                   {last.geometry.out_channels, y.image, y.row, y.pixel, bind.output_offset(0)});
  const auto operand = [&](PixelStrides& strides, size_t i) {
    strides = last.output_strides(bind.inputs[i]);
    width = common_power(width, {strides.image, strides.row, strides.pixel, bind.input_offset(i)});
  };
  if (last.product.has_residual) operand(spec.residual, operands.residual);
  if (last.product.has_addend) operand(spec.addend, operands.addend);
  spec.y_access = field_of(width);
}

Launch make_launch(const SeparableRequest& request, const Tile& tile, const Operands& operands,
                   const Chip& chip, const BindArgs& bind) {
  Spec spec = spec_of(request, tile);
  place(spec, request, operands, bind);
  return {.source = source_of("separable", spec),
          .shape = {
              .blocks = std::min(tiles(spec.sizes, tile), s64{chip.multiprocessors} * tile.blocks),
              .threads = threads(tile),
              .shared_bytes = memory(spec.sizes, tile).all,
              .programmatic_dependent = true}};
}

BlobRecipe kept_blob(const SeparableRequest& request, const Tile& tile) {
  BlobRecipe recipe{fmt::format("separable {}", name_of(tile)), {}, [request, tile] {
                      return Packing(request, tile).make();
                    }};
  for (const ConvRequest* conv : request.parts()) {
    if (conv == nullptr) continue;
    recipe.key += fmt::format(" {} {}", conv->product.epilogue.zero_point(kProductX),
                              epilogue_spec(conv->product).fine_shift);
    recipe.constants.insert(
        recipe.constants.end(),
        {conv->weights, conv->product.bias, conv->product.multiplier, conv->product.table});
  }
  return recipe;
}

Candidate candidate_for(const LowerRequest& chain, const SeparableRequest& request,
                        const Tile& tile) {
  const CudaDevice& device = device_of(chain);
  const Operands operands = operands_of(chain.node);
  Candidate candidate = conv_candidate(chain, "separable_" + name_of(tile), Layout::nhwc);
  candidate.by_image = false;
  candidate.alignment = kQuad;
  candidate.cost = separable_cost(request, tile, device.chip());
  candidate.macs_per_cycle = device.chip().costs().rate_mma_s8 * device.chip().multiprocessors;
  set_step(candidate, device,
           {.make_launch =
                [request, tile, operands, &device](const BindArgs& bind) {
                  return make_launch(request, tile, operands, device.chip(), bind);
                },
            .recipes = [request,
                        tile](const BindArgs&) { return std::vector{kept_blob(request, tile)}; }},
           [operands, product = request.last().product](const StepData& data) {
             separable::Params p{data.input(operands.x), data.blob<u8>(0), {}};
             if (product.has_residual) p.end.residual = data.input(operands.residual);
             if (product.has_addend) p.end.addend = data.input(operands.addend);
             p.end.out = data.output();
             return p;
           });
  return candidate;
}

}  // namespace

std::vector<u32> find_expand_depthwise_project(const Graph& graph, const Uses& uses, u32 last) {
  return find_parts(graph, uses, last, "pdp");
}

std::vector<u32> find_depthwise_pointwise(const Graph& graph, const Uses& uses, u32 last) {
  return find_parts(graph, uses, last, "dp");
}

std::vector<u32> find_pointwise_depthwise(const Graph& graph, const Uses& uses, u32 last) {
  return find_parts(graph, uses, last, "pd");
}

std::vector<u32> find_pointwise_depthwise_pool(const Graph& graph, const Uses& uses, u32 last) {
  return find_parts(graph, uses, last, "pdm");
}

Offer offer_separable(const LowerRequest& chain) {
  SeparableRequest request;
  if (std::string reason = read_parts(chain, request); !reason.empty()) return Reject{reason};
  const std::vector<Tile> tiles = separable_tiles(request, device_of(chain).chip());
  if (tiles.empty()) return Reject{"no tile fits the chip"};
  // Neighbours in the estimate are much alike: a few of hundreds are worth measuring.
  constexpr size_t kMeasured = 6;
  const bool measured = chain.target.keep_others || chain.target.tuning != nullptr;
  const size_t offered = measured ? kMeasured : 1;
  Candidates candidates;
  for (size_t i = 0; i < std::min(tiles.size(), offered); ++i)
    candidates.push_back(candidate_for(chain, request, tiles[i]));
  return candidates;
}

}  // namespace octet::cuda
