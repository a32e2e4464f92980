// SPDX-License-Identifier: Apache-2.0
#include "onnx/support.h"

#include <map>
#include <tuple>

#include "core/check.h"
#include "onnx/text.h"
#include "ops/registry.h"

namespace octet {
namespace {

// ONNX 1.23 writes IR version 14; later ones are read with a warning, as unknown fields are harmless.
constexpr s64 kOldestIr = 3;
constexpr s64 kNewestIr = 14;
constexpr s64 kAbsurdIr = 1000;
constexpr s64 kAbsurdOpset = 100;
constexpr std::string_view kInternalDomain = "octet";
constexpr size_t kNamesPerOperator = 20;

void check_default_opset(const Opsets& opsets, ImportInfo& info) {
  const auto at = opsets.find("");
  if (at == opsets.end()) return;  // an error only where a node needs it
  const s64 version = at->second;
  if (version < kOldestOpset || version > kAbsurdOpset) {
    fail(Error::Code::invalid_model,
         "the model uses opset {}, supported are {}..{}; export it again with one of these",
         version, kOldestTestedOpset, kNewestOpset);
  }
  if (version > kNewestOpset) {
    info.warnings.push_back(fmt::format("opset {} is newer than the newest known one, {}; going on",
                                        version, kNewestOpset));
  } else if (version < kOldestTestedOpset) {
    info.warnings.push_back(
        fmt::format("opset {} is older than {}; compare the results with another runtime's",
                    version, kOldestTestedOpset));
  }
}

void check_node(const FlatNode& node, ImportInfo& info) {
  const std::string& op = node.proto->op_type();
  const std::string domain = canonical_domain(node.proto->domain());
  ++info.op_counts[clean_name(op)];
  if (op.empty())
    fail(Error::Code::invalid_model, "node {} has no operator", quote_name(node.name));
  const auto opset = node.opsets->find(domain);
  const bool known = is_constant_node(*node.proto) || op_of(*node.proto) != nullptr;
  if (!known) {
    const s64 version = opset == node.opsets->end() ? 0 : opset->second;
    info.unsupported.push_back(
        {clean_name(node.name), clean_name(domain), clean_name(op), version});
  } else if (opset == node.opsets->end()) {
    fail(Error::Code::invalid_model,
         "node {} ({}) is of domain {}, of which the model imports no opset", quote_name(node.name),
         op, domain.empty() ? "ai.onnx" : quote_name(domain));
  } else if (opset->second < 1 || opset->second > kAbsurdOpset) {
    fail(Error::Code::invalid_model, "node {} ({}) is of domain {} with the impossible opset {}",
         quote_name(node.name), op, quote_name(domain), opset->second);
  }
}

}  // namespace

bool is_constant_node(const octet_onnx::NodeProto& node) {
  return node.op_type() == "Constant" && canonical_domain(node.domain()).empty();
}

const OpDef* op_of(const octet_onnx::NodeProto& node) {
  // Our own operators come from passes that prove what they rely on; a file must not reach them.
  if (node.domain() == kInternalDomain) return nullptr;
  return op_registry().find_onnx(node.domain(), node.op_type());
}

void read_header(const octet_onnx::ModelProto& model, ImportInfo& info) {
  info.producer = clean_name(model.producer_name());
  if (!model.producer_version().empty())
    info.producer += " " + clean_name(model.producer_version());
  info.ir_version = model.ir_version();
  if (!model.has_graph()) {
    fail(Error::Code::invalid_model,
         "the model has no graph: the file is truncated or no ONNX model");
  }
  if (model.ir_version() < kOldestIr || model.ir_version() > kAbsurdIr) {
    fail(Error::Code::invalid_model, "the model has IR version {}, supported are {}..{}",
         model.ir_version(), kOldestIr, kNewestIr);
  }
  if (model.ir_version() > kNewestIr) {
    info.warnings.push_back(
        fmt::format("IR version {} is newer than the newest known one, {}; going on",
                    model.ir_version(), kNewestIr));
  }
  const Opsets opsets = read_opsets(model.opset_import());
  for (const auto& [domain, version] : opsets)
    info.opsets.emplace_back(clean_name(domain), version);
  for (const auto& function : model.functions())
    info.functions.push_back(clean_name(function.name()));
  check_default_opset(opsets, info);
}

void check_support(const FlatGraph& flat, ImportInfo& info) {
  size_t count = flat.nodes.size();
  for (const FlatNode& node : flat.nodes) check_node(node, info);
  for_each_body(flat.nodes, [&](const FlatBody& body) {
    count += body.nodes.size();
    for (const FlatNode& node : body.nodes) check_node(node, info);
  });
  if (info.unsupported.empty()) return;
  std::map<std::tuple<std::string, std::string, s64>, std::vector<std::string>> groups;
  for (const auto& node : info.unsupported)
    groups[{node.domain, node.op, node.opset}].push_back(node.name);
  std::string text;
  for (const auto& [key, names] : groups) {
    const auto& [domain, op, opset] = key;
    text += fmt::format("\n  {} (domain {}, opset {}): ", op, domain.empty() ? "ai.onnx" : domain,
                        opset > 0 ? std::to_string(opset) : "not imported");
    for (size_t i = 0; i < names.size() && i < kNamesPerOperator; ++i) {
      text += (i == 0 ? "node " : ", ") + quote_name(names[i]);
    }
    if (names.size() > kNamesPerOperator)
      text += fmt::format(" and {} more", names.size() - kNamesPerOperator);
  }
  fail_about("PluginInfo.path", Error::Code::unsupported,
             "{} of {} nodes have operators that Octet lacks, and no loaded plugin has:{}",
             info.unsupported.size(), count, text);
}

}  // namespace octet
