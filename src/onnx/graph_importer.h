// SPDX-License-Identifier: Apache-2.0
// One GraphProto -> Graph: the main graph, or the body of a control-flow node, which may read what stands around it.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/graph.h"
#include "onnx/flatten.h"
#include "onnx/import.h"
#include "onnx/onnx.pb.h"
#include "onnx/tensor_reader.h"

namespace octet {

// What the importers of a model's graphs share.
struct ImportContext {
  const ImportOptions& options;
  ImportInfo& info;
  TensorReader& tensors;
};

class GraphImporter {
 public:
  GraphImporter(ImportContext& context, octet_onnx::GraphProto& proto, std::vector<FlatNode>& nodes,
                GraphImporter* parent = nullptr)
      : context_(context), proto_(proto), nodes_(nodes), parent_(parent) {}

  // The main graph. Problems are collected as far as ImportOptions::problems asks for it; else the first is thrown.
  Graph run();

 private:
  static constexpr s32 kNoNode = -1;
  // What an ONNX value name stands for.
  struct Symbol {
    ValueId id = kNoValue;
    s32 node = kNoNode;  // the flat node that produces it
  };
  // A value of the graph around this one, and the input of this one that stands for it.
  struct Capture {
    ValueId outer;
    ValueId inner;
  };
  struct Body {
    std::string name;  // of the attribute
    Graph graph;
    std::vector<Capture> captures;
    std::vector<DeclaredType> declared;
  };

  // Runs a stage that later ones do not need to look for their own problems; false: it failed and that was noted.
  template <class Stage>
  bool attempt(Stage&& stage);

  // Symbols.
  // `what` puts into words what a symbol without a node is.
  void declare(const std::string& name, Symbol symbol, std::string_view what);
  std::string checked_name(const std::string& name);
  bool declare_initializers();
  void note_parameters(const Tensor& tensor);
  void declare_constant(const std::string& name, Tensor tensor, std::string_view what);
  void declare_inputs();
  void declare_node_outputs();
  // Null when nothing produces the name, here or around.
  const Symbol* find(const std::string& name);
  // `reader` is null for the list of outputs.
  const Symbol& resolve(const std::string& name, const FlatNode* reader);

  // Nodes.
  std::vector<u32> producers_for(const FlatNode& node);
  std::vector<u32> sorted_nodes();
  [[noreturn]] void fail_cycle(const std::vector<u32>& cycle) const;
  void add_node(FlatNode& flat);
  ValueId id_of(const std::string& name) const;
  void splice(Node node, int opset);
  void add_spliced(Node node);
  std::string unique_name(const std::string& wanted);
  void fold_constant(octet_onnx::NodeProto& proto);
  void bind_outputs();
  void note_declared();

  // Bodies: body_importer.cc.
  const Symbol& capture(const std::string& name, ValueId outer);
  // Appends what the bodies read to the node's inputs; the bodies themselves, as attributes.
  Attrs add_bodies(FlatNode& flat, Node& node);
  Body import_body(FlatBody& flat);
  // The body, complete, with what the file says of its values.
  GraphPtr finished(Body body);
  void declare_body_inputs();
  Graph run_body();
  void lift_constants();
  void drop_unread_captures();

  ImportContext& context_;
  octet_onnx::GraphProto& proto_;
  std::vector<FlatNode>& nodes_;
  GraphImporter* parent_;
  Graph graph_;
  std::vector<Capture> captures_;
  std::vector<DeclaredType> declared_;
  std::unordered_map<std::string, Symbol> symbols_;
  std::unordered_set<std::string> node_names_;
  std::unordered_map<std::string, u64> name_counts_;
};

// Names that a body reads and does not produce, in order.
std::vector<std::string> free_names(const FlatBody& body);

}  // namespace octet
