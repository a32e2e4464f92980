// SPDX-License-Identifier: Apache-2.0
#include "plan/chain_choice.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace octet {
namespace {

// Nodes that chains connect, each known by one of them.
class Paths {
 public:
  explicit Paths(size_t nodes) : next_(nodes) { std::iota(next_.begin(), next_.end(), 0u); }

  u32 of(u32 node) {
    while (next_[node] != node) node = next_[node] = next_[next_[node]];
    return node;
  }
  void connect(u32 a, u32 b) { next_[of(a)] = of(b); }

 private:
  std::vector<u32> next_;
};

// What the nodes up to `last` save at most, and by which offer that ends there (-1: by none).
struct Best {
  u32 last = 0;
  f64 saves = 0;
  s64 offer = -1;
};

// `own`: offers along one path, by their last nodes.
void choose_along(std::span<const ChainOffer> offers, std::span<const size_t> own,
                  std::vector<bool>& taken) {
  std::vector<Best> best{{}};
  // How many of the entries end before the node.
  const auto before = [&](u32 node) {
    const auto at = std::ranges::lower_bound(best.begin() + 1, best.end(), node, {}, &Best::last);
    return static_cast<size_t>(at - best.begin());
  };
  for (const size_t i : own) {
    const f64 saves = best[before(offers[i].nodes.front()) - 1].saves + offers[i].saves;
    if (saves > best.back().saves)
      best.push_back({offers[i].nodes.back(), saves, static_cast<s64>(i)});
  }
  for (size_t at = best.size() - 1; at > 0;) {
    const size_t i = static_cast<size_t>(best[at].offer);
    taken[i] = true;
    at = before(offers[i].nodes.front()) - 1;
  }
}

}  // namespace

std::vector<bool> choose_chains(std::span<const ChainOffer> offers, size_t graph_nodes) {
  Paths paths(graph_nodes);
  for (const ChainOffer& offer : offers) {
    for (const u32 node : offer.nodes) paths.connect(node, offer.nodes.front());
  }
  std::vector<size_t> order(offers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return offers[i].nodes.back(); });
  std::map<u32, std::vector<size_t>> by_path;
  for (const size_t i : order) by_path[paths.of(offers[i].nodes.front())].push_back(i);
  std::vector<bool> taken(offers.size());
  for (const auto& [path, own] : by_path) choose_along(offers, own, taken);
  return taken;
}

}  // namespace octet
