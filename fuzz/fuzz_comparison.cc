// SPDX-License-Identifier: Apache-2.0
// Any bytes as tolerances, one a line, and as a file of saved outputs.
#include <sstream>

#include "fuzz/fuzz.h"
#include "octet/output_comparison.h"
#include "octet/saved_outputs.h"
#include "octet/tolerances.h"

namespace octet::fuzz {
namespace {

const std::vector<std::string> kNames = {"a", "b:0"};

void read_tolerances(const std::string& text) {
  ToleranceTexts texts;
  std::vector<std::string>* const lists[] = {&texts.absolute, &texts.relative, &texts.statistics,
                                             &texts.quantiles};
  std::istringstream lines(text);
  size_t i = 0;
  for (std::string line; std::getline(lines, line); ++i) lists[i % 4]->push_back(line);
  for (const Tolerance& tolerance : parse_tolerances(texts, kNames)) {
    if (!tolerance.passes(0, 0)) found("a tolerance that no error meets");
  }
}

// What is read is compared with itself.
void read_outputs(std::span<const u8> bytes) {
  static MemoryFile file("fuzz.npz");
  file.assign(bytes);
  const std::vector<TensorInfo> infos = {{"a", {Dtype::f32, {1, 2}}},
                                         {"b:0", {Dtype::f32, {Shape::kDynamic, 3}}}};
  const SavedOutputs saved = SavedOutputs::read(file.path(), infos, 2);
  OutputComparer comparer(kNames, {.equal_infinities = true, .top = 2});
  for (s64 i = 0; i < 2; ++i) comparer.add("sample", saved.sample(i), saved.sample(i));
  for (const OutputComparison& output : comparer.outputs()) {
    if (output.beyond != output.tested.nan) found("outputs that differ from themselves");
  }
}

void test_one(const Input& input) {
  survives([&] { read_tolerances(std::string(input.text())); });
  survives([&] { read_outputs(input.octets()); });
}

}  // namespace

const Target kTarget{.memory = s64{16} << 20, .run = test_one};

}  // namespace octet::fuzz
