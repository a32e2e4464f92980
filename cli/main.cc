// SPDX-License-Identifier: Apache-2.0
// The octet program: finds the subcommand, runs it, and turns every error into one message and an exit code.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "cli/advice.h"
#include "cli/command.h"
#include "cli/commands/completion.h"
#include "cli/commands/exec.h"
#include "cli/flags/plugin_flags.h"
#include "cli/output/messages.h"
#include "cli/output/outputs.h"
#include "cli/output/standard_files.h"
#include "cli/output/terminal.h"
#include "cli/process.h"
#include "cli/thread_doubt.h"
#include "cli/usage.h"
#include "octet/error.h"
#include "octet/json.h"
#include "octet/limits.h"
#include "octet/machine.h"
#include "octet/warm.h"
#include "tensorrt/trtexec/trtexec.h"

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

constexpr int kTrtexecFailed = 1;
constexpr const char* kLostOutput = "standard output could not be written";

// How main() answers an error: text on standard error, and with --json the same as an object on standard output, whose
// readers need not parse sentences.
class Failure {
 public:
  explicit Failure(bool json) : json_(json) {}

  int operator()(std::string_view code, std::string_view said,
                 std::vector<std::string> context) const {
    const std::string message = with_known_names(std::string(said));
    for (std::string& line : context) line = with_known_names(std::move(line));
    print_error(message);
    for (const std::string& line : context) print_context(line);
    if (json_ && !json_printed())
      print_object({{"error", {{"code", code}, {"message", message}, {"context", context}}}});
    return kBadInput;
  }

 private:
  static void print_object(const nlohmann::ordered_json& object) {
    try {
      print_json(object);
    } catch (const std::system_error&) {
      // Standard output cannot be written: main() sees that, too.
    }
  }

  bool json_;
};

int report(const Error& error, const CLI::App& command, const Failure& fail) {
  std::vector<std::string> context = error.context();
  const std::string_view advice = advice_for(error.field(), command);
  if (!advice.empty()) context.emplace_back(advice);
  if (error.code() == Error::Code::internal) {
    context.emplace_back(
        "this is a bug in Octet, not in your input; please report it with the command line");
  }
  return fail(code_name(error.code()), error.message(), context);
}

// What every command has.
struct Common {
  MessageOptions messages;
  std::vector<std::filesystem::path> plugins;
};

int run_command(const Command& command, const Common& common, const Failure& fail) {
  try {
    open_messages(common.messages);
    detail(fmt::format("octet {} {}, kernels up to {}", OCTET_VERSION, command.app->get_name(),
                       cpu_isa()));
    const auto start = std::chrono::steady_clock::now();
    if (const std::string doubt = doubt_of_threads(*command.app); !doubt.empty())
      print_warning(doubt);
    load_plugins(common.plugins);
    if (command.outputs != nullptr) command.outputs->check(*command.app);
    const int code = command.run();
    if (const std::string why = unkept_kernels(); !why.empty()) print_warning(why);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    detail(fmt::format("ended with {} after {}", code, human_seconds(took.count())));
    return code;
  } catch (const Error& error) {
    return report(error, *command.app, fail);
  } catch (const std::bad_alloc&) {
    return fail(code_name(Error::Code::out_of_memory),
                fmt::format("out of memory; the limit is {} bytes", limits().memory),
                {std::string(advice_for("Limits.memory", *command.app))});
  } catch (const std::system_error& error) {  // of files, too
    // A reader that has left knows it: there is nothing to say.
    if (std::ferror(stdout) != 0 && error.code().value() == EPIPE) return kBadInput;
    if (std::ferror(stdout) != 0)
      return fail(code_name(Error::Code::io), kLostOutput, {error.what()});
    return fail(code_name(Error::Code::io), error.what(), {});
  } catch (const std::exception& error) {
    return fail(code_name(Error::Code::internal), error.what(), {});
  }
}

int run_chosen(const std::vector<Command>& commands, const Common& common, const Failure& fail) {
  for (const Command& command : commands) {
    if (command.app->parsed()) return run_command(command, common, fail);
  }
  return kBadInput;
}

// Help and version arrive as exceptions too; they end with 0, every other parse error with 2.
int finish_parse(const CLI::App& app, const CLI::ParseError& error, const Failure& fail) {
  if (error.get_exit_code() == 0) return app.exit(error);
  const auto chosen = app.get_subcommands();
  const std::string help =
      chosen.empty() ? "see octet --help" : "see octet " + chosen.front()->get_name() + " --help";
  return fail("usage", usage_error(app, error), {help});
}

bool wants_json(std::span<char*> arguments) {
  return std::ranges::any_of(arguments, [](std::string_view text) { return text == "--json"; });
}

// Flags that have another name since, as older scripts call them.
struct FormerFlag {
  std::string_view command;  // empty: of all
  std::string_view former, name;
};
constexpr FormerFlag kFormerFlags[] = {{"", "--max-calib", "--max-samples"},
                                       {"bundle", "--count", "--max-samples"}};

std::string under_present_name(std::string_view command, std::string word) {
  for (const FormerFlag& flag : kFormerFlags) {
    if (!flag.command.empty() && flag.command != command) continue;
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    if (name == flag.former) word.replace(0, name.size(), flag.name);
  }
  return word;
}

// What the parser takes: the last word first, without the program's name.
std::vector<std::string> words_of(std::span<char*> arguments) {
  const std::string_view command = arguments.size() > 1 ? arguments[1] : "";
  std::vector<std::string> words;
  for (size_t i = arguments.size(); i-- > 1;)
    words.push_back(under_present_name(command, arguments[i]));
  return words;
}

}  // namespace

// The program under TensorRT's name, or the command of that name: their flags are none of CLI11's.
std::optional<int> as_trtexec(std::span<char* const> words) {
  if (words.empty()) return std::nullopt;
  const std::string program = words[0];
  if (program.substr(program.rfind('/') + 1) == "trtexec")
    return run_trtexec(program, words.subspan(1));
  if (words.size() < 2 || std::string_view(words[1]) != "trtexec") return std::nullopt;
  return run_trtexec(program + " trtexec", words.subspan(2));
}

int run_octet(int argc, char** argv) {
  CLI::App app("Octet: ONNX models and data in, verified INT8 engines out.", "octet");
  app.set_version_flag("--version", "octet " OCTET_VERSION);
  app.footer(kFooter);
  app.require_subcommand(1);
  std::vector<Command> commands = {
#define COMMAND(name) name##_cli::add(app),
#include "cli/commands.def"
#undef COMMAND
  };
  Common common;
  for (const Command& command : commands) {
    add_message_flags(*command.app, common.messages);
    add_plugin_flag(*command.app, common.plugins);
  }
  commands.push_back(add_trtexec(app));
  commands.push_back(add_exec(app));
  commands.push_back(add_help(app));
  commands.push_back(add_version(app));
  commands.push_back(add_completion(app));
  commands.push_back(add_manual(app));
  const Failure fail(wants_json({argv, static_cast<size_t>(argc)}));
  try {
    app.parse(words_of({argv, static_cast<size_t>(argc)}));
  } catch (const CLI::ParseError& error) {
    return finish_parse(app, error, fail);
  }
  return run_chosen(commands, common, fail);
}

int main(int argc, char** argv) {
  const std::span<char* const> words(argv, static_cast<size_t>(argc));
  if (const auto failed = as_exec(words)) return *failed;
  const auto other = as_trtexec(words);
  const int code = other ? *other : run_octet(argc, argv);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  const bool left = errno == EPIPE;
  const int failed = other ? kTrtexecFailed : kBadInput;
  // What went wrong before was told.
  if (code != failed && !left) print_error(kLostOutput);
  return failed;
}

}  // namespace octet::cli

int main(int argc, char** argv) {
  octet::cli::prepare_process();
  try {
    return octet::cli::main(argc, argv);
  } catch (const std::bad_alloc&) {  // before a command runs, or while its error is told
    octet::cli::write_to_stderr("error: out of memory\n");
  } catch (const std::exception& error) {
    octet::cli::write_to_stderr("error: ");
    octet::cli::write_to_stderr(error.what());
    octet::cli::write_to_stderr("\n");
  }
  return octet::cli::kBadInput;
}
