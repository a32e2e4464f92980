// SPDX-License-Identifier: Apache-2.0
#include "onnx/topology.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace octet {
namespace {

// Every node that is left over depends on another left-over node: walking back must meet one node twice.
std::vector<u32> find_cycle(const std::vector<std::vector<u32>>& depends_on,
                            const std::vector<u32>& pending) {
  u32 node = 0;
  while (pending[node] == 0) ++node;
  std::vector<u32> path;
  std::vector<bool> seen(depends_on.size(), false);
  while (!seen[node]) {
    seen[node] = true;
    path.push_back(node);
    node = *std::find_if(depends_on[node].begin(), depends_on[node].end(),
                         [&](u32 d) { return pending[d] > 0; });
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), node));
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace

Order topological_order(const std::vector<std::vector<u32>>& depends_on) {
  std::vector<std::vector<u32>> readers(depends_on.size());
  std::vector<u32> pending(depends_on.size(), 0);
  // Smallest index first, so that a graph that is in order already stays as it is.
  std::priority_queue<u32, std::vector<u32>, std::greater<>> ready;
  for (u32 n = 0; n < depends_on.size(); ++n) {
    pending[n] = static_cast<u32>(depends_on[n].size());
    for (u32 d : depends_on[n]) readers[d].push_back(n);
    if (pending[n] == 0) ready.push(n);
  }
  Order order;
  while (!ready.empty()) {
    const u32 n = ready.top();
    ready.pop();
    order.nodes.push_back(n);
    for (u32 reader : readers[n]) {
      if (--pending[reader] == 0) ready.push(reader);
    }
  }
  if (order.nodes.size() < depends_on.size()) order.cycle = find_cycle(depends_on, pending);
  return order;
}

}  // namespace octet
