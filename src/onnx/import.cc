// SPDX-License-Identifier: Apache-2.0
// The order of the import: header, functions, support check, symbols (constants, inputs, node outputs), then the nodes in
// topological order through their operators' parse.
#include "onnx/import.h"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <unordered_set>

#include "core/check.h"
#include "graph/verify.h"
#include "onnx/attribute_reader.h"
#include "onnx/flatten.h"
#include "onnx/inputs.h"
#include "onnx/model_reader.h"
#include "onnx/support.h"
#include "onnx/tensor_reader.h"
#include "onnx/text.h"
#include "onnx/topology.h"
#include "ops/node_parser.h"

namespace octet {
namespace {

using octet_onnx::ModelProto;
using octet_onnx::NodeProto;
using octet_onnx::TensorProto;

constexpr size_t kMaxName = 64 * 1024;
constexpr size_t kMaxProblems = 100;
constexpr s32 kNoNode = -1;

// What an ONNX value name stands for.
struct Symbol {
  ValueId id = kNoValue;
  s32 node = kNoNode;  // the flat node that produces it
};

class Importer {
 public:
  Importer(ModelProto& model, const ImportOptions& options, ImportInfo& info, s64 max_bytes)
      : model_(model),
        options_(options),
        info_(info),
        external_(options.external_data_folder, options.external_data_root),
        tensors_(external_, max_bytes, info.warnings) {}

  Graph run() {
    read_header(model_, info_);
    flat_ = flatten(model_);
    attempt([&] { check_support(flat_, info_); });
    graph_.name = clean_name(model_.graph().name());
    bool sound = attempt([&] { open_external_data(); }) && declare_initializers();
    sound = attempt([&] { declare_inputs(); }) && sound;
    sound = attempt([&] { declare_node_outputs(); }) && sound;
    // A name that failed to be declared would be reported again by everyone who reads it.
    if (!sound) return {};
    std::vector<u32> order;
    if (!attempt([&] { order = sorted_nodes(); })) return {};
    for (u32 n : order) {
      if (is_known(flat_.nodes[n])) attempt([&] { add_node(flat_.nodes[n]); });
    }
    attempt([&] { bind_outputs(); });
    if (options_.problems == nullptr || options_.problems->empty()) verify(graph_);
    return std::move(graph_);
  }

 private:
  // Runs a stage that later ones do not need to look for their own problems; false: it failed and that was noted.
  template <class Stage>
  bool attempt(Stage&& stage) {
    try {
      stage();
      return true;
    } catch (const Error& error) {
      if (options_.problems == nullptr) throw;
      if (options_.problems->size() < kMaxProblems) options_.problems->push_back(error);
      return false;
    }
  }

  // False only while problems are collected: else the support check has thrown.
  static bool is_known(const FlatNode& node) {
    const bool known = is_constant_node(*node.proto) || op_of(*node.proto) != nullptr;
    return known && node.opsets->contains(canonical_domain(node.proto->domain()));
  }

  // ---- symbols

  // Two things of one name break single assignment.
  void declare(const std::string& name, Symbol symbol, std::string_view what) {
    const auto [at, fresh] = symbols_.emplace(name, symbol);
    if (fresh) return;
    const std::string first =
        at->second.node == kNoNode
            ? "an input or initializer"
            : "node " + quote_name(flat_.nodes[static_cast<size_t>(at->second.node)].name);
    fail(Error::Code::invalid_model, "the value {} is produced twice: by {} and by {}",
         quote_name(name), first, what);
  }

  std::string checked_name(const std::string& name) {
    if (name.size() > kMaxName) {
      fail(Error::Code::invalid_model, "the name {} is longer than {} bytes", quote_name(name),
           kMaxName);
    }
    std::string clean = clean_name(name);
    if (clean != name) info_.warnings.push_back("the name " + quote_name(name) + " was cleaned");
    return clean;
  }

  void open_external_data() {
    std::vector<std::string> locations;
    for (const TensorProto& tensor : model_.graph().initializer()) {
      if (is_external(tensor)) locations.push_back(external_slice(tensor).location);
    }
    external_.open_all(locations);
  }

  bool declare_initializers() {
    bool sound = true;
    for (TensorProto& proto : *model_.mutable_graph()->mutable_initializer()) {
      sound &= attempt([&] {
        Tensor tensor =
            tensors_.read(proto);  // takes the payload out of `proto`: its name is read afterwards
        declare_constant(proto.name(), std::move(tensor), "an initializer");
      });
    }
    for (auto& proto : *model_.mutable_graph()->mutable_sparse_initializer()) {
      const std::string name = proto.values().name();
      sound &= attempt(
          [&] { declare_constant(name, tensors_.read_sparse(proto), "a sparse initializer"); });
    }
    return sound;
  }

  void note_parameters(const Tensor& tensor) {
    if (tensor.dtype() == Dtype::s64 || tensor.dtype() == Dtype::boolean) return;
    info_.parameters += tensor.elements();
    info_.parameter_bytes += static_cast<s64>(tensor.bytes());
  }

  void declare_constant(const std::string& name, Tensor tensor, std::string_view what) {
    if (name.empty()) fail(Error::Code::invalid_model, "{} has no name", what);
    // Declared before it is added, so that a second one is an error and not renamed.
    declare(name, {static_cast<ValueId>(graph_.value_count()), kNoNode}, what);
    note_parameters(tensor);
    graph_.add_constant(checked_name(name), std::move(tensor));
  }

  void declare_inputs() {
    std::unordered_set<std::string> seen;
    std::set<std::string> given;
    for (const auto& [name, shape] : options_.input_shapes) given.insert(name);
    InputTypes types(options_.input_shapes, info_);
    for (const auto& proto : model_.graph().input()) {
      if (!seen.insert(proto.name()).second) {
        fail(Error::Code::invalid_model, "the graph input {} is listed twice",
             quote_name(proto.name()));
      }
      // An initializer of the same name is the input's default, which we take as the value.
      if (symbols_.contains(proto.name())) continue;
      if (proto.name().empty()) fail(Error::Code::invalid_model, "a graph input has no name");
      given.erase(proto.name());
      const ValueId id = graph_.add_value(checked_name(proto.name()), types.type_of(proto));
      declare(proto.name(), {id, kNoNode}, "a graph input");
      graph_.inputs.push_back(id);
    }
    if (!given.empty()) {
      fail(Error::Code::invalid_argument, "a shape is given for {}, which is no input of the model",
           quote_name(*given.begin()));
    }
  }

  void declare_node_outputs() {
    for (size_t n = 0; n < flat_.nodes.size(); ++n) {
      FlatNode& node = flat_.nodes[n];
      for (const std::string& output : node.proto->output()) {
        if (output.empty()) continue;
        const Symbol symbol{static_cast<ValueId>(graph_.value_count()), static_cast<s32>(n)};
        declare(output, symbol, "node " + quote_name(node.name));
        graph_.add_value(checked_name(output), {});
      }
    }
  }

  const Symbol& resolve(const std::string& name, const std::string& reader) const {
    const auto at = symbols_.find(name);
    if (at != symbols_.end()) return at->second;
    std::vector<std::string_view> names;
    for (const auto& [known, symbol] : symbols_) names.push_back(known);
    std::sort(names.begin(), names.end());
    const std::string_view near = nearest_name(name, names);
    fail(Error::Code::invalid_model, "{} reads {}, which nothing produces{}", reader,
         quote_name(name), near.empty() ? "" : "; the nearest name is " + quote_name(near));
  }

  std::vector<u32> sorted_nodes() const {
    std::vector<std::vector<u32>> depends_on(flat_.nodes.size());
    for (size_t n = 0; n < flat_.nodes.size(); ++n) {
      const FlatNode& node = flat_.nodes[n];
      for (const std::string& input : node.proto->input()) {
        if (input.empty()) continue;
        const Symbol& symbol = resolve(input, "node " + quote_name(node.name));
        if (symbol.node != kNoNode) depends_on[n].push_back(static_cast<u32>(symbol.node));
      }
    }
    Order order = topological_order(depends_on);
    if (!order.cycle.empty()) fail_cycle(order.cycle);
    return std::move(order.nodes);
  }

  [[noreturn]] void fail_cycle(const std::vector<u32>& cycle) const {
    constexpr size_t kShown = 10;
    std::string names;
    for (size_t i = 0; i < cycle.size() && i < kShown; ++i) {
      names += (i == 0 ? "" : " -> ") + quote_name(flat_.nodes[cycle[i]].name);
    }
    if (cycle.size() > kShown) names += fmt::format(" -> ... ({} nodes)", cycle.size());
    fail(Error::Code::invalid_model, "the graph has a cycle: {} -> {}", names,
         quote_name(flat_.nodes[cycle[0]].name));
  }

  // ---- nodes

  void add_node(FlatNode& flat) try {
    NodeProto& proto = *flat.proto;
    if (is_constant_node(proto)) {
      fold_constant(proto);
      return;
    }
    Node node;
    node.op = op_of(proto);
    node.name = unique_name(flat.name);
    node.origins = {clean_name(flat.name)};
    for (const std::string& input : proto.input()) node.inputs.push_back(id_of(input));
    for (const std::string& output : proto.output()) node.outputs.push_back(id_of(output));
    trim(node.inputs);
    trim(node.outputs);
    check_arity(node, parsed_min(*node.op));
    node.attrs = read_attributes(proto, tensors_);
    const std::string domain = canonical_domain(proto.domain());
    splice(std::move(node), static_cast<int>(flat.opsets->at(domain)));
  } catch (Error& error) {
    error.add_context(fmt::format("importing node {} ({})", quote_name(flat.name),
                                  quote_name(flat.proto->op_type())));
    throw;
  }

  ValueId id_of(const std::string& name) const {
    return name.empty() ? kNoValue : symbols_.find(name)->second.id;
  }

  static void trim(std::vector<ValueId>& ids) {
    while (!ids.empty() && ids.back() == kNoValue) ids.pop_back();
  }

  // Older opsets gave as attributes what are inputs in the canonical form: parse adds those.
  static int parsed_min(const OpDef& op) {
    return op.parse != nullptr ? std::min(op.inputs.min, 1) : op.inputs.min;
  }

  static void check_arity(const Node& node, int min_inputs) {
    const auto check = [&](std::span<const ValueId> ids, Arity arity, std::string_view what) {
      const auto has = static_cast<s64>(ids.size());
      if (has >= arity.min && (arity.max < 0 || has <= arity.max)) return;
      const std::string range = arity.max < 0 ? fmt::format("at least {}", arity.min)
                                : arity.max == arity.min
                                    ? fmt::format("{}", arity.min)
                                    : fmt::format("{}..{}", arity.min, arity.max);
      fail(Error::Code::invalid_model, "{} needs {} {}, has {}", node.op->name, range, what, has);
    };
    check(node.inputs, {min_inputs, node.op->inputs.max}, "inputs");
    check(node.outputs, node.op->outputs, "outputs");
  }

  // Lets the operator bring the node to its canonical form, then puts the node and what it added into the graph.
  void splice(Node node, int opset) {
    std::vector<Node> before;
    std::vector<Node> after;
    if (node.op->parse != nullptr) {
      NodeParser parser(graph_, node, opset, before, after);
      const OpDef& onnx_op = *node.op;
      try {
        onnx_op.parse(parser);
      } catch (const std::out_of_range&) {  // an input that is not there
        fail(Error::Code::invalid_model, "{} needs at least {} inputs, has {}", onnx_op.name,
             onnx_op.inputs.min, node.inputs.size());
      }
      trim(node.inputs);
      check_arity(node, node.op->inputs.min);
    }
    for (Node& added : before) add_spliced(std::move(added));
    graph_.nodes.push_back(std::move(node));
    for (Node& added : after) add_spliced(std::move(added));
  }

  void add_spliced(Node node) {
    node.name = unique_name(node.name);
    graph_.nodes.push_back(std::move(node));
  }

  std::string unique_name(const std::string& wanted) {
    const std::string base = checked_name(wanted);
    std::string name = base;
    for (u64& n = name_counts_[base]; !node_names_.insert(name).second;) {
      name = fmt::format("{}_{}", base, ++n);
    }
    return name;
  }

  void fold_constant(NodeProto& proto) {
    Attrs attrs = read_attributes(proto, tensors_);
    if (proto.input_size() != 0 || proto.output_size() != 1 || attrs.entries().size() != 1) {
      fail(Error::Code::invalid_model,
           "Constant needs 0 inputs, 1 output and 1 attribute, has {}, {} and {}",
           proto.input_size(), proto.output_size(), attrs.entries().size());
    }
    Tensor tensor = constant_tensor(attrs);
    note_parameters(tensor);
    Value& constant = graph_.value(id_of(proto.output(0)));
    constant.type = tensor.type();
    constant.constant = std::move(tensor);
  }

  void bind_outputs() {
    for (const auto& proto : model_.graph().output()) {
      graph_.outputs.push_back(resolve(proto.name(), "the graph output list").id);
    }
    if (graph_.outputs.empty()) fail(Error::Code::invalid_model, "the graph has no outputs");
  }

  ModelProto& model_;
  const ImportOptions& options_;
  ImportInfo& info_;
  ExternalData external_;
  TensorReader tensors_;
  FlatGraph flat_;
  Graph graph_;
  std::unordered_map<std::string, Symbol> symbols_;
  std::unordered_set<std::string> node_names_;
  std::unordered_map<std::string, u64> name_counts_;
};

Graph import_bytes(std::span<const std::byte> bytes, const ImportOptions& options,
                   ImportInfo* info) {
  const s64 max_bytes = options.max_bytes > 0 ? options.max_bytes : default_max_bytes();
  ImportInfo scratch;
  ModelProto model = parse_model(bytes, max_bytes);
  return Importer(model, options, info != nullptr ? *info : scratch, max_bytes).run();
}

}  // namespace

Graph import_onnx(std::span<const std::byte> bytes, const ImportOptions& options,
                  ImportInfo* info) {
  return import_bytes(bytes, options, info);
}

Graph import_onnx(const std::filesystem::path& file, const ImportOptions& options,
                  ImportInfo* info) try {
  const s64 max_bytes = options.max_bytes > 0 ? options.max_bytes : default_max_bytes();
  ImportOptions beside = options;
  if (beside.external_data_folder.empty()) {
    beside.external_data_folder = file.has_parent_path() ? file.parent_path() : ".";
  }
  return import_bytes(read_model_file(file, max_bytes), beside, info);
} catch (Error& error) {
  error.add_context("importing " + quote_name(file.string()));
  throw;
}

Tensor import_tensor(const std::filesystem::path& file) try {
  const s64 max_bytes = default_max_bytes();
  const std::vector<std::byte> bytes = read_model_file(file, max_bytes);
  TensorProto proto;
  if (!proto.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail(Error::Code::invalid_argument, "not a serialized ONNX tensor");
  }
  ExternalData external({}, {});
  std::vector<std::string> warnings;
  return TensorReader(external, max_bytes, warnings).read(proto);
} catch (Error& error) {
  error.add_context("reading " + quote_name(file.string()));
  throw;
}

}  // namespace octet
