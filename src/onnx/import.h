// SPDX-License-Identifier: Apache-2.0
// ONNX bytes -> Graph: the first stage of the pipeline, and the one that meets untrusted input.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/types.h"
#include "graph/declared.h"
#include "graph/graph.h"
#include "octet/error.h"
#include "octet/tensor.h"

namespace octet {

struct ImportOptions {
  // Where weights files are looked up; empty: the model's folder (models given as bytes then have none).
  std::filesystem::path external_data_folder;
  // When set, weights files may be symbolic or hard links as long as they resolve to a file inside this folder.
  std::filesystem::path external_data_root;
  // Shapes given by the user, by input name; they replace dynamic or missing dimensions of the model.
  std::map<std::string, Shape> input_shapes;
  // Bound on the memory that importing may take (message structures and tensors); 0: limits().memory.
  s64 max_bytes = 0;
  // When set, what is wrong is collected here as far as it can be seen at once, instead of thrown at the first; the
  // graph returned is then worth something only if nothing was collected.
  std::vector<Error>* problems = nullptr;
};

// What the model says about itself. Filled as far as the import got, also when it throws.
struct ImportInfo {
  struct DimName {
    std::string input;
    int axis = 0;
    std::string name;  // "batch"
  };
  struct UnsupportedNode {
    std::string name;
    std::string domain;  // "" is ai.onnx
    std::string op;
    s64 opset = 0;
  };

  std::string hash;      // of the file and what was read of its weights files
  std::string producer;  // "pytorch 2.4.0"
  // What exporters say beside the graph; long texts, and more than a thousand, are left out.
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<std::string> equalized;  // lines under kEqualizedKey (onnx/write.h)
  s64 ir_version = 0;
  std::vector<std::pair<std::string, s64>> opsets;  // domain ("" is ai.onnx), version
  std::vector<DimName> dim_names;                   // dynamic dimensions that have a name
  std::map<std::string, s64> op_counts;             // ONNX operators of the model, by name
  std::vector<UnsupportedNode> unsupported;
  std::vector<std::string> functions;  // model-local ones
  s64 parameters = 0;  // elements of all weights; shape arithmetic (s64, bool) apart
  s64 parameter_bytes = 0;
  std::vector<std::string>
      default_zero_points;  // QuantizeLinear and DequantizeLinear nodes that name none
  std::vector<std::string>
      real_weights;  // nodes whose weights are codes in the file and real in the graph
  std::vector<DeclaredType>
      declared;  // what the file says of the values of the graph and its bodies
  std::vector<std::string> warnings;
};

// Nodes come in topological order with canonical operators; graph inputs and constants are typed, other values are not
// (shape inference does that). Throws one Error for anything that is wrong with the file; unsupported nodes are all
// listed in it.
Graph import_onnx(const std::filesystem::path& file, const ImportOptions& options = {},
                  ImportInfo* info = nullptr);
Graph import_onnx(std::span<const std::byte> bytes, const ImportOptions& options = {},
                  ImportInfo* info = nullptr);

// What ImportInfo::hash is of a model without weights files, which is not looked into.
std::string model_hash(std::span<const std::byte> bytes);

// One serialized TensorProto (ONNX test data, *.pb).
Tensor import_tensor(const std::filesystem::path& file);

}  // namespace octet
