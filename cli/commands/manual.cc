// SPDX-License-Identifier: Apache-2.0
// Pages for man(1), made of the same tables as the help.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>

#include "cli/commands/completion.h"
#include "cli/commands/describe.h"
#include "cli/fail.h"
#include "octet/closest.h"

namespace octet::cli {
namespace {

// Text that roff takes as it is: no control lines, no escapes, hyphens that can be copied.
std::string roff(std::string_view text) {
  std::string out;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
    line_begins = c == '\n';
  }
  return out;
}

std::string title(const std::string& name) {
  std::string upper = name;
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return fmt::format(".TH {} 1 \"\" \"octet {}\" \"User Commands\"\n", upper, OCTET_VERSION);
}

std::string rows(const CommandInfo& command) {
  std::string positionals, flags;
  for (const FlagInfo& flag : command.flags) {
    const std::string row =
        fmt::format(".TP\n\\fB{}\\fR{}\n{}\n", roff(fmt::format("{}", fmt::join(flag.names, ", "))),
                    flag.value.empty() ? "" : " \\fI" + roff(flag.value) + "\\fR", roff(flag.help));
    (flag.positional ? positionals : flags) += row;
  }
  return (positionals.empty() ? "" : ".SH ARGUMENTS\n" + positionals) + ".SH OPTIONS\n" + flags;
}

std::string synopsis(const CommandInfo& command) {
  std::string line = fmt::format(".B octet {}\n[\\fIOPTIONS\\fR]", command.name);
  for (const FlagInfo& flag : command.flags) {
    if (flag.positional)
      line += " \\fI" + roff(flag.value.empty() ? flag.names[0] : flag.value) + "\\fR";
  }
  return line + "\n";
}

// The footer holds examples, whose lines stay lines.
std::string notes(const std::string& footer) {
  return footer.empty() ? "" : ".SH NOTES\n.nf\n" + roff(footer) + "\n.fi\n";
}

std::string page_of(const CommandInfo& command) {
  return title("octet-" + command.name) +
         fmt::format(".SH NAME\noctet\\-{} \\- {}\n.SH SYNOPSIS\n", command.name,
                     roff(command.help)) +
         synopsis(command) + rows(command) + notes(command.footer) +
         ".SH SEE ALSO\n.BR octet (1)\n";
}

std::string main_page(const CLI::App& program) {
  const CommandInfo whole = describe(program);
  std::string page = title("octet") +
                     ".SH NAME\noctet \\- ONNX models and data in, verified INT8 engines out\n" +
                     ".SH SYNOPSIS\n.B octet\n\\fICOMMAND\\fR [\\fIOPTIONS\\fR]\n.SH COMMANDS\n";
  std::string others;
  for (const CommandInfo& command : describe_commands(program)) {
    page += fmt::format(".TP\n\\fB{}\\fR\n{}\n", command.name, roff(command.help));
    others += fmt::format("{}.BR octet\\-{} (1)", others.empty() ? "" : ",\n", command.name);
  }
  return page + rows(whole) + notes(whole.footer) + ".SH SEE ALSO\n" + others + "\n";
}

int print_page(const CLI::App& program, const std::string& topic) {
  if (topic.empty()) {
    fmt::print("{}", main_page(program));
    return kDone;
  }
  std::vector<std::string> names;
  for (const CommandInfo& command : describe_commands(program)) {
    names.push_back(command.name);
    if (command.name != topic) continue;
    fmt::print("{}", page_of(command));
    return kDone;
  }
  fail(Error::Code::invalid_argument, "no command '{}'{}", topic, did_you_mean(topic, names));
}

}  // namespace

Command add_manual(CLI::App& parent) {
  auto topic = std::make_shared<std::string>();
  CLI::App* app = parent.add_subcommand("manual", "Print the page of a command for man(1)");
  app->footer("  octet manual build | man -l -\n");
  app->add_option("command", *topic, "name of a command; without one, the page of the program")
      ->type_name("COMMAND");
  return {app, [topic, &parent] { return print_page(parent, *topic); }};
}

}  // namespace octet::cli
