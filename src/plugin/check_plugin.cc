// SPDX-License-Identifier: Apache-2.0
// octet plugin check: which checks there are, each in a process of its own.
#include "plugin/check_plugin.h"

#include <algorithm>
#include <sstream>

#include "core/check.h"
#include "core/file.h"
#include "plugin/check_process.h"
#include "plugin/check_run.h"
#include "plugin/elf_symbols.h"
#include "plugin/isolated.h"
#include "plugin/library.h"

namespace octet {
namespace {

struct CombinationCheck {
  const char* name;
  std::string (*run)(const CheckContext&);
};
constexpr CombinationCheck kCombinationChecks[] = {
    {"memory", check_memory},   {"results", check_results}, {"against reals", check_against_reals},
    {"layouts", check_layouts}, {"threads", check_threads}, {"leaks", check_leaks},
    {"process", check_process},
};

// For pointers of a device.
constexpr CombinationCheck kDeviceChecks[] = {
    {"memory", check_device_memory},
    {"results", check_results},
    {"against reals", check_against_reals},
    {"layouts", check_layouts},
    {"stream", check_stream},
    {"threads", check_streams},
    {"leaks", check_leaks},
};

struct OperatorCheck {
  const char* name;
  std::string (*run)(const PluginOp&, u64 seed);
};
constexpr OperatorCheck kOperatorChecks[] = {
    {"shapes", check_shapes}, {"attributes", check_attributes}, {"state", check_state}};

// What the parent knows of a combination: it never loads the library itself.
struct Row {
  size_t op, combination;
  std::string op_name, combination_name;
  bool on_host, has_reals, differs_from_reals;
};

std::string list_rows(const std::filesystem::path& library) {
  std::string text;
  note_stage("loading the library");
  const std::vector<Declaration> declarations = read_plugin(open_plugin(library));
  for (size_t o = 0; o < declarations.size(); ++o) {
    const Declaration& d = declarations[o];
    for (size_t c = 0; c < d.combinations.size(); ++c) {
      const PluginCombination& combination = d.combinations[c];
      const bool differs = d.reals() != nullptr && !combination.means_same(*d.reals());
      text += fmt::format("{} {} {} {} {:d} {:d} {:d}\n", o, c, d.full_name(), combination.name,
                          combination.device == OCTET_DEVICE_HOST, d.reals() != nullptr, differs);
    }
  }
  return text;
}

std::vector<Row> read_rows(const std::string& text) {
  std::vector<Row> rows;
  std::istringstream lines(text);
  for (Row row; lines >> row.op >> row.combination >> row.op_name >> row.combination_name >>
                row.on_host >> row.has_reals >> row.differs_from_reals;)
    rows.push_back(row);
  return rows;
}

class Checker {
 public:
  Checker(const std::filesystem::path& library, const PluginCheckOptions& options,
          const OpenCheckDevice& open_device)
      : library_(library), options_(options), open_device_(open_device) {}

  PluginCheck run() {
    const File readable(library_);  // a file that cannot be read is the caller's affair
    add({"", "", "declaration", false, false, ""}, [&] { return list_rows(library_); });
    PluginFinding& first = result_.findings.back();
    if (!first.passed) return std::move(result_);
    const std::vector<Row> rows = read_rows(first.message);
    first.message = fmt::format("{} combinations", rows.size());
    check_symbols();
    check_loading();
    if (open_device_ != nullptr) check_device(rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i == 0 || rows[i].op != rows[i - 1].op) check_operator(rows[i]);
      check_combination(rows[i]);
    }
    return std::move(result_);
  }

 private:
  template <class Body>
  void add(PluginFinding finding, const Body& body) {
    const Outcome outcome = in_child(body, options_.seconds);
    finding.passed = outcome.passed;
    finding.message = outcome.text;
    result_.findings.push_back(std::move(finding));
  }

  void skip(PluginFinding finding, const char* why) {
    finding.passed = finding.skipped = true;
    finding.message = why;
    result_.findings.push_back(std::move(finding));
  }

  void check_symbols() {
    std::string others;
    for (const std::string& name : exported_symbols(library_)) {
      if (name != OCTET_PLUGIN_ENTRY) others += (others.empty() ? "" : ", ") + name;
    }
    result_.findings.push_back(
        {"", "", "symbols", others.empty(), false,
         others.empty() ? "the entry alone" : "gives others the symbols " + others});
  }

  void check_loading() {
    add({"", "", "process", false, false, ""}, [&]() -> std::string {
      const ProcessState before;
      open_plugin(library_);
      before.hold("loading it");
      return "as it was before";
    });
  }

  void check_device(const std::vector<Row>& rows) {
    const PluginFinding named{"", "", "device", false, false, ""};
    if (std::ranges::all_of(rows, &Row::on_host))
      return skip(named, "no combination is for CUDA pointers");
    add(named, [&] { return open_device_()->name(); });
    has_device_ = result_.findings.back().passed;
  }

  // A fresh copy of the operator, in the child.
  std::unique_ptr<PluginOp> open(size_t op) const {
    return std::make_unique<PluginOp>(read_plugin(open_plugin(library_)).at(op));
  }

  void check_operator(const Row& row) {
    for (const OperatorCheck& check : kOperatorChecks) {
      add({row.op_name, "", check.name, false, false, ""},
          [&] { return check.run(*open(row.op), options_.seed); });
    }
    if (!row.has_reals)
      skip({row.op_name, "", "reals", false, false, ""},
           "no float evaluation: calibration and comparison need one");
  }

  void check_combination(const Row& row) {
    if (row.on_host) return run_checks(row, kCombinationChecks, nullptr);
    if (has_device_) return run_checks(row, kDeviceChecks, open_device_);
    skip({row.op_name, row.combination_name, "all", false, false, ""},
         open_device_ == nullptr ? "for CUDA pointers, and no device was named"
                                 : "for CUDA pointers, and the device cannot be used");
  }

  void run_checks(const Row& row, std::span<const CombinationCheck> checks,
                  const OpenCheckDevice& open_device) {
    for (const CombinationCheck& check : checks) {
      const bool against_reals = check.run == check_against_reals;
      if (against_reals && (!row.has_reals || (row.on_host && !row.differs_from_reals))) continue;
      add({row.op_name, row.combination_name, check.name, false, false, ""}, [&] {
        const auto op = open(row.op);
        const auto device = open_device != nullptr ? open_device() : nullptr;
        return check.run({*op, op->declaration.combinations.at(row.combination), options_.threads,
                          options_.seed, device.get()});
      });
    }
  }

  std::filesystem::path library_;
  PluginCheckOptions options_;
  OpenCheckDevice open_device_;  // null: none was named
  bool has_device_ = false;
  PluginCheck result_;
};

}  // namespace

bool PluginCheck::passed() const { return std::ranges::all_of(findings, &PluginFinding::passed); }

PluginCheck check_plugin(const std::filesystem::path& library, const PluginCheckOptions& options,
                         const OpenCheckDevice& open_device) {
  return Checker(library, options, open_device).run();
}

}  // namespace octet
