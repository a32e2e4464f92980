// SPDX-License-Identifier: Apache-2.0
// Chains of a depthwise QConv and the 1x1 QConvs around it: kernels/separable.cu.
#include <algorithm>
#include <cstring>

#include "backends/cuda/lower/separable_tile.h"
#include "ops/shared/pool.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

constexpr s64 kQuad = 4;

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

// Whether a sum with its bias is always shorter than 23 bits.
bool sums_are_short(const ConvRequest& conv) {
  constexpr s64 kLimit = s64{1} << 22, kLargestCode = 255;
  for (s64 c = 0; c < conv.geometry.out_channels; ++c) {
    s64 sum = 0;
    conv.for_each_weight(c, [&](s64, s64, s8 weight) { sum += kLargestCode * std::abs(weight); });
    if (conv.product.bias)
      sum += std::abs(s64{conv.product.bias.as<s32>()[static_cast<size_t>(c)]});
    if (sum >= kLimit) return false;
  }
  return true;
}

// What a kernel keeps of constants, as it lies in shared memory.
class Packing {
 public:
  Packing(const SeparableRequest& request, const SeparableTile& tile)
      : request_(request),
        tile_(tile),
        memory_(memory_of(request, tile)),
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
    if (product.table)
      std::memcpy(bytes_.data() + memory_.tables + 256 * part, product.table.data(), 256);
    Ends ends{biases_of(product, channels, conv.weight_sums()),
              multipliers_of(product.multiplier, channels)};
    constexpr s32 kRealBits = 0x4B400000;  // of 1.5 * 2^23
    if (sums_are_short(conv)) {
      for (s32& bias : ends.biases) bias += kRealBits;
    }
    return ends;
  }

  void pack_expand(const ConvRequest& conv) {
    const Ends ends = ends_of(conv, 0);
    for (s64 row = 0; row < memory_.channels; ++row) {
      const s64 in_group = row % 16,
                c = row - in_group + in_group % 8 / 2 * 4 + in_group / 8 * 2 + in_group % 2;
      if (c >= conv.cout()) continue;
      conv.for_each_weight(c,
                           [&](s64, s64 k, s8 weight) { put(row * memory_.k_pitch + k, weight); });
    }
    for (s64 c = 0; c < conv.cout(); ++c) {
      const s64 at = memory_.expand_ends + c / kQuad * 32 + c % kQuad * 4;
      put(at, ends.bias(c)), put(at + 16, ends.multiplier(c));
    }
  }

  void pack_window(const ConvRequest& conv) {
    const Ends ends = ends_of(conv, 1);
    const s64 taps_w = conv.w().kernel, words = (taps_w + 3) / 4;
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
    const s64 width = 8 * tile_.tiles_n;
    for (s64 row = 0; row < tile_.outputs(); ++row) {
      const s64 p = row % width,
                c = row - p + 2 * tile_.tiles_n * (p % 8 / 2) + 2 * (p / 8) + p % 2;
      if (c >= conv.cout()) continue;
      conv.for_each_weight(c, [&](s64, s64 k, s8 weight) {
        put(memory_.project + row * memory_.p_pitch + k / tile_.slice * memory_.a_bytes +
                k % tile_.slice,
            weight);
      });
    }
    for (s64 c = 0; c < conv.cout(); ++c) {
      put(memory_.project_ends + 4 * c, ends.bias(c));
      put(memory_.project_ends + 4 * (tile_.outputs() + c), ends.multiplier(c));
    }
  }

  const SeparableRequest& request_;
  const SeparableTile& tile_;
  const SeparableMemory memory_;
  std::vector<std::byte> bytes_;
};

void set_sizes(KernelSource& source, const SeparableRequest& request) {
  const ConvRequest &first = request.first(), &window = request.window;
  source.set("EXPAND", s64{request.expand.has_value()});
  source.set("PROJECT", s64{request.project.has_value()});
  source.set("XC", first.geometry.in_channels), source.set("X_S8", s64{first.product.x_s8});
  source.set("IMAGES", window.geometry.batch);
  source.set("C", window.geometry.out_channels), source.set("D_S8", s64{window.product.x_s8});
  source.set("ZP", s64{window.product.epilogue.zero_point(kProductX)});
  const WindowAxis &h = window.h(), &w = window.w();
  source.set("IH", h.in), source.set("IW", w.in), source.set("OH", h.out), source.set("OW", w.out);
  source.set("R", h.kernel), source.set("S", w.kernel);
  source.set("STRIDE_H", h.stride), source.set("STRIDE_W", w.stride);
  source.set("PAD_T", h.pad_begin), source.set("PAD_L", w.pad_begin);
  source.set("N", request.last().geometry.out_channels);
  source.set("P_S8", s64{request.window_s8}), source.set("POOL", s64{request.pooled ? 2 : 1});
}

void set_tile(KernelSource& source, const SeparableRequest& request, const SeparableTile& tile) {
  const SeparableMemory memory = memory_of(request, tile);
  source.set("TH", tile.th), source.set("TW", tile.tw);
  source.set("ROWS", tile.rows), source.set("CS", tile.slice);
  source.set("WARPS_M", tile.warps_m), source.set("WARPS_N", tile.warps_n);
  source.set("TILES_M", tile.tiles_m), source.set("TILES_N", tile.tiles_n);
  source.set("GROUPS", s64{tile.slice % 32 == 0 ? 2 : 1}), source.set("MIN_BLOCKS", tile.blocks);
  source.set("OFF_EXPAND", s64{0}), source.set("OFF_EXPAND_ENDS", memory.expand_ends);
  source.set("OFF_TAPS", memory.taps_at), source.set("OFF_SCALES", memory.scales);
  source.set("OFF_PROJECT", memory.project);
  source.set("OFF_PROJECT_ENDS", memory.project_ends), source.set("OFF_TABLES", memory.tables);
  source.set("KEPT", memory.kept), source.set("OFF_X", memory.x);
  source.set("OFF_INSIDE", memory.inside);
  source.set("OFF_PLANES", memory.planes), source.set("OFF_A", memory.a);
}

// Strides, and how wide accesses are.
void set_places(KernelSource& source, const SeparableRequest& request, const SeparableTile& tile,
                const Operands& operands, const BindArgs& bind) {
  const ConvRequest& last = request.last();
  const PixelStrides x = request.first().input_strides(bind.inputs[operands.x]),
                     y = pixel_strides(request.y, bind.outputs[0]);
  set_strides(source, "X", x), set_strides(source, "Y", y);
  source.set("VEC", common_power(16, {request.first().geometry.in_channels, x.image, x.row, x.pixel,
                                      bind.input_offset(operands.x)}));
  s64 width =
      common_power(request.project ? std::min<s64>(16, 2 * tile.tiles_n) : 16,
                   {last.geometry.out_channels, y.image, y.row, y.pixel, bind.output_offset(0)});
  const auto operand = [&](const char* name, size_t i) {
    const PixelStrides r = last.output_strides(bind.inputs[i]);
    set_strides(source, name, r);
    width = common_power(width, {r.image, r.row, r.pixel, bind.input_offset(i)});
  };
  if (last.product.has_residual) operand("RES", operands.residual);
  if (last.product.has_addend) operand("ADD", operands.addend);
  source.set("OUT_VEC", width);
}

Launch make_launch(const SeparableRequest& request, const SeparableTile& tile,
                   const Operands& operands, const Chip& chip, const BindArgs& bind) {
  Launch launch{.source = {"separable", {}}, .shape = {}};
  set_sizes(launch.source, request);
  set_tile(launch.source, request, tile);
  set_places(launch.source, request, tile, operands, bind);
  constexpr const char* kNames[] = {"expand", "window", "project"};
  constexpr const char* kShort[] = {"SHORT_EXPAND", "SHORT_WINDOW", "SHORT_PROJECT"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    const ConvRequest* conv = request.parts()[i];
    if (conv == nullptr) continue;
    add_epilogue(launch.source, kNames[i], conv->product, conv->t_fits);
    launch.source.set(kShort[i], s64{sums_are_short(*conv)});
  }
  launch.shape = {.blocks = std::min(tiles_of(request, tile), chip.multiprocessors * tile.blocks),
                  .threads = static_cast<int>(tile.threads()),
                  .shared_bytes = memory_of(request, tile).all,
                  .programmatic_dependent = true};
  return launch;
}

BlobRecipe kept_blob(const SeparableRequest& request, const SeparableTile& tile) {
  BlobRecipe recipe{fmt::format("separable {}", tile.name()), {}, [request, tile] {
                      return Packing(request, tile).make();
                    }};
  for (const ConvRequest* conv : request.parts()) {
    if (conv == nullptr) continue;
    recipe.key += fmt::format(" {}", conv->product.epilogue.zero_point(kProductX));
    recipe.constants.insert(
        recipe.constants.end(),
        {conv->weights, conv->product.bias, conv->product.multiplier, conv->product.table});
  }
  return recipe;
}

Candidate candidate_for(const LowerRequest& chain, const SeparableRequest& request,
                        const SeparableTile& tile) {
  const CudaDevice& device = device_of(chain);
  const Operands operands = operands_of(chain.node);
  Candidate candidate = conv_candidate(chain, "separable_" + tile.name(), Layout::nhwc);
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
             params::SeparableParams p{data.input(operands.x), data.blob<u8>(0), {}};
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
  const std::vector<SeparableTile> tiles = separable_tiles(request, device_of(chain).chip());
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
