// SPDX-License-Identifier: Apache-2.0
#include "plugin/library.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "core/check.h"
#include "ops/registry.h"
#include "plugin/declaration_reader.h"

namespace octet {
namespace {

constexpr auto kInvalid = Error::Code::invalid_argument;

struct Plugins {
  std::mutex mutex;
  std::vector<PluginInfo> infos;
  std::vector<const octet_plugin*> given;
  std::vector<std::unique_ptr<PluginOp>> ops;
};

// Never destroyed: graphs of other static objects may point into it.
Plugins& plugins() {
  static Plugins& all = *new Plugins;
  return all;
}

// A file that anybody could have replaced is not run.
void check_file(const std::filesystem::path& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0)
    fail(Error::Code::io, "there is no plugin '{}'", path.string());
  if (!S_ISREG(info.st_mode)) fail(kInvalid, "'{}' is no regular file", path.string());
  if ((info.st_mode & S_IWOTH) != 0)
    fail(kInvalid, "'{}' may be written by everybody; chmod o-w it before loading its code",
         path.string());
}

// What Octet itself has under the name that a plugin gives its operator.
std::string native_of(const Declaration& d) {
  const OpDef* op = find_op(d.name);
  if (op == nullptr || !op->domain.empty()) return {};
  const char* form = "computes in f32, with kernels for this CPU";
  if (op->traits->rows_as_codes != nullptr) {
    form = "reads reals and writes INT8 codes in one pass, with kernels for this CPU";
  } else if (op->quant.kind == QuantKind::table) {
    form = "becomes a table of 256 codes, alone or inside the layer before it";
  } else if (op->quant.kind == QuantKind::move_codes) {
    form = "moves INT8 codes without computing";
  } else if (op->quant.kind != QuantKind::none) {
    form = "has INT8 kernels for this CPU and joins its neighbors";
  }
  return fmt::format("Octet's own {} {}", d.name, form);
}

PluginInfo info_of(const octet_plugin& plugin, std::span<const Declaration> declarations,
                   const std::filesystem::path& path) {
  PluginInfo info{plugin_text(plugin.name, "the plugin's name"),
                  plugin_text(plugin.version, "the plugin's version"),
                  path,
                  {}};
  for (const Declaration& d : declarations) {
    PluginOperatorInfo op{d.name, d.domain, d.version, d.hash, {}, native_of(d)};
    for (const PluginCombination& c : d.combinations) op.combinations.push_back(c.name);
    info.operators.push_back(std::move(op));
  }
  return info;
}

void check_new(const Declaration& d) {
  if (d.domain == "ai.onnx" || d.domain == "octet")
    fail(kInvalid, "operator '{}' needs a domain of its own, not '{}'", d.name, d.domain);
  if (find_op(d.full_name()) != nullptr)
    fail(kInvalid, "operator '{}' exists already", d.full_name());
}

PluginInfo add(const octet_plugin& plugin, const std::filesystem::path& path) {
  Plugins& all = plugins();
  const std::lock_guard lock(all.mutex);
  for (size_t i = 0; i < all.given.size(); ++i) {
    if (all.given[i] == &plugin) return all.infos[i];
  }
  std::vector<Declaration> declarations = read_plugin(plugin);
  for (const Declaration& d : declarations) check_new(d);
  PluginInfo info = info_of(plugin, declarations, path);
  for (Declaration& d : declarations) {
    PluginOp& op = *all.ops.emplace_back(std::make_unique<PluginOp>(std::move(d)));
    op_registry().add(op.real);
    op_registry().add_for_passes(op.codes);
  }
  all.given.push_back(&plugin);
  all.infos.push_back(info);
  return info;
}

void collect(const Graph& graph, std::map<std::string, PluginUse>& uses) {
  for (const Node& node : graph.nodes) {
    if (const PluginOp* op = plugin_of(node)) {
      const Declaration& d = op->declaration;
      uses[d.full_name()] = {d.plugin, d.plugin_version, d.full_name(), d.version, d.hash};
    }
    for (const auto& [name, value] : node.attrs.entries()) {
      if (const GraphPtr* body = std::get_if<GraphPtr>(&value); body != nullptr && *body != nullptr)
        collect(**body, uses);
    }
  }
}

std::string difference(const PluginUse& use, const Declaration& d) {
  const auto differs = [](std::string_view what, const auto& wanted, const auto& found) {
    return fmt::format("{} {}, and {} is loaded", what, wanted, found);
  };
  if (use.plugin != d.plugin) return differs("plugin", use.plugin, d.plugin);
  if (use.version != d.plugin_version)
    return differs("plugin version", use.version, d.plugin_version);
  if (use.op_version != d.version) return differs("operator version", use.op_version, d.version);
  if (use.declaration != d.hash) return differs("declaration", use.declaration, d.hash);
  return {};
}

}  // namespace

const octet_plugin& open_plugin(const std::filesystem::path& library) {
  check_file(library);
  // A name without a slash would be searched for in folders that nobody named.
  std::error_code nowhere;
  const std::filesystem::path path = std::filesystem::absolute(library, nowhere);
  if (nowhere) fail(Error::Code::io, "'{}': {}", library.string(), nowhere.message());
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fail(kInvalid, "'{}' is no plugin: {}", library.string(), dlerror());
  const auto entry =
      reinterpret_cast<octet_plugin_entry_function>(dlsym(handle, OCTET_PLUGIN_ENTRY));
  if (entry == nullptr)
    fail(kInvalid, "'{}' is no plugin: it has no function {}", library.string(),
         OCTET_PLUGIN_ENTRY);
  static const octet_plugin_host host = {sizeof host, OCTET_PLUGIN_ABI, 0, OCTET_VERSION};
  const octet_plugin* plugin = nullptr;
  try {
    plugin = entry(&host);
  } catch (const std::exception& error) {
    fail(kInvalid, "'{}': {} let an exception out: {}", library.string(), OCTET_PLUGIN_ENTRY,
         error.what());
  } catch (...) {
    fail(kInvalid, "'{}': {} let an exception out", library.string(), OCTET_PLUGIN_ENTRY);
  }
  if (plugin == nullptr)
    fail(kInvalid, "'{}' refuses this host (interface {})", library.string(), OCTET_PLUGIN_ABI);
  return *plugin;
}

std::vector<Declaration> read_plugin(const octet_plugin& plugin) {
  const octet_plugin known = known_part(&plugin, "the plugin");
  if (known.abi != OCTET_PLUGIN_ABI)
    fail(kInvalid, "the plugin is made for interface {}, this is {}", known.abi, OCTET_PLUGIN_ABI);
  check_count(known.operator_count, kMaxPluginOperators, known.operators, "operators");
  if (known.operator_count == 0) fail(kInvalid, "the plugin has no operator");
  std::vector<Declaration> declarations;
  for (u64 i = 0; i < known.operator_count; ++i) {
    if (known.operators[i] == nullptr) fail(kInvalid, "operator {} is null", i);
    declarations.push_back(read_declaration(*known.operators[i], plugin));
    const auto same = [&](const Declaration& d) {
      return d.full_name() == declarations.back().full_name();
    };
    if (std::ranges::count_if(declarations, same) > 1)
      fail(kInvalid, "operator '{}' is declared twice", declarations.back().full_name());
  }
  return declarations;
}

PluginInfo load_plugin(const std::filesystem::path& library) {
  try {
    return add(open_plugin(library), library);
  } catch (Error& error) {
    error.add_context("loading the plugin '" + library.string() + "'");
    throw;
  }
}

PluginInfo add_plugin(const octet_plugin& plugin) { return add(plugin, {}); }

std::vector<PluginInfo> loaded_plugins() {
  Plugins& all = plugins();
  const std::lock_guard lock(all.mutex);
  return all.infos;
}

std::vector<PluginUse> used_plugins(const Graph& graph) {
  std::map<std::string, PluginUse> uses;
  collect(graph, uses);
  std::vector<PluginUse> list;
  for (auto& [name, use] : uses) list.push_back(std::move(use));
  return list;
}

void check_plugins(std::span<const PluginUse> uses) {
  std::string problems;
  for (const PluginUse& use : uses) {
    const OpDef* op = find_op(use.op);
    std::string problem;
    if (op == nullptr) {
      problem =
          fmt::format("no loaded plugin has it; it came from '{}' {}", use.plugin, use.version);
    } else {
      Node node;
      node.op = op;
      const PluginOp* plugin = plugin_of(node);
      problem = plugin == nullptr ? "it is no plugin's" : difference(use, plugin->declaration);
      if (problem.empty()) continue;
      problem = "it was built with " + problem;
    }
    problems += fmt::format("\n  {} version {}: {}", use.op, use.op_version, problem);
  }
  if (!problems.empty())
    fail_about("PluginInfo.path", Error::Code::unsupported,
               "the engine needs operators of plugins that are not loaded as it knows them:{}",
               problems);
}

}  // namespace octet
