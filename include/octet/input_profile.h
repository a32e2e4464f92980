// SPDX-License-Identifier: Apache-2.0
// What a network's inputs look like as it sees them: kept by an engine from its calibration, and held against the data of later runs.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "octet/engine.h"

namespace octet {

struct ChannelProfile {
  double min = 0;
  double max = 0;
  double mean = 0;  // of the samples' means
  double deviation = 0;
  bool operator==(const ChannelProfile&) const = default;
};

// Equal for the same samples in any order.
struct InputProfile {
  std::string input;
  int64_t samples = 0;                        // 0: nothing is known of the values
  std::vector<ChannelProfile> channels = {};  // of an image's channels, else one; empty: no numbers
  // Of images of three channels: how much the differences between neighbors in memory depend on their place modulo three, from 0 to 1.
  // Near 0 where each channel lies by itself, and not where pixels do.
  double interleaving = 0;
  bool operator==(const InputProfile&) const = default;
};

// The real values that the codes of an input stand for; what lies beyond is clipped.
struct CodeSpan {
  double min = 0;
  double max = 0;
};

// What an engine knows of its inputs.
struct KnownInputs {
  std::vector<TensorInfo> infos;
  // What calibration saw, one for each input; empty where the engine does not know: it saw none, or an older Octet built it.
  std::vector<InputProfile> calibrated = {};
  // One for each input; nothing where it is not quantized as it comes.
  std::vector<std::optional<CodeSpan>> codes = {};
};
KnownInputs known_inputs(const Engine& engine);

// Collects profiles, and counts values that an engine's codes clip.
class InputWatch {
 public:
  explicit InputWatch(KnownInputs known);
  ~InputWatch();
  InputWatch(InputWatch&&) noexcept;
  InputWatch& operator=(InputWatch&&) noexcept;

  // One tensor for each input, of one sample or of several.
  void add(std::span<const Tensor> sample);

  std::vector<InputProfile> profiles() const;
  struct Clipped {
    std::string input;
    int64_t elements = 0;
    int64_t clipped = 0;  // beyond the codes' span
    double min = 0, max = 0;
    CodeSpan codes;
  };
  // Of the inputs that have codes.
  std::vector<Clipped> clipped() const;

 private:
  friend struct InputWatchParts;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A number for each channel, or one for all: value * factor + offset.
struct ChannelMap {
  std::vector<double> factor = {1};
  std::vector<double> offset = {0};
};

// Steps of preprocessing that are to be other than they are; what is empty stays.
struct PreprocessChange {
  std::optional<float> scale = std::nullopt;
  std::vector<float> mean = {};
  std::vector<float> std = {};
  std::optional<Preprocess::Color> color = std::nullopt;
  bool empty() const { return !scale && mean.empty() && std.empty() && !color; }
};

// A difference between data and calibration that no data of the same preprocessing have.
struct InputDoubt {
  enum class Cause {
    scaled_twice,
    not_scaled,
    wrong_mean,
    bgr,
    layout,
    beyond,        // far outside, or next to no contrast, for no reason that is known
    unlike_codes,  // the codes of the input reach much farther than the data, or less far
  };
  Cause cause = Cause::beyond;
  size_t input = 0;
  std::string name = {};  // of the input
  std::string text = {};  // one sentence
  // What brings the tensor near calibration, and the preprocessing that does so; nothing where none does.
  std::optional<ChannelMap> repair = std::nullopt;
  bool reverse_channels = false;
  PreprocessChange change = {};
};
std::string_view to_string(InputDoubt::Cause cause);

// How the data were prepared, and what the engine remembers.
struct InputHistory {
  bool photos = false;
  std::optional<Preprocess> applied = std::nullopt;  // nothing: arrays as they are
  std::optional<Preprocess> remembered = std::nullopt;
};

// Holds what was seen against calibration. Natural data of another kind (dark, of one class, few) raise no doubt.
std::vector<InputDoubt> doubts_about(const KnownInputs& known, std::span<const InputProfile> seen,
                                     const InputHistory& history);

// Other preparations of the same data, to be tried where the answers are known: the channels in the opposite order, if the colors make
// that possible or answers are mostly wrong; and those of families of models where the engine does not know its own.
std::vector<InputDoubt> other_preparations(const KnownInputs& known,
                                           std::span<const InputProfile> seen,
                                           const InputHistory& history, bool mostly_wrong);
// The tensor as `doubt` wants it.
Tensor repaired(const Tensor& tensor, const InputDoubt& doubt);

}  // namespace octet
