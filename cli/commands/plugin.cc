// SPDX-License-Identifier: Apache-2.0
// octet plugin: for authors of plugins. check runs a library's conformance tests, new writes one to begin with.
#include <fmt/format.h>

#include <algorithm>

#include "cli/command.h"
#include "cli/fail.h"
#include "cli/flags/choice.h"
#include "cli/flags/engine_flags.h"
#include "cli/flags/number_range.h"
#include "cli/output/terminal.h"
#include "octet/plugins.h"

namespace octet::cli::plugin_cli {
namespace {

constexpr CommandHelp kHelp{
    "plugin", "Check a library of operators, or begin a new one",
    "check loads the library into processes of its own and runs every combination that it "
    "declares: "
    "between\n"
    "forbidden pages, into poisoned outputs, twice, on several threads, codes against reals, "
    "with attributes at\n"
    "their edges and foreign state. It ends with 1 where something is wrong. new writes a folder "
    "with "
    "an\n"
    "operator that compiles, its CMake file and a test.\n\n"
    "Examples:\n"
    "  octet plugin new Leaky\n"
    "  octet plugin check build/libleaky.so\n"
    "  octet plugin check build/libdecode.so --device cuda\n"
    "  octet plugin check libdecode.so --json | jq '.findings[] | select(.passed | not)'\n"};

struct Options {
  std::string action;
  std::string subject;
  std::filesystem::path folder;
  PluginCheckOptions check;
  bool json = false;
};

const char* verdict(const PluginFinding& finding) {
  if (finding.skipped) return "skipped";
  return finding.passed ? "ok" : "WRONG";
}

void print_table(const PluginCheck& result) {
  Table table(
      {{"OPERATOR", false, 40}, {"COMBINATION", false, 20}, {"CHECK"}, {""}, {"", false, 160}});
  std::string op, combination;
  for (const PluginFinding& finding : result.findings) {
    const bool again = finding.op == op && finding.combination == combination;
    table.add({again ? "" : sanitize(finding.op), again ? "" : sanitize(finding.combination),
               finding.check, verdict(finding), sanitize(finding.message)});
    op = finding.op;
    combination = finding.combination;
  }
  table.print();
  const auto wrong = std::count_if(result.findings.begin(), result.findings.end(),
                                   [](const PluginFinding& f) { return !f.passed; });
  fmt::print("{} checks, {} wrong\n", result.findings.size(), wrong);
}

void print_findings_json(const PluginCheck& result) {
  nlohmann::ordered_json findings = nlohmann::ordered_json::array();
  for (const PluginFinding& f : result.findings) {
    findings.push_back({{"operator", f.op},
                        {"combination", f.combination},
                        {"check", f.check},
                        {"passed", f.passed},
                        {"skipped", f.skipped},
                        {"message", f.message}});
  }
  print_json({{"passed", result.passed()}, {"findings", std::move(findings)}});
}

int run(const Options& options) {
  if (options.action == "check") {
    const PluginCheck result = check_plugin(options.subject, options.check);
    if (options.json)
      print_findings_json(result);
    else
      print_table(result);
    return result.passed() ? kDone : kThresholdFailed;
  }
  const std::filesystem::path folder =
      options.folder.empty() ? std::filesystem::path(options.subject) : options.folder;
  new_plugin(options.subject, folder);
  if (options.json)
    print_json({{"folder", folder.string()}});
  else
    fmt::print("{}: an operator, its CMake file and a test; docs/plugins.md goes on from here\n",
               sanitize(folder.string()));
  return kDone;
}

void add_flags(CLI::App& app, Options& options) {
  app.add_option("action", options.action, "check or new")
      ->required()
      ->type_name("ACTION")
      ->check(one_of({"check", "new"}));
  app.add_option("subject", options.subject, "check: the library; new: the operator's name")
      ->required()
      ->type_name("FILE|NAME");
  app.add_option("--folder", options.folder, "where new writes [the name]")->type_name("DIR");
  app.add_option("--device", options.check.device,
                 "check: cuda or cuda:N, which runs combinations for CUDA pointers [none]")
      ->type_name("NAME");
  app.add_option("--threads", options.check.threads,
                 "threads that run an instance at the same time")
      ->type_name("N")
      ->capture_default_str()
      ->check(from_to(1, 256));
  app.add_option("--seconds", options.check.seconds, "time limit of one check")
      ->type_name("N")
      ->capture_default_str()
      ->check(from_to(1, 3600));
  app.add_option("--max-memory", options.check.memory,
                 "memory limit of one check, with all processes that it starts [4G]")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->check(number_within(int64_t{1} << 26, int64_t{1} << 60, {"from 64M", "not from 64M on"}));
  app.add_option("--seed", options.check.seed, "seed of data and shapes")
      ->type_name("N")
      ->capture_default_str();
  add_json_flag(app, options.json);
}

}  // namespace

Command add(CLI::App& parent) { return make_command(parent, kHelp, add_flags, run); }

}  // namespace octet::cli::plugin_cli
