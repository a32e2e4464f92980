// SPDX-License-Identifier: Apache-2.0
// A chain: 1x1, 3x3, 1x1 with what is added to it, the bottleneck of ResNets. Which nodes are one, and what the families that run them know of it.
#include <algorithm>

#include "backends/cuda/families/bottleneck/bottleneck.h"
#include "core/divide.h"
#include "plan/chain.h"

namespace octet::cuda {
namespace {

using bottleneck::Bottleneck;
using bottleneck::kChannels;
using bottleneck::Shortcut;

constexpr s64 kMostGroups = 4;  // of 64 channels of y: what is added to them waits in registers
constexpr s64 kMostProjected =
    2;  // chunks of 64 channels of x that a projection holds in registers
constexpr s64 kXAlignment = 16;

// Nodes; -1 where there is none.
struct Parts {
  s32 reduce = -1, spatial = -1, expand = -1, project = -1;
  ValueId shortcut = kNoValue;
};

bool is_convolution(const Graph& graph, s32 n, s64 kernel) {
  if (n < 0) return false;
  const Node& node = graph.nodes[static_cast<size_t>(n)];
  if (node.op->name != "QConv") return false;
  const Tensor* weights = graph.constant_input(node, kProductWeights);
  return weights != nullptr && weights->shape().rank() == 4 && weights->shape()[2] == kernel &&
         weights->shape()[3] == kernel;
}

// `expand` is -1 where the node ends no bottleneck.
Parts parts_of(const Graph& graph, const Uses& uses, u32 last) {
  const auto input = [&](s32 n, size_t i) { return graph.nodes[static_cast<size_t>(n)].input(i); };
  Parts parts;
  const s32 expand = static_cast<s32>(last);
  if (!is_convolution(graph, expand, 1)) return parts;
  parts.spatial = uses.producer(input(expand, kProductX));
  if (!is_convolution(graph, parts.spatial, 3)) return parts;
  parts.reduce = uses.producer(input(parts.spatial, kProductX));
  if (!is_convolution(graph, parts.reduce, 1)) return parts;
  const ValueId x = input(parts.reduce, kProductX);
  const ValueId residual = input(expand, kProductResidual), addend = input(expand, kProductAddend);
  parts.shortcut = residual != kNoValue ? residual : addend;
  if (parts.shortcut != kNoValue && parts.shortcut != x) {
    if (graph.is_constant(parts.shortcut)) return parts;
    parts.project = uses.producer(parts.shortcut);
    if (!is_convolution(graph, parts.project, 1) || input(parts.project, kProductX) != x)
      return parts;
  }
  parts.expand = expand;
  return parts;
}

std::string read_part(const LowerRequest& request, s32 part, const char* name, ConvRequest& conv) {
  const LowerRequest alone = part_request(request, static_cast<size_t>(part));
  std::string reason = read_conv(alone, conv);
  if (reason.empty() && conv.geometry.groups != 1) reason = "it has groups";
  if (reason.empty() && conv.product.table) reason = "it has a table";
  if (reason.empty() && conv.product.real()) reason = "its result is real";
  conv.t_fits = reason.empty() && conv.sums_fit();
  return reason.empty() ? "" : fmt::format("{}: {}", name, reason);
}

bool is_plain_window(const WindowAxis& axis) {
  return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1 && axis.pad_begin == 1 &&
         axis.pad_end == 1;
}

// One of them is added to y; the others end with their own codes.
bool adds_once(const Bottleneck& block) {
  const auto adds = [](const ConvRequest& conv) {
    return int{conv.product.has_residual} + int{conv.product.has_addend};
  };
  if (adds(block.reduce) + adds(block.spatial) > 0) return false;
  if (block.projects() && adds(block.project) > 0) return false;
  return adds(block.expand) <= 1;
}

std::string reject(const Bottleneck& block) {
  const bool projects = block.projects();
  if (!block.reduce.pointwise() || !block.expand.pointwise() ||
      (projects && !block.project.pointwise()))
    return "a 1x1 convolution has a stride or padding";
  if (!is_plain_window(block.spatial.h()) || !is_plain_window(block.spatial.w()))
    return "the 3x3 convolution has a stride, a dilation or other padding than 1";
  if (!adds_once(block)) return "more than its shortcut is added";
  if (block.reduce.cin() % kXAlignment != 0) return "input channels are not a multiple of 16";
  if (std::max(block.reduce.cout(), block.spatial.cout()) > kChannels)
    return fmt::format("{} channels pass between its convolutions, at most {} may",
                       std::max(block.reduce.cout(), block.spatial.cout()), kChannels);
  if (ceil_div(block.expand.cout(), s64{kChannels}) > kMostGroups)
    return fmt::format("it has {} output channels, at most {} may be", block.expand.cout(),
                       kMostGroups * kChannels);
  if (projects && block.chunks() > kMostProjected)
    return fmt::format("its projection has {} input channels, at most {} may be",
                       block.project.cin(), kMostProjected * kChannels);
  if (block.expand.w().out > kChannels)
    return fmt::format("a row has {} pixels, at most {} may be", block.expand.w().out, kChannels);
  return {};
}

}  // namespace

std::vector<u32> find_bottleneck(const Graph& graph, const Uses& uses, u32 last) {
  const Parts parts = parts_of(graph, uses, last);
  if (parts.expand < 0 || (parts.project >= 0 && parts.project == parts.reduce)) return {};
  std::vector<u32> nodes;
  for (const s32 n : {parts.reduce, parts.spatial, parts.expand, parts.project}) {
    if (n >= 0) nodes.push_back(static_cast<u32>(n));
  }
  std::ranges::sort(nodes);
  return nodes;
}

std::string bottleneck::read(const LowerRequest& request, Bottleneck& block) {
  const Graph& body = chain_body(request.node);
  const Parts parts = parts_of(body, Uses(body), static_cast<u32>(body.nodes.size() - 1));
  block.shortcut = parts.shortcut == kNoValue ? Shortcut::none
                   : parts.project < 0        ? Shortcut::identity
                                              : Shortcut::projection;
  std::string reason = read_part(request, parts.reduce, "reduce", block.reduce);
  if (reason.empty()) reason = read_part(request, parts.spatial, "spatial", block.spatial);
  if (reason.empty()) reason = read_part(request, parts.expand, "expand", block.expand);
  if (reason.empty() && parts.project >= 0)
    reason = read_part(request, parts.project, "project", block.project);
  return reason.empty() ? reject(block) : reason;
}

EpilogueSpec bottleneck::end_of(const ConvRequest& conv) {
  EpilogueSpec end = epilogue_spec(conv.product);
  end.t_fits = conv.t_fits;
  return end;
}

}  // namespace octet::cuda
