// SPDX-License-Identifier: Apache-2.0
#include "cli/output/outputs.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <system_error>

#include "cli/fail.h"
#include "cli/output/output_inputs.h"
#include "cli/output/output_names.h"
#include "cli/output/standard_files.h"
#include "octet/input.h"
#include "octet/npz.h"
#include "octet/output.h"

namespace octet::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

struct Format {
  OutputKind kind;
  const char* what;
  std::string_view begins;              // as its writer begins it
  size_t any = std::string_view::npos;  // where in `begins` any byte may stand
  // Of the first file in an archive: how its name ends.
  std::string_view first = {};
};

// Stored, its name in UTF-8, midnight of 1980-01-01: archives of NumPy begin otherwise.
constexpr std::string_view kArchive = "PK\x03\x04\x14\x00\x00\x08\x00\x00\x00\x00\x21\x00"sv;
constexpr size_t kNameBytes = 26,
                 kName = 30;  // where an archive holds the length of that name, and itself

constexpr Format kFormats[] = {
    {OutputKind::engine, "an engine", "OCTETENG"sv},
    {OutputKind::report, "a report of Octet",
     "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
     "<meta name=\"generator\" content=\"octet\">"sv},
    {.kind = OutputKind::arrays,
     .what = "an archive of arrays that Octet wrote",
     .begins = kArchive,
     .first = ".npy"sv},
    {.kind = OutputKind::bundle,
     .what = "a case that Octet bundled",
     .begins = kArchive,
     .first = "case.json"sv},
    // Its writer reads what is there, keeps it, and refuses anything else: any JSON of that kind will do.
    {OutputKind::tuning, "a tuning file", ""sv},
    // One that exists is read, and never written.
    {OutputKind::cache, "a calibration cache", ""sv},
    {OutputKind::journal, "a journal of Octet", "octet-journal 1\n"sv},
    {OutputKind::runs, "a list of runs", "{\"format\":\"octet-runs\""sv},
    {OutputKind::trace, "a trace of octet bench", "{\"otherData\":{\"version\":"sv},
    {OutputKind::fresh_cache, "a calibration cache", "TRT-"sv},
    // TensorRT's own trtexec begins them so, too.
    {OutputKind::records, "a list that trtexec wrote", "[\n  { \""sv},
    {OutputKind::layers, "a list of layers that trtexec wrote", "{\"Layers\": ["sv},
    // Named after the tensor, its sizes and its type.
    {OutputKind::raw, "elements of a tensor", ""sv},
    // The version of the format, then the producer.
    {OutputKind::onnx, "a model that Octet exported", "\x08\x08\x12\x05octet"sv, 1},
};

const Format& format_of(OutputKind kind) {
  return *std::find_if(std::begin(kFormats), std::end(kFormats),
                       [&](const Format& format) { return format.kind == kind; });
}

std::string_view first_name(std::string_view archive) {
  if (archive.size() < kName) return {};
  const auto byte = [&](size_t at) {
    return static_cast<size_t>(static_cast<uint8_t>(archive[at]));
  };
  return archive.substr(kName, byte(kNameBytes) | byte(kNameBytes + 1) << 8);
}

bool is_of(const Format& format, std::string begins) {
  if (format.any < begins.size()) begins[format.any] = format.begins[format.any];
  return begins.starts_with(format.begins) && first_name(begins).ends_with(format.first);
}

// A file of no bytes holds nothing that could be lost.
void check_ours(const std::string& flag, const fs::path& target, OutputKind kind) {
  constexpr size_t kLongestBeginning = kName + 0xffff;
  const Format& format = format_of(kind);
  const auto begins = read_beginning(target, kLongestBeginning);
  if (!begins) fail(Error::Code::io, "'{}': cannot look at what is there", target.string());
  if (!begins->empty() && !is_of(format, *begins)) {
    fail(Error::Code::invalid_argument,
         "{} '{}' is a file already, and not {}; name another, or replace it with --force", flag,
         target.string(), format.what);
  }
  const fs::perms write = fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;
  if ((fs::status(target).permissions() & write) == fs::perms::none) {
    fail(Error::Code::invalid_argument,
         "{} '{}' is write-protected; name another file, or replace it with --force", flag,
         target.string());
  }
}

// Both exist and are one file, or would be.
bool same_place(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::exists(a, error) && fs::exists(b, error)) return fs::equivalent(a, b, error);
  const auto whole = [&](const fs::path& path) {
    return fs::weakly_canonical(fs::absolute(path, error), error);
  };
  return whole(a) == whole(b);
}

// Whoever reads it there wants nothing else in it.
void check_standard(const CLI::App& app, const std::string& flag, OutputKind kind) {
  if (kind == OutputKind::tuning || kind == OutputKind::cache || kind == OutputKind::journal) {
    fail(Error::Code::invalid_argument, "{} -: this file is read before it is written; name one",
         flag);
  }
  const CLI::Option* json = app.get_option_no_throw("--json");
  if (json != nullptr && json->count() > 0) {
    fail(Error::Code::invalid_argument, "{} - and --json both write to standard output", flag);
  }
}

}  // namespace

const fs::path& checked_path(const Output& output) {
  if (!output.checked_ || !output.given()) {
    fail(Error::Code::internal, "output {} was not checked", output.flag_);
  }
  return output.path_;
}

Output& Outputs::add_flag(CLI::App& app, const OutputFlag& flag) {
  if (outputs_.empty())
    app.add_flag("--force", force_, "replace files that Octet did not write, too");
  Output& output = outputs_.emplace_back();
  output.kind_ = flag.kind;
  output.option_ = app.add_option(flag.names, output.path_, flag.help)->type_name(flag.type);
  output.flag_ = flag_name(*output.option_);
  return output;
}

void Outputs::set_default(Output& output, std::function<fs::path()> path) {
  output.default_path_ = std::move(path);
}

void Outputs::check(const CLI::App& app) {
  std::set<const CLI::Option*> flags;
  std::vector<std::pair<const Output*, fs::path>> targets;
  for (Output& output : outputs_) {
    flags.insert(output.option_);
    if (output.option_->count() > 0 && !output.given())
      fail(Error::Code::invalid_argument, "{} names no file", output.flag_);
    if (!output.given() && output.default_path_) output.path_ = output.default_path_();
    output.checked_ = true;
    if (!output.given()) continue;
    if (output.is_standard()) check_standard(app, output.flag_, output.kind_);
    targets.emplace_back(&output,
                         output.is_standard() ? output.path_ : output_target(output.path_));
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto& [output, target] = targets[i];
    for (size_t j = 0; j < i; ++j) {
      if (!same_place(target, targets[j].second)) continue;
      fail(Error::Code::invalid_argument, "{} and {} are one file, '{}'; name two",
           targets[j].first->flag_, output->flag_, output->path_.string());
    }
    if (output->is_standard()) {
      take_standard_output(output->flag_);
    } else {
      check_existing(*output, target, app, flags);
      check_extension(output->flag_, output->path_, output->kind_);
    }
  }
}

void Outputs::check_existing(const Output& output, const fs::path& target, const CLI::App& app,
                             const std::set<const CLI::Option*>& flags) const {
  std::error_code error;
  if (!fs::exists(target, error)) return;
  if (const auto input = input_that_is(target, app, flags)) {
    fail(Error::Code::invalid_argument,
         "{} '{}' would replace what this command reads: {}; name another file", output.flag_,
         output.path_.string(), *input);
  }
  if (!force_) check_ours(output.flag_, target, output.kind_);
}

namespace {

// `save` writes the file that it is given.
template <class Save>
void write_by(const Output& to, const Save& save) {
  if (!to.is_standard()) return save(checked_path(to));
  const ScratchFile scratch;
  save(scratch.path());
  write_standard_output(scratch.path());
}

}  // namespace

void write(const Output& to, const Engine& engine) {
  write_by(to, [&](const fs::path& path) { engine.save(path); });
}

void write(const Output& to, const ReportInput& report) {
  write_by(to, [&](const fs::path& path) { save_report(report, path); });
}

void write(const Output& to, std::span<const std::pair<std::string, Tensor>> arrays) {
  write_by(to, [&](const fs::path& path) { write_npz(path, arrays); });
}

void write(const Output& to, const CalibrationCache& cache) {
  save_calibration_cache(cache, checked_path(to));
}

void write(const Output& to, const Case& bundled) {
  write_by(to, [&](const fs::path& path) { save_case(bundled, path); });
}

void write(const Output& to, std::span<const std::byte> bytes) {
  write_by(to, [&](const fs::path& path) { write_bytes(bytes, path); });
}

void write(const Output& to, const Tuning& tuning) { save_tuning(tuning, checked_path(to)); }

void write_lines(const Output& to, std::string_view text) { write_text(text, checked_path(to)); }

void write(const Output& to, const nlohmann::ordered_json& object) {
  write_by(to, [&](const fs::path& path) {
    write_text(object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n",
               path);
  });
}

}  // namespace octet::cli
