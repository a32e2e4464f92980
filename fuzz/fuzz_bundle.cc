// SPDX-License-Identifier: Apache-2.0
// Any bytes as a case, whose part the first byte chooses: the archive, its case.json, or what an engine says of its making. Texts that are
// accepted are written and read back equal.
#include "fuzz/fuzz.h"
#include "inspect/cases/case_json.h"

namespace octet::fuzz {
namespace {

void read_archive(std::string_view text) {
  static MemoryFile file("fuzz.zip");
  file.assign({reinterpret_cast<const u8*>(text.data()), text.size()});
  const Case read = load_case(file.path());
  for (const CaseRun& run : read.runs) {
    if (run.inputs.size() != read.inputs.size() || run.outputs.size() != read.outputs.size())
      found("a run lacks tensors");
  }
  missing_for_build(read);
}

std::string written_again(std::string_view text) {
  Case read;
  CaseFiles files;
  read_case_json(text, "case.json", read, files);
  return write_case_json(read, files);
}

void read_text(std::string_view text) {
  const std::string written = written_again(text);
  if (written_again(written) != written) found("a case that reads back different");
}

void read_provenance(std::string_view text) {
  const std::string written = to_json(provenance_from_json(text, "fuzz.json"));
  if (to_json(provenance_from_json(written, "again.json")) != written)
    found("a provenance that reads back different");
}

void run(u8 kind, std::string_view text) {
  switch (kind % 3) {
    case 0:
      return read_archive(text);
    case 1:
      return read_text(text);
    default:
      return read_provenance(text);
  }
}

void test_one(const Input& input) {
  survives_kind(input, [](u8 kind, const Input& rest) { run(kind, rest.text()); });
}

}  // namespace

const Target kTarget{.memory = s64{64} << 20, .run = test_one};

}  // namespace octet::fuzz
