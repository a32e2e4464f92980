// SPDX-License-Identifier: Apache-2.0
// Any graph text, then after a NUL byte any blobs, as an engine of right checksums: loaded, planned and run.
#include "fuzz/bounded_run.h"
#include "runtime/engine_file.h"
#include "runtime/forge_testing.h"

namespace octet::fuzz {
namespace {

constexpr std::string_view kManifest =
    R"({"calibration_samples":0,"producer":"","range_method":"","source":""})";

void run(std::string_view text) {
  const size_t end = std::min(text.find('\0'), text.size());
  const std::string_view blobs = text.substr(std::min(end + 1, text.size()));
  const std::vector<std::byte> file = test::forge(kManifest, text.substr(0, end), blobs);
  plan_and_run(std::make_shared<const Model>(read_engine(test::exact_copy(file), file.size())));
}

void test_one(const Input& input) {
  survives([&] { run(input.text()); });
}

}  // namespace

const Target kTarget{.memory = s64{1} << 20, .run = test_one};

}  // namespace octet::fuzz
