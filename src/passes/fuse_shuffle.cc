// SPDX-License-Identifier: Apache-2.0
// Reshape -> Transpose -> Reshape that only permutes the channels of an image (ShuffleNet) becomes GatherChannels, which
// leaves pixels where they are. A Split behind it and a Concat before it go into the same copy: each half is gathered from
// what was joined.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ops/attributes/moves.h"
#include "ops/registry.h"
#include "ops/shared/axis_of.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace octet {
namespace {

// As many as a kernel reads at once.
constexpr size_t kMaxInputs = 8;
constexpr s64 kMaxChannels = 1 << 16;
constexpr s64 kMaxPixels = 1 << 24;

// All dimensions from `first` on multiplied; 0 when one is unknown or the product is beyond what an image has.
s64 known_product(const Shape& shape, int first) {
  s64 product = 1;
  for (int i = first; i < shape.rank(); ++i) {
    if (shape[i] <= 0 || shape[i] > kMaxPixels / product) return 0;
    product *= shape[i];
  }
  return product;
}

bool turns_channels(const Node& transpose, int rank) {
  if (rank < 3) return false;
  std::vector<s64> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), s64{0});
  std::swap(perm[1], perm[2]);
  return attribute_of<&TransposeAttributes::perm>(transpose) == perm;
}

void take_origins(Node& node, const Node& earlier) {
  node.origins.insert(node.origins.begin(), earlier.origins.begin(), earlier.origins.end());
}

class Shuffles {
 public:
  Shuffles(Graph& graph, Rewrites& rewrites) : graph_(graph), rewrites_(rewrites) {}

  void run() {
    const Uses uses(graph_);
    for (Node& node : graph_.nodes) {
      if (is_op(node, "Reshape")) shuffle(uses, node);
    }
    remove_dead_nodes(graph_);  // what still reads a value decides below
    split();
    remove_dead_nodes(graph_);
    join();
  }

 private:
  const Shape& shape_of(ValueId id) const { return graph_.value(id).type.shape; }

  // [N,C,H,W] -> [N,g,C/g,...] -> [N,C/g,g,...] -> [N,C,H,W]; the first dimension alone may be unknown, so it stays.
  bool permutes_channels(const Shape& image, const Shape& groups, const Shape& result) const {
    if (image.rank() != 4 || groups.rank() < 4 || image != result) return false;
    if (image[0] != groups[0] || image[0] == 0 || groups[1] <= 0 || groups[2] <= 0) return false;
    if (image[1] <= 0 || image[1] > kMaxChannels || groups[1] > kMaxChannels) return false;
    const s64 pixels = known_product(image, 2);
    return pixels > 0 && groups[2] == image[1] / groups[1] && image[1] % groups[1] == 0 &&
           known_product(groups, 3) == pixels;
  }

  void shuffle(const Uses& uses, Node& last) {
    const Node* transpose = producer_of(graph_, uses, last.inputs[0]);
    if (transpose == nullptr || !is_op(*transpose, "Transpose")) return;
    if (only_reader(graph_, uses, last.inputs[0]) == nullptr) return;
    const ValueId turned = transpose->inputs[0];
    if (!turns_channels(*transpose, shape_of(turned).rank())) return;
    const Node* first = producer_of(graph_, uses, turned);
    if (first == nullptr || !is_op(*first, "Reshape")) return;
    if (only_reader(graph_, uses, turned) == nullptr || graph_.is_constant(first->inputs[0]))
      return;
    const Shape groups = shape_of(turned);
    if (!permutes_channels(shape_of(first->inputs[0]), groups, shape_of(last.outputs[0]))) return;
    if (!rewrites_.allow()) return;
    std::vector<s64> channels;
    for (s64 j = 0; j < groups[2]; ++j) {
      for (s64 i = 0; i < groups[1]; ++i) channels.push_back(i * groups[2] + j);
    }
    Node node = last, earlier = *first;
    node.op = find_op("GatherChannels");
    node.inputs = {first->inputs[0]};
    node.attrs = Attrs();
    set_attribute<&GatherChannelsAttributes::channels>(node.attrs, std::move(channels));
    earlier.origins.insert(earlier.origins.end(), transpose->origins.begin(),
                           transpose->origins.end());
    replace_fused(last, std::move(node), earlier);
  }

  static bool is_gather(const Node& node) { return is_op(node, "GatherChannels"); }

  // A Split of gathered channels becomes one node for each piece.
  void split() {
    if (std::ranges::none_of(graph_.nodes, is_gather)) return;
    const Uses uses(graph_);
    std::vector<Node> nodes;
    for (Node& node : graph_.nodes) {
      const Node* gather =
          is_op(node, "Split") ? producer_of(graph_, uses, node.inputs[0]) : nullptr;
      const bool fits = gather != nullptr && is_gather(*gather) && pieces_fit(node, *gather) &&
                        only_reader(graph_, uses, node.inputs[0]) != nullptr;
      if (fits && rewrites_.allow()) {
        add_pieces(node, *gather, nodes);
      } else {
        nodes.push_back(node);
      }
    }
    graph_.nodes = std::move(nodes);
  }

  bool pieces_fit(const Node& split, const Node& gather) const {
    if (axis_of(split, 4) != 1) return false;
    auto left = static_cast<s64>(attribute_of<&GatherChannelsAttributes::channels>(gather).size());
    for (ValueId id : split.outputs) {
      if (id == kNoValue || shape_of(id).rank() != 4) return false;
      const s64 count = shape_of(id)[1];
      if (count <= 0 || count > left) return false;
      left -= count;
    }
    return left == 0;
  }

  void add_pieces(const Node& split, const Node& gather, std::vector<Node>& nodes) const {
    const std::vector<s64> channels = attribute_of<&GatherChannelsAttributes::channels>(gather);
    auto from = channels.begin();
    for (size_t i = 0; i < split.outputs.size(); ++i) {
      const s64 count = shape_of(split.outputs[i])[1];
      Node piece = gather;
      piece.outputs = {split.outputs[i]};
      set_attribute<&GatherChannelsAttributes::channels>(piece.attrs, {from, from + count});
      from += count;
      piece.name = split.outputs.size() == 1 ? split.name : fmt::format("{}.{}", split.name, i);
      if (i > 0) piece.origins.clear();
      piece.origins.insert(piece.origins.end(), split.origins.begin(), split.origins.end());
      nodes.push_back(std::move(piece));
    }
  }

  // A Concat that is only gathered from is not made.
  void join() {
    const Uses uses(graph_);
    for (const Node& node : graph_.nodes) {
      if (!is_op(node, "Concat") || !joins_channels(uses, node) || !rewrites_.allow()) continue;
      bool told = false;  // where the Concat went
      for (u32 reader : uses.consumers(node.outputs[0])) {
        Node& gather = graph_.nodes[reader];
        gather.inputs = node.inputs;
        if (!told) take_origins(gather, node);
        told = true;
      }
    }
  }

  bool joins_channels(const Uses& uses, const Node& concat) const {
    const std::span<const u32> readers = uses.consumers(concat.outputs[0]);
    if (uses.is_output(concat.outputs[0]) || readers.empty()) return false;
    if (concat.inputs.size() > kMaxInputs || shape_of(concat.outputs[0]).rank() != 4) return false;
    if (axis_of(concat, 4) != 1) return false;
    if (std::ranges::any_of(concat.inputs, [&](ValueId id) { return graph_.is_constant(id); }))
      return false;
    return std::ranges::all_of(readers, [&](u32 i) { return is_gather(graph_.nodes[i]); });
  }

  Graph& graph_;
  Rewrites& rewrites_;
};

}  // namespace

void fuse_shuffle(Graph& graph, Rewrites& rewrites) { Shuffles(graph, rewrites).run(); }

}  // namespace octet
