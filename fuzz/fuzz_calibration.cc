// SPDX-License-Identifier: Apache-2.0
// Any bytes as calibration data: one file whose kind the first byte chooses (.npz, .npy, .png in a class folder), opened,
// validated, read sample by sample, and its ranges estimated.
#include <fstream>

#include "calibrate/histogram.h"
#include "calibrate/range.h"
#include "fuzz/fuzz.h"
#include "octet/data.h"

namespace octet::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr s64 kMaxSamples = 16;

// Folders that go when the process ends in good order; each holds one file that every input rewrites.
class Folders {
 public:
  Folders() {
    std::string name = (fs::temp_directory_path() / "octet_fuzz_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) found("no temporary folder");
    root_ = name;
    for (const char* folder : {"npz", "npy", "image/class"}) fs::create_directories(root_ / folder);
  }
  ~Folders() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }

  fs::path write(const char* name, std::span<const u8> bytes) const {
    std::ofstream file(root_ / name, std::ios::binary | std::ios::trunc);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    return root_ / name;
  }
  fs::path root() const { return root_; }

 private:
  fs::path root_;
};

DataOptions options_for(u8 kind, std::span<const u8> bytes) {
  static const Folders folders;
  DataOptions options;
  options.max_samples = kMaxSamples;
  options.skip_bad = (kind & 4) != 0;
  switch (kind & 3) {
    case 0:
      options.data = folders.write("npz/data.npz", bytes);
      break;
    case 1:
      options.data = folders.write("npz/data.npz", bytes).string() + ":a[0:3]";
      break;
    case 2:
      folders.write("npy/0.npy", bytes);
      options.data = folders.root() / "npy";
      break;
    default:
      folders.write("image/class/0.png", bytes);
      options.data = folders.root() / "image";
  }
  return options;
}

void run(u8 kind, std::span<const u8> bytes) {
  const DataOptions options = options_for(kind, bytes);
  const bool image = (kind & 3) == 3;
  const std::vector<TensorInfo> inputs = {
      {"a", {Dtype::f32, image ? Shape{1, 3, 8, 8} : Shape{Shape::kDynamic, 4}}}};
  DataSource data = DataSource::open(options, inputs);
  data.validate();
  Histogram histogram;
  for (s64 i = 0; i < data.size(); ++i) {
    for (const Tensor& tensor : data.sample(i)) histogram.observe(tensor.as<f32>());
  }
  survives([&] { estimate_range(histogram, RangeRule::minmax, "a"); });
  // Thousands of searches over the histogram: for some inputs only.
  if ((kind & 8) != 0) survives([&] { estimate_range(histogram, RangeRule::entropy, "a"); });
}

void test_one(const Input& input) {
  survives_kind(input, [](u8 kind, const Input& rest) { run(kind, rest.octets()); });
}

}  // namespace

const Target kTarget{.memory = s64{16} << 20, .run = test_one};

}  // namespace octet::fuzz
