// SPDX-License-Identifier: Apache-2.0
// Which nodes Octet takes, in which parts, and why it leaves the others.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "build.h"
#include "graph.h"

namespace octet_ort {

struct Chosen {
  Part part;
  std::shared_ptr<Built> built;  // null where building failed by the user's fault
  std::string fault;             // then: what was wrong
};

struct Choice {
  std::vector<Chosen> parts;
  std::map<std::string, std::vector<std::string>> left;  // reason -> nodes
};

// Parts of which none depends on itself through nodes that are not in it. `wanted` has one flag for each node.
std::vector<std::vector<size_t>> parts_of(const Graph& graph, const std::vector<bool>& wanted);

Choice choose(const Host& host, const Graph& graph, const Options& options,
              const PartBuilder& builder);

// "3 nodes are left to ONNX Runtime: 'nms' (...), ...", one line for each reason.
std::vector<std::string> reasons(const Choice& choice);

}  // namespace octet_ort
