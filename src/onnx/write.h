// SPDX-License-Identifier: Apache-2.0
// Graph -> ONNX bytes: the way back of import.h. The file holds standard operators only: what passes folded into a node stands beside it
// again, and the importer's passes fold it anew.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace octet {

// Where a file of ours says which nodes stay real whatever stands around them: names, a line each. Other readers ignore it.
inline constexpr const char* kKeepFloatKey = "octet.keep_float";
// The same of those among them whose results are equal on every machine, because codes are made of them.
inline constexpr const char* kExactKey = "octet.exact";

// Which values stand for other numbers than the network's: a line each (runtime/equalized.h).
inline constexpr const char* kEqualizedKey = "octet.equalized";

struct WriteOptions {
  std::string producer_version;
  std::vector<std::string> equalized = {};
};

struct WrittenModel {
  std::vector<std::byte> bytes;
  s64 opset = 0;  // the oldest that has all of its operators, 17 at least
  s64 nodes = 0;
  std::vector<std::string> kept_float;  // named in the file's metadata
};

// Throws Error(unsupported) listing every node that standard operators cannot stand for, and Error(invalid_argument) beyond 1 GiB of weights.
WrittenModel write_onnx(const Graph& graph, const WriteOptions& options = {});

}  // namespace octet
