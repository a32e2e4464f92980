// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/trtexec/plugins.h"

#include <filesystem>
#include <iterator>

#include "octet/input.h"
#include "octet/plugin.h"
#include "octet/plugins.h"
#include "tensorrt/trtexec/log.h"
#include "tensorrt/trtexec/tensorrt_plugins.h"

namespace octet::cli::trtexec {
namespace {

constexpr size_t kMostLibraryBytes = size_t{1} << 30;
constexpr const char* kPluginFlags[] = {"--plugins", "--staticPlugins", "--dynamicPlugins"};

// Whether a library is one of Octet's, by the name of the function that it exports. It is not opened for that: TensorRT's register their
// plugins while they are.
bool is_octet_plugin(const std::string& library) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(library, error)) return true;  // which is told as of those
  const auto bytes = read_beginning(library, kMostLibraryBytes);
  return !bytes || bytes->find(OCTET_PLUGIN_ENTRY) != bytes->npos;
}

void load_tensorrts(const std::string& library, bool old) {
  try {
    load_tensorrt_library(library, old);
  } catch (Error& error) {
    error.add_context(
        fmt::format("loading '{}', which has no function {} and so none of Octet's operators, as a "
                    "library of TensorRT's plugins",
                    library, OCTET_PLUGIN_ENTRY));
    throw;
  }
}

void load(const std::string& library, bool old) {
  info("Loading supplied plugin library: {}", library);  // as TensorRT says it
  if (!is_octet_plugin(library)) return load_tensorrts(library, old);
  for (const PluginOperatorInfo& op : load_plugin(library).operators)
    log_verbose(fmt::format("Operator {}/{} version {}", op.domain, op.name, op.version));
}

}  // namespace

void load_plugins(const Options& options) {
  for (const char* flag : kPluginFlags) {
    for (const std::string& library : options.given.values(flag))
      load(library, options.version.old);
  }
}

void advise_plugins(Error& error) {
  if (error.field() != "PluginInfo.path") return;
  error.add_context(
      "--dynamicPlugins=<file> loads a library with operators of Octet's (docs/plugins.md); "
      "plugins "
      "of TensorRT run in programs of its interface (docs/tensorrt-api.md)");
}

}  // namespace octet::cli::trtexec
