// SPDX-License-Identifier: Apache-2.0
#include "context_node.h"

#include <limits>
#include <span>

#include "octet/error.h"
#include "octet/input.h"
#include "octet/output.h"
#include "octet/provenance.h"

namespace octet_ort {
namespace {

using octet::Error;

constexpr std::string_view kHashed = "octet engine ";
constexpr std::string_view kWritten = "octet ";

// Attributes that are freed unless a node has taken copies of them.
class Attributes {
 public:
  explicit Attributes(const Host& host) : host_(host) {}
  ~Attributes() {
    for (OrtOpAttr* attribute : all_) host_.ReleaseOpAttr(attribute);
  }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;

  void text(const char* name, std::string_view value) {
    if (value.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
      throw Error(Error::Code::unsupported,
                  "the engine has more bytes than a model holds: ep.context_embed_mode=0 puts it "
                  "into a file of its own");
    }
    add(name, value.data(), static_cast<int>(value.size()), kAttrString);
  }
  void integer(const char* name, int64_t value) { add(name, &value, 1, kAttrInt); }
  std::vector<OrtOpAttr*>& all() { return all_; }

 private:
  void add(const char* name, const void* data, int count, int kind) {
    OrtOpAttr* attribute = nullptr;
    host_.check(host_.CreateOpAttr(name, data, count, kind, &attribute));
    all_.push_back(attribute);
  }

  const Host& host_;
  std::vector<OrtOpAttr*> all_;
};

std::vector<const char*> pointers(const std::vector<std::string>& texts) {
  std::vector<const char*> result;
  for (const std::string& text : texts) result.push_back(text.c_str());
  return result;
}

// The model that the node is in, or will be in.
std::filesystem::path model_beside(const std::filesystem::path& model, const Options& options) {
  return options.context_path.empty() ? model : options.context_path;
}

std::string text_of_file(const Graph& graph, const std::string& name, const Options& options) {
  const std::filesystem::path file(name);
  const std::filesystem::path model = graph.path.empty() ? options.context_path : graph.path;
  if (file.empty() || file.filename() != file || name == "." || name == "..") {
    throw Error(Error::Code::invalid_model,
                "an EPContext node names an engine that is not beside the model: '" + name + "'");
  }
  if (model.empty()) {
    throw Error(Error::Code::invalid_argument,
                "the engine '" + name +
                    "' lies beside the model, which came from memory: say where "
                    "with ep.context_file_path");
  }
  return octet::read_text(model.parent_path() / file, std::numeric_limits<int64_t>::max());
}

std::string engine_file(const std::filesystem::path& model, const std::string& name) {
  std::string text = model.stem().string() + "_" + name;
  for (char& c : text) {
    if (c == '/' || c == '\\' || c == ':') c = '_';
  }
  return text + ".octet";
}

}  // namespace

bool is_context_node(const GraphNode& node) {
  return node.op == "EPContext" && node.domain == "com.microsoft";
}

bool is_our_context(const Host& host, const GraphNode& node) {
  return is_context_node(node) && text_attribute(host, node.node, "source") == kProviderName;
}

octet::Engine engine_of_context(const Host& host, const Graph& graph, const GraphNode& node,
                                const Options& options) {
  std::string text = text_attribute(host, node.node, "ep_cache_context");
  if (integer_attribute(host, node.node, "embed_mode", 1) == 0) {
    text = text_of_file(graph, text, options);
  }
  octet::Engine engine = octet::Engine::load(std::as_bytes(std::span(text)));
  const std::string notes = text_attribute(host, node.node, "notes");
  if (notes != std::string(kHashed) + octet::engine_hash(engine)) {
    throw Error(Error::Code::invalid_model,
                "the engine of EPContext node '" + node.name +
                    "' is not the one that the model was compiled with");
  }
  return engine;
}

OrtNode* make_context_node(const Host& host, const OrtNode* fused, const octet::Engine& engine,
                           const std::filesystem::path& model, const Options& options) {
  if (host.CreateNode == nullptr) {
    throw Error(Error::Code::unsupported, "this ONNX Runtime writes no models");
  }
  const char* name = nullptr;
  host.check(host.Node_GetName(fused, &name));
  const std::vector<std::byte> bytes = engine.to_bytes();
  std::string held(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!options.context_embedded) {
    const std::filesystem::path beside = model_beside(model, options);
    if (beside.empty()) {
      throw Error(Error::Code::invalid_argument,
                  "ep.context_embed_mode=0 puts engines beside the compiled model: say where that "
                  "is with ep.context_file_path");
    }
    held = engine_file(beside, name);
    octet::write_bytes(bytes, beside.parent_path() / held);
  }
  Attributes attributes(host);
  attributes.text("ep_cache_context", held);
  attributes.text("source", kProviderName);
  attributes.text("ep_sdk_version", octet::octet_version());
  attributes.text("partition_name", name);
  attributes.text("notes", std::string(kHashed) + octet::engine_hash(engine));
  attributes.integer("main_context", 1);
  attributes.integer("embed_mode", options.context_embedded ? 1 : 0);
  const std::vector<std::string> inputs = names_of(host, fused, false);
  const std::vector<std::string> outputs = names_of(host, fused, true);
  const auto ins = pointers(inputs);
  const auto outs = pointers(outputs);
  OrtNode* node = nullptr;
  host.check(host.CreateNode("EPContext", "com.microsoft", name, ins.data(), ins.size(),
                             outs.data(), outs.size(), attributes.all().data(),
                             attributes.all().size(), &node));
  return node;
}

std::string compatibility_text() {
  return std::string(kWritten) + std::string(octet::octet_version());
}

Compatibility compatibility_of(std::string_view text) {
  if (text == compatibility_text()) return kOptimal;
  // Engines are data that later versions read; what they would build themselves may be faster.
  return text.starts_with(kWritten) ? kPreferRecompilation : kUnsupported;
}

}  // namespace octet_ort
