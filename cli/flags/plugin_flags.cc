// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/plugin_flags.h"

#include <fmt/format.h>

#include "cli/output/messages.h"
#include "cli/output/terminal.h"
#include "octet/plugins.h"

namespace octet::cli {

void add_plugin_flag(CLI::App& app, std::vector<std::filesystem::path>& plugins) {
  app.add_option("--plugin", plugins, "library with operators, native code that is run; repeatable")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void load_plugins(const std::vector<std::filesystem::path>& plugins) {
  for (const std::filesystem::path& path : plugins) {
    const PluginInfo info = load_plugin(path);
    for (const PluginOperatorInfo& op : info.operators) {
      detail(fmt::format("plugin {} {}: {}/{} version {}, {} combinations", sanitize(info.name),
                         sanitize(info.version), op.domain, op.name, op.version,
                         op.combinations.size()));
      if (!op.native.empty())
        detail(fmt::format("plugin {}: {}", sanitize(info.name), sanitize(op.native)));
    }
  }
}

}  // namespace octet::cli
