// SPDX-License-Identifier: Apache-2.0
// Measured choices of kernels: an optional cache beside the cost model. A choice never changes a bit of any result, for only kernels
// of equal results compete. measure_selection() makes the choices, a context that is given them takes them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace octet {

// Where a choice was measured, and for what: it holds there only.
struct TuningKey {
  std::string chip;   // of the device: cpu_identity()
  std::string level;  // which of its abilities are used: "avx2", "vnni", "amx"
  int threads = 1;
  std::string layer;  // operator, attributes, types and layouts; LayerInfo::signature

  auto tied() const { return std::tie(chip, level, threads, layer); }
  bool operator<(const TuningKey& other) const { return tied() < other.tied(); }
};

struct TunedKernel {
  std::string kernel;
  double microseconds = 0;  // as it was measured, for people
};

// How a layer's kernel was chosen among those that accepted it.
struct KernelChoice {
  enum class By : uint8_t { only, cost, order, tuning };  // only: no other accepted
  By by = By::only;
  std::string missing;  // the kernel that tuning names and that does not accept the layer any more
};

// "by cost", "by tuning", "by order; the tuned kernel X is not offered"; empty where there is nothing to say.
std::string to_string(const KernelChoice& choice);

class Tuning {
 public:
  // The tuned kernel, or null.
  const TunedKernel* find(const TuningKey& key) const;
  void set(const TuningKey& key, const TunedKernel& kernel) { kernels_[key] = kernel; }
  const std::map<TuningKey, TunedKernel>& kernels() const { return kernels_; }

 private:
  std::map<TuningKey, TunedKernel> kernels_;
};

// Vendor, family, model and stepping, and the name that the processor gives itself.
std::string cpu_identity();

// A small JSON file: {"format": "octet-tuning", "version": 2, "choices": [{"chip", "level", "threads", "layer", "kernel",
// "microseconds"}]}. Anything else throws Error(invalid_argument) naming the file and what is wrong in it; Error(io) when it cannot be read.
Tuning load_tuning(const std::filesystem::path& path);
Tuning tuning_from_json(std::string_view text, const std::string& file_name);
std::string to_json(const Tuning& tuning);
// Under a temporary name, then renamed.
void save_tuning(const Tuning& tuning, const std::filesystem::path& path);

}  // namespace octet
