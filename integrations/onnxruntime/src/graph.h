// SPDX-License-Identifier: Apache-2.0
// A graph of the host, read once, and parts of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "host.h"
#include "octet/engine.h"

namespace octet_ort {

struct GraphNode {
  const OrtNode* node = nullptr;
  std::string name;  // of no other node; made up where the model gives none
  std::string op;
  std::string domain;
  std::vector<std::string> inputs;  // empty: left out
  std::vector<std::string> outputs;
  bool has_bodies = false;  // control flow
};

struct Graph {
  const OrtGraph* handle = nullptr;
  std::vector<GraphNode> nodes;  // in an order in which they can run
  std::map<std::string, const OrtValueInfo*> values;
  std::set<std::string> constants;
  // Of these, such as a run may put others in place of (initializers that are inputs, too): models of old exporters have all weights so.
  std::set<std::string> replaceable;
  std::set<std::string> outputs;
  std::map<std::string, std::vector<size_t>> readers;
  std::vector<std::pair<std::string, int64_t>> opsets;
  int64_t ir_version = 0;
  std::filesystem::path path;  // of the model; empty: it came from memory
  bool nested = false;         // the body of a Loop, If or Scan
};

Graph read_graph(const Host& host, const OrtGraph* graph);

// Some nodes of a graph, and what crosses their border.
struct Part {
  std::vector<size_t> nodes;
  // Nodes of other parts that make of constants what this one reads: its engine makes it once more, and ONNX Runtime does not know.
  std::vector<size_t> repeated = {};
  std::vector<std::string> inputs;   // constants apart
  std::vector<std::string> outputs;  // that somebody else reads, or the graph gives
  std::vector<std::string> constants;
  // The same for the same nodes, whenever it is asked.
  std::string key;

  // All nodes of its engine, each behind what it reads.
  std::vector<size_t> engine_nodes() const {
    std::vector<size_t> all = repeated;
    all.insert(all.end(), nodes.begin(), nodes.end());
    return all;
  }
};

Part part_of(const Graph& graph, std::vector<size_t> nodes);

// What Octet says of a type of the host; nothing for strings and whatever else has no tensor of ours at a border.
const octet::Dtype* dtype_of(int element_type);

// ONNX's number of an element type is the host's.
struct ValueType {
  int element_type = 0;
  bool has_shape = false;
  std::vector<int64_t> dims;           // -1: open
  std::vector<std::string> dim_names;  // one for each
};
// Of no tensor: element type 0.
ValueType type_of(const Host& host, const OrtValueInfo* value);

// The text of an attribute; empty where the node has none of that name.
std::string text_attribute(const Host& host, const OrtNode* node, const std::string& name);
int64_t integer_attribute(const Host& host, const OrtNode* node, const std::string& name,
                          int64_t otherwise);

std::vector<const OrtOpAttr*> attributes_of(const Host& host, const OrtNode* node);
// Tells contents of tensors apart.
size_t fingerprint(std::string_view bytes);
size_t fingerprint(const Host& host, const OrtValue* value);  // whose bytes are the host's
// Of the constant's own value.
size_t fingerprint_of_constant(const Host& host, const Graph& graph, const std::string& name);

std::vector<std::string> names_of(const Host& host, const OrtNode* node, bool outputs);

// Bytes of an attribute of this kind.
std::string attribute_bytes(const Host& host, const OrtOpAttr* attribute, int kind);

}  // namespace octet_ort
