// SPDX-License-Identifier: Apache-2.0
// octet devices: what can run engines on this machine.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/output/terminal.h"
#include "octet/machine.h"

namespace octet::cli::devices_cli {
namespace {

struct Options {
  bool json = false;
};

nlohmann::ordered_json json_of(const std::vector<DeviceEntry>& entries) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const DeviceEntry& entry : entries) {
    list.push_back({{"name", entry.info.name},
                    {"chip", entry.info.chip},
                    {"level", entry.info.level},
                    {"tuned", entry.info.tuned},
                    {"usable", entry.missing.empty()},
                    {"missing", entry.missing},
                    {"note", entry.note}});
  }
  return {{"devices", std::move(list)}};
}

int run(const Options& options) {
  const std::vector<DeviceEntry> entries = list_devices();
  if (options.json) {
    print_json(json_of(entries));
    return kDone;
  }
  for (const DeviceEntry& entry : entries) {
    if (entry.missing.empty()) {
      fmt::print("{:<8} {} ({}{})\n", entry.info.name, entry.info.chip, entry.info.level,
                 entry.info.tuned ? "" : ", untuned");
      if (!entry.note.empty()) fmt::print("{:<8} {}\n", "", sanitize(entry.note));
    } else {
      fmt::print("{:<8} not usable: {}\n", entry.info.name, entry.missing);
    }
  }
  return kDone;
}

}  // namespace

Command add(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("devices", "List what can run engines on this machine");
  auto options = std::make_shared<Options>();
  app->add_flag("--json", options->json, "print one JSON object");
  app->footer("Example:\n  octet devices\n  octet run resnet20.octet cat.jpg --device cuda:0\n");
  return {app, [options] { return run(*options); }};
}

}  // namespace octet::cli::devices_cli
