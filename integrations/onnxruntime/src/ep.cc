// SPDX-License-Identifier: Apache-2.0
#include "ep.h"

#include <cmath>
#include <numeric>

#include "context_node.h"
#include "octet/machine.h"

namespace octet_ort {
namespace {

using octet::Error;

Part whole(const Graph& graph) {
  std::vector<size_t> nodes(graph.nodes.size());
  std::iota(nodes.begin(), nodes.end(), size_t{0});
  return part_of(graph, std::move(nodes));
}

// What contexts of this processor would run on; empty: kernels that are worth it.
std::string unfit(const Options& options) {
  if (options.device == "cpu" && octet::cpu_isa() == "none") {
    return "there are only scalar kernels for this processor (or OCTET_CPU_ISA says none)";
  }
  return {};
}

std::string summary(const Chosen& chosen) {
  std::string text = "takes " + std::to_string(chosen.part.nodes.size()) + " nodes as one";
  if (chosen.built == nullptr) return text;
  if (chosen.built->of_file) text += ", built of the model's file";
  if (chosen.built->observation != nullptr) return text + ", FP32 while runs are observed";
  if (std::isnan(chosen.built->int8_share)) return text;
  return text + ", INT8 has " + std::to_string(std::lround(chosen.built->int8_share * 100)) +
         " % of the multiplications";
}

}  // namespace

Ep::Ep(const Host& host, Options options, const OrtLogger* logger)
    : OrtEp{},
      session_{host, Log(host, logger), std::move(options), nullptr},
      builder_(session_.host, session_.options, session_.log),
      compatibility_(compatibility_text()) {
  session_.slots = std::make_unique<Slots>(session_.options.streams, session_.options.threads);
  ort_version_supported = host.version;
  GetName = [](const OrtEp* /*self*/) { return kProviderName; };
  GetCapability = [](OrtEp* self, const OrtGraph* graph, OrtEpGraphSupportInfo* info) {
    auto* ep = static_cast<Ep*>(self);
    return ep->session_.host.guarded([&] { ep->get_capability(graph, info); });
  };
  Compile = [](OrtEp* self, const OrtGraph** graphs, const OrtNode** fused, size_t count,
               OrtNodeComputeInfo** infos, OrtNode** context_nodes) {
    auto* ep = static_cast<Ep*>(self);
    return ep->session_.host.guarded([&] {
      std::vector<std::unique_ptr<PartNode>> nodes;  // none leaves where one fails
      for (size_t i = 0; i < count; ++i) {
        nodes.push_back(ep->compile(graphs[i], fused[i], &context_nodes[i]));
      }
      for (size_t i = 0; i < count; ++i) infos[i] = nodes[i].release();
    });
  };
  ReleaseNodeComputeInfos = [](OrtEp* /*self*/, OrtNodeComputeInfo** infos, size_t count) {
    for (size_t i = 0; i < count; ++i) delete static_cast<PartNode*>(infos[i]);
  };
  GetCompiledModelCompatibilityInfo = [](OrtEp* self, const OrtGraph* /*graph*/) {
    return static_cast<Ep*>(self)->compatibility_.c_str();
  };
  IsConcurrentRunSupported = [](OrtEp* /*self*/, bool* out) -> OrtStatus* {
    *out = true;
    return nullptr;
  };
}

void Ep::take(const Graph& graph, const Part& part, OrtEpGraphSupportInfo* info) const {
  std::vector<const OrtNode*> nodes;
  for (const size_t i : part.nodes) nodes.push_back(graph.nodes[i].node);
  const OrtNodeFusionOptions options{session_.host.version, true};
  session_.host.check(
      session_.host.EpGraphSupportInfo_AddNodesToFuse(info, nodes.data(), nodes.size(), &options));
}

void Ep::get_capability(const OrtGraph* handle, OrtEpGraphSupportInfo* info) {
  const Graph graph = read_graph(session_.host, handle);
  if (graph.nested) return;  // bodies of control flow, which stays with ONNX Runtime
  bool compiled = false;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!is_our_context(session_.host, graph.nodes[i])) continue;
    compiled = true;
    take(graph, part_of(graph, {i}), info);
  }
  const std::string reason = unfit(session_.options);
  if (compiled) return;
  if (!reason.empty()) {
    session_.log.write(kWarning, "all nodes are left to ONNX Runtime: " + reason);
    return;
  }
  Choice choice = choose(session_.host, graph, session_.options, builder_);
  for (const std::string& line : reasons(choice)) session_.log.write(kInfo, line);
  if (choice.parts.empty()) {
    session_.log.write(kWarning, "no part of the model is taken; the log's level INFO has reasons");
  }
  for (Chosen& chosen : choice.parts) {
    take(graph, chosen.part, info);
    session_.log.write(kInfo, summary(chosen));
    const std::string key = chosen.part.key;
    chosen_[key] = std::move(chosen);
  }
}

std::shared_ptr<Built> Ep::built_for(const Graph& graph) {
  if (graph.nodes.size() == 1 && is_our_context(session_.host, graph.nodes[0])) {
    const octet::Engine engine =
        engine_of_context(session_.host, graph, graph.nodes[0], session_.options);
    return std::make_shared<Built>(Built{engine, std::nullopt});
  }
  const auto found = chosen_.find(whole(graph).key);
  if (found == chosen_.end()) {
    throw Error(Error::Code::internal, "a part is to be compiled that was not chosen");
  }
  const Chosen chosen = std::move(found->second);
  chosen_.erase(found);
  if (chosen.built == nullptr) throw Error(Error::Code::invalid_argument, chosen.fault);
  return chosen.built;
}

std::unique_ptr<PartNode> Ep::compile(const OrtGraph* handle, const OrtNode* fused,
                                      OrtNode** context_node) {
  const Host& host = session_.host;
  const Graph graph = read_graph(host, handle);
  std::shared_ptr<Built> built = built_for(graph);
  const bool observed = built->observation != nullptr;
  auto node = std::make_unique<PartNode>(session_, built, graph, fused);
  if (!session_.options.context_enabled) return node;
  if (observed) {
    throw Error(Error::Code::invalid_argument,
                "a compiled model cannot hold what octet.int8=observe:N has yet to learn: run the "
                "model first, then compile it with octet.calibration_cache");
  }
  *context_node = make_context_node(host, fused, node->engine(), graph.path, session_.options);
  return node;
}

}  // namespace octet_ort
