// SPDX-License-Identifier: Apache-2.0
// octet plugin check: which checks there are, each in a process of its own.
#include "plugin/check_plugin.h"

#include <algorithm>
#include <functional>
#include <sstream>

#include "core/check.h"
#include "core/file.h"
#include "plugin/check_process.h"
#include "plugin/check_trials.h"
#include "plugin/elf_symbols.h"
#include "plugin/evidence.h"
#include "plugin/isolated.h"
#include "plugin/library.h"

namespace octet {
namespace {

constexpr size_t kMostWords = 1 << 20;
// Checks whose results this process compares, too.
constexpr const char *kResults = "results", *kAgainstReals = "against reals", *kLayouts = "layouts";

struct CombinationCheck {
  const char* name;
  std::string (*run)(const CheckContext&);
};
constexpr CombinationCheck kCombinationChecks[] = {
    {"memory", check_memory},   {kResults, check_results},  {kAgainstReals, check_against_reals},
    {kLayouts, check_layouts},  {"threads", check_threads}, {"leaks", check_leaks},
    {"process", check_process},
};

// For pointers of a device.
constexpr CombinationCheck kDeviceChecks[] = {
    {"memory", check_device_memory},
    {kResults, check_results},
    {kAgainstReals, check_against_reals},
    {kLayouts, check_layouts},
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
  bool on_host, has_reals, differs_from_reals, commutes;
  size_t
      twin;  // the first combination for the same device and the same numbers: itself, where it is the first
};

size_t first_twin_of(const Declaration& d, size_t c) {
  const auto same = [&](const PluginCombination& other) {
    return other.device == d.combinations[c].device && other.means_same(d.combinations[c]);
  };
  return static_cast<size_t>(std::ranges::find_if(d.combinations, same) - d.combinations.begin());
}

std::string list_rows(const std::filesystem::path& library) {
  std::string text;
  note_stage("loading the library");
  const std::vector<Declaration> declarations = read_plugin(open_plugin(library));
  for (size_t o = 0; o < declarations.size(); ++o) {
    const Declaration& d = declarations[o];
    for (size_t c = 0; c < d.combinations.size(); ++c) {
      const PluginCombination& combination = d.combinations[c];
      const bool differs = d.reals() != nullptr && !combination.means_same(*d.reals());
      text += fmt::format("{} {} {} {} {:d} {:d} {:d} {:d} {}\n", o, c, d.full_name(),
                          combination.name, combination.device == OCTET_DEVICE_HOST,
                          d.reals() != nullptr, differs, d.commutes(), first_twin_of(d, c));
    }
  }
  return text;
}

std::vector<Row> read_rows(const std::string& text) {
  std::vector<Row> rows;
  std::istringstream lines(text);
  for (Row row; lines >> row.op >> row.combination >> row.op_name >> row.combination_name >>
                row.on_host >> row.has_reals >> row.differs_from_reals >> row.commutes >> row.twin;)
    rows.push_back(row);
  if (rows.empty()) fail(kWrong, "its process declares nothing");
  return rows;
}

ChildLimits child_limits(const PluginCheckOptions& options) {
  constexpr s64 kMostFile = s64{1} << 30;
  return {.seconds = options.seconds,
          .processor_seconds = options.seconds * (options.threads + 1),
          .memory = options.memory,
          .processes = 64,
          .file_bytes = kMostFile,
          .open_files = 4096};
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
    std::vector<Row> rows;
    judge(first, [&] {
      rows = read_rows(first.message);
      return fmt::format("{} combinations", rows.size());
    });
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
    const Outcome outcome = in_child(body, isolation(kMostWords));
    finding.passed = outcome.passed;
    finding.message = outcome.text;
    result_.findings.push_back(std::move(finding));
    hangs_ = !outcome.ended;
  }

  Isolation isolation(size_t most_text) const { return {child_limits(options_), most_text}; }

  // What only this process decides. `body` returns what is said where it does not throw.
  template <class Body>
  static void judge(PluginFinding& finding, const Body& body) {
    if (!finding.passed) return;
    try {
      finding.message = body();
    } catch (const Error& error) {
      finding.passed = false;
      finding.message = error.message();
    }
  }

  void skip(PluginFinding finding, const std::string& why) {
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
    const char* hung = nullptr;
    for (const OperatorCheck& check : kOperatorChecks) {
      PluginFinding finding{row.op_name, "", check.name, false, false, ""};
      if (hung != nullptr) {
        skip(std::move(finding), fmt::format("check '{}' had to be ended", hung));
        continue;
      }
      add(std::move(finding), [&] { return check.run(*open(row.op), options_.seed); });
      if (hangs_) hung = check.name;
    }
    if (!row.has_reals)
      skip({row.op_name, "", "reals", false, false, ""},
           "no float evaluation: calibration and comparison need one");
  }

  using Use = std::function<std::string(const CheckContext&)>;

  // In a child, where the library is loaded.
  std::string use(const Row& row, const Use& body) const {
    const auto op = open(row.op);
    const auto device = row.on_host ? nullptr : open_device_();
    return body({*op, op->declaration.combinations.at(row.combination), options_.threads,
                 options_.seed, device.get()});
  }

  // What the combination computes in a process of its own, for this one to compare.
  Evidence evidence_of(const Row& row, const Use& record) const {
    const Outcome outcome = in_child([&] { return use(row, record); }, isolation(kMostEvidence));
    if (!outcome.passed) fail(kWrong, "in another process: {}", outcome.text);
    return read_evidence(outcome.text);
  }

  Evidence outputs_of(const Row& row, std::byte poison) const {
    return evidence_of(
        row, [&](const CheckContext& context) { return record_outputs(context, poison); });
  }

  // A library that passes in its own process is run in others, where nobody asks it how that went.
  void judge_results(const Row& row, PluginFinding& finding) {
    const std::byte poison{0xa5}, other{0x5a};
    if (finding.check == kResults) {
      judge(finding, [&] {
        outputs_ = outputs_of(row, poison);
        same_evidence(outputs_, outputs_of(row, other), "changes from process to process");
        return finding.message + ", and in two other processes";
      });
    } else if (finding.check == kAgainstReals) {
      judge(finding, [&] {
        if (outputs_.empty()) outputs_ = outputs_of(row, poison);
        hold_to_reals(outputs_, evidence_of(row, record_reals), row.commutes);
        return finding.message;
      });
    } else if (finding.check == kLayouts && row.twin != row.combination) {
      judge(finding, [&] {
        if (outputs_.empty()) outputs_ = outputs_of(row, poison);
        Row twin = row;
        twin.combination = row.twin;
        same_evidence(outputs_, outputs_of(twin, poison),
                      "differs from that of a combination of the same numbers");
        return finding.message;
      });
    }
  }

  void check_combination(const Row& row) {
    if (row.on_host) return run_checks(row, kCombinationChecks);
    if (has_device_) return run_checks(row, kDeviceChecks);
    skip({row.op_name, row.combination_name, "all", false, false, ""},
         open_device_ == nullptr ? "for CUDA pointers, and no device was named"
                                 : "for CUDA pointers, and the device cannot be used");
  }

  // One that had to be ended once would have to be at each check.
  void run_checks(const Row& row, std::span<const CombinationCheck> checks) {
    outputs_.clear();
    const char* hung = nullptr;
    for (const CombinationCheck& check : checks) {
      const bool against_reals = check.run == check_against_reals;
      if (against_reals && (!row.has_reals || (row.on_host && !row.differs_from_reals))) continue;
      PluginFinding finding{row.op_name, row.combination_name, check.name, false, false, ""};
      if (hung != nullptr) {
        skip(std::move(finding), fmt::format("check '{}' had to be ended", hung));
        continue;
      }
      add(std::move(finding), [&] { return use(row, check.run); });
      judge_results(row, result_.findings.back());
      if (hangs_) hung = check.name;
    }
  }

  std::filesystem::path library_;
  PluginCheckOptions options_;
  OpenCheckDevice open_device_;  // null: none was named
  bool has_device_ = false;
  bool hangs_ = false;  // the last check had to be ended
  Evidence outputs_;    // of the combination that is checked
  PluginCheck result_;
};

}  // namespace

bool PluginCheck::passed() const { return std::ranges::all_of(findings, &PluginFinding::passed); }

PluginCheck check_plugin(const std::filesystem::path& library, const PluginCheckOptions& options,
                         const OpenCheckDevice& open_device) {
  return Checker(library, options, open_device).run();
}

}  // namespace octet
