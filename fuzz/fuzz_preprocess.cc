// SPDX-License-Identifier: Apache-2.0
// Any text as a preprocessing file, as what makers leave beside a model, and as what an engine keeps of its calibration's inputs. What is
// accepted is written and read back equal, and applied to a small image.
#include "core/bounded_json.h"
#include "data/preprocess.h"
#include "fuzz/fuzz.h"
#include "preprocess/found_preprocess.h"
#include "preprocess/profile_json.h"

namespace octet::fuzz {
namespace {

void apply(const Preprocess& preprocess) {
  const TensorType input{Dtype::f32, {1, 3, 5, 4}};
  Image image{5, 4, 3, std::vector<u8>(5 * 4 * 3, 100)};
  preprocess_image(image, resolve_preprocess(preprocess, input, "x"), "fuzz");
}

void run_found(const std::string& text) {
  for (const auto read : {&found_in_hugging_face, &found_in_timm}) {
    survives([&] {
      if (const auto found = read(text, "found.json")) apply(found->preprocess);
    });
  }
  if (const auto found = found_in_metadata({{"task", text}, {"stride", "32"}, {"imgsz", text}}))
    survives([&] { apply(found->preprocess); });
}

void run_profiles(const std::string& text) {
  const OrderedJsonTree tree = parse_bounded_json(text, "fuzz.json", 8);
  const auto profiles = profiles_from_json(tree.value, "fuzz.json");
  if (!(profiles_from_json(profiles_json(profiles), "written.json") == profiles))
    found("profiles do not read back equal");
}

void run(const std::string& text) {
  const Preprocess preprocess = preprocess_from_json(text, "fuzz.json");
  const std::string written = to_json(preprocess);
  if (!(preprocess_from_json(written, "written.json") == preprocess)) found(written.c_str());
  Image image{5, 4, 3, std::vector<u8>(5 * 4 * 3, 100)};
  preprocess_image(image, preprocess, "fuzz");
}

void test_one(const Input& input) {
  const std::string text(input.text());
  survives([&] { run(text); });
  survives([&] { run_profiles(text); });
  run_found(text);
}

}  // namespace

const Target kTarget{.memory = s64{4} << 20, .run = test_one};

}  // namespace octet::fuzz
