// SPDX-License-Identifier: Apache-2.0
// octet selftest: whether the kernels of a device give the reference's bytes on this chip.
#include "octet/selftest.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.h"
#include "cli/flags/number_range.h"
#include "cli/output/progress.h"
#include "cli/output/terminal.h"

namespace octet::cli::selftest_cli {
namespace {

constexpr CommandHelp kHelp{
    "selftest", "Hold a device's kernels against the reference, on this machine",
    "Small INT8 networks with made-up weights run on the device, as they are planned and again "
    "with other kernels for\n"
    "each layer, and every value is compared with the scalar reference's. Exit code 1: a kernel "
    "gave other bytes; the\n"
    "report (--json) is what to send with an issue.\n\n"
    "Examples:\n"
    "  octet selftest\n"
    "  octet selftest --device cuda:0 --json >report.json\n"};

struct Options {
  SelfTestOptions test;
  bool json = false;
};

nlohmann::ordered_json json_of(const SelfTestReport& report) {
  auto kernels = nlohmann::ordered_json::array(), failures = kernels;
  for (const SelfTestKernel& kernel : report.kernels)
    kernels.push_back({{"name", kernel.name}, {"runs", kernel.runs}, {"wrong", kernel.wrong}});
  for (const SelfTestFailure& failure : report.failures) {
    failures.push_back({{"network", failure.network},
                        {"layer", failure.layer},
                        {"kernel", failure.kernel},
                        {"what", failure.what}});
  }
  return {
      {"device", report.device.name}, {"chip", report.device.chip},  {"level", report.device.level},
      {"tuned", report.device.tuned}, {"networks", report.networks}, {"left", report.left},
      {"layers", report.layers},      {"on_host", report.on_host},   {"runs", report.runs},
      {"kernels", kernels},           {"failures", failures}};
}

void print_report(const SelfTestReport& report) {
  fmt::print("{}  {} ({}{})\n", report.device.name, report.device.chip, report.device.level,
             report.device.tuned ? "" : ", untuned");
  for (const SelfTestKernel& kernel : report.kernels) {
    fmt::print("  {:<24} {:>5} runs{}\n", kernel.name, kernel.runs,
               kernel.wrong == 0 ? "" : fmt::format(", {} wrong", kernel.wrong));
  }
  for (const SelfTestFailure& failure : report.failures) {
    fmt::print("failed: {}{}{}: {}\n", failure.network,
               failure.layer.empty() ? "" : ", layer '" + failure.layer + "'",
               failure.kernel.empty() ? "" : ", kernel " + failure.kernel, sanitize(failure.what));
  }
  if (report.on_host > 0)
    fmt::print("{} of {} layers have no kernel there and ran on the CPU\n", report.on_host,
               report.layers);
  if (report.failures.size() >= kMostSelfTestFailures) {
    fmt::print("{} networks were left, as so much has failed\n", report.left);
  } else if (report.left > 0) {
    fmt::print("{} networks were not done in that time: --seconds 0 runs all\n", report.left);
  }
  fmt::print("{} networks, {} runs, {} failed\n", report.networks, report.runs,
             report.failures.size());
}

int run(Options options) {
  ProgressBar bar(options.json);
  options.test.monitor.report = [&](const Progress& progress) {
    bar.update(progress);
    return true;
  };
  const SelfTestReport report = self_test(options.test);
  bar.finish();
  if (options.json) {
    print_json(json_of(report));
  } else {
    print_report(report);
  }
  return report.failures.empty() ? kDone : kThresholdFailed;
}

void add_flags(CLI::App& app, Options& options) {
  app.add_option("--device", options.test.device, "what runs the networks [cpu]")
      ->type_name("NAME");
  app.add_option("--threads", options.test.threads, "threads of the CPU [1]")
      ->type_name("N")
      ->check(from_to(1, 256));
  app.add_option("--seconds", options.test.seconds,
                 "nothing is begun after so many seconds; 0: no end [120]")
      ->type_name("S")
      ->check(from_to(0.0, 86400.0));
  app.add_option("--kernels", options.test.other_kernels,
                 "other kernels of each layer that run, at most [3]")
      ->type_name("N")
      ->check(from_to(0, 1000));
  app.add_flag("--json", options.json, "print one JSON object");
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kHelp, add_flags, run); }

}  // namespace octet::cli::selftest_cli
