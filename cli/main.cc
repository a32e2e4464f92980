// SPDX-License-Identifier: Apache-2.0
// The octet program: finds the subcommand, runs it, and turns every error into one message and an exit code.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <vector>

#include "cli/advice.h"
#include "cli/command.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "octet/error.h"
#include "octet/limits.h"

namespace octet::cli {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 done, 1 a comparison failed its threshold, 2 bad input or usage.\n"
    "Each command explains itself: octet build --help\n\n"
    "Example, from a model and photos to a verified INT8 engine:\n"
    "  octet check model.onnx\n"
    "  octet build model.onnx --int8 --calib photos/ --preprocess preprocess.json -o model.octet\n"
    "  octet inspect model.octet\n"
    "  octet eval model.octet --data test/ --against model.onnx\n";

int report(const Error& error) {
  print_error(error.message());
  for (const std::string& line : error.context()) print_context(line);
  const std::string_view advice = advice_for(error.field());
  if (!advice.empty()) print_context(advice);
  if (error.code() == Error::Code::internal) {
    print_context(
        "this is a bug in Octet, not in your input; please report it with the command line");
  }
  return kBadInput;
}

int run_command(const std::vector<Command>& commands) {
  try {
    for (const Command& command : commands) {
      if (!command.app->parsed()) continue;
      if (command.outputs != nullptr) command.outputs->check(*command.app);
      return command.run();
    }
  } catch (const Error& error) {
    return report(error);
  } catch (const std::bad_alloc&) {
    print_error(fmt::format("out of memory; the limit is {} bytes", limits().memory));
    print_context(advice_for("Limits.memory"));
    return kBadInput;
  } catch (const std::exception& error) {
    print_error(error.what());
    return kBadInput;
  }
  return kBadInput;
}

// Help and version arrive as exceptions too; they end with 0, every other parse error with 2.
int finish_parse(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  print_error(error.what());
  const auto chosen = app.get_subcommands();
  print_context(chosen.empty() ? "see octet --help"
                               : "see octet " + chosen.front()->get_name() + " --help");
  return kBadInput;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Octet: ONNX models and data in, verified INT8 engines out.", "octet");
  app.set_version_flag("--version", "octet " OCTET_VERSION);
  app.footer(kFooter);
  app.require_subcommand(1);
  const std::vector<Command> commands = {add_check(app), add_build(app), add_inspect(app),
                                         add_run(app),   add_eval(app),  add_compare(app),
                                         add_bench(app)};
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return finish_parse(app, error);
  }
  const int code = run_command(commands);
  if (std::fflush(stdout) != 0) {
    print_error("standard output could not be written");
    return kBadInput;
  }
  return code;
}

}  // namespace octet::cli

int main(int argc, char** argv) {
  // Beyond the limit of file sizes (ulimit -f) write() then fails, and the temporary file is removed.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return octet::cli::main(argc, argv);
  } catch (const std::bad_alloc&) {  // before a command runs, or while its error is told
    std::fputs("error: out of memory\n", stderr);
    return octet::cli::kBadInput;
  }
}
