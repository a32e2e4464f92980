// SPDX-License-Identifier: Apache-2.0
// Data that cannot have been prepared as those of calibration were. The evidence is exact: photos have black and white in them, so the
// ends of the values' ranges tell how they were prepared, whatever is to be seen.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/pixel_map.h"
#include "data/preprocess.h"

namespace octet {
namespace {

using Cause = InputDoubt::Cause;

constexpr s64 kSeveral = 4;
// Values of one preparation keep to its span; rounding and resampling move them a little.
constexpr f64 kInside = 0.02;
constexpr f64 kFarOutside = 0.25;
// Half of all shades of gray: so many have all but the darkest photos, and a hundredth nothing has but what was scaled twice.
constexpr f64 kUsualContrast = 0.5;
constexpr f64 kNoContrast = 1.0 / 64;
// Ends that agree so well are no accident, in three channels.
constexpr f64 kExact = 2e-3;
// Maps that differ less are one for all that an engine cares: /240 and /255, say.
constexpr f64 kSameMap = 0.1;
// Of what is no image nothing is known but its calibration.
constexpr f64 kFarBeyond = 4;
// Where pixels lie beside each other, and where channels do: means over several images, and one alone.
constexpr f64 kPlanar = 0.15, kPlanarOne = 0.05;
constexpr f64 kInterleaved = 0.35, kInterleavedOne = 0.5;
// Codes that reach so much farther than the data, or so much less far, were not chosen for them.
constexpr f64 kCodesUsed = 0.6;
constexpr f64 kNearReach = 0.06;

bool is_real(Dtype dtype) {
  return dtype == Dtype::f32 || dtype == Dtype::f64 || dtype == Dtype::f16 || dtype == Dtype::bf16;
}

bool all_finite(const InputProfile& profile) {
  return std::ranges::all_of(profile.channels, [](const ChannelProfile& channel) {
    return std::isfinite(channel.min) && std::isfinite(channel.max);
  });
}

std::string span_text(const InputProfile& profile) {
  f64 low = profile.channels[0].min, high = profile.channels[0].max;
  for (const ChannelProfile& channel : profile.channels) {
    low = std::min(low, channel.min);
    high = std::max(high, channel.max);
  }
  return fmt::format("{:.4g} to {:.4g}", low, high);
}

// A way that values may have come about, by mistake.
struct Mistake {
  Cause cause;
  const char* what;  // "scaled twice"
  PixelMap map;
};

Preprocess with_scale(Preprocess p, f32 scale) {
  p.scale = scale;
  return p;
}
Preprocess without_mean(Preprocess p) {
  p.mean.clear();
  return p;
}
Preprocess without_std(Preprocess p) {
  p.std.clear();
  return p;
}
Preprocess only_scale(Preprocess p) { return without_std(without_mean(std::move(p))); }

// The preparation once more, on what it made.
PixelMap twice(const PixelMap& once) {
  PixelMap map = once;
  for (size_t c = 0; c < map.channels(); ++c) {
    map.offset[c] += map.factor[c] * map.offset[c];
    map.factor[c] *= map.factor[c];
  }
  return map;
}

std::vector<Mistake> mistakes_around(const PixelMap& right) {
  const Preprocess& p = right.numbers;
  const auto made = [&](const Preprocess& wrong) { return map_of(wrong, right.channels(), ""); };
  std::vector<Mistake> list = {
      {Cause::scaled_twice, "prepared twice", twice(right)},
      {Cause::scaled_twice, "scaled twice", made(with_scale(p, p.scale * p.scale))},
      {Cause::scaled_twice, "scaled twice", made(with_scale(p, p.scale * 255))},
      {Cause::not_scaled, "not prepared at all: pixels from 0 to 255", made(Preprocess())},
      {Cause::not_scaled, "not scaled", made(with_scale(p, 1))},
      {Cause::wrong_mean, "scaled alone, without mean and std", made(only_scale(p))},
      {Cause::wrong_mean, "prepared without the mean", made(without_mean(p))},
      {Cause::wrong_mean, "prepared without the std", made(without_std(p))},
  };
  const bool raw = distance(right, made(Preprocess())) < kSameMap;
  for (PixelMap& family : family_maps(right.channels())) {
    const Cause cause = raw ? Cause::scaled_twice : Cause::wrong_mean;
    list.push_back({cause, "", std::move(family)});
  }
  if (right.channels() == 3) list.push_back({Cause::bgr, "in the opposite order", reversed(right)});
  std::erase_if(list, [&](const Mistake& mistake) {
    // Reversed channels differ by little, but exactly.
    return distance(mistake.map, right) < (mistake.cause == Cause::bgr ? 2 * kExact : kSameMap);
  });
  return list;
}

// One input, and all that is known of it.
class Examiner {
 public:
  Examiner(const KnownInputs& known, size_t input, const InputProfile& seen,
           const InputHistory& history)
      : known_(known),
        input_(input),
        seen_(seen),
        history_(history),
        calibrated_(input < known.calibrated.size() ? &known.calibrated[input] : nullptr) {
    if (calibrated_ != nullptr &&
        (calibrated_->samples == 0 || calibrated_->channels.size() != seen.channels.size()))
      calibrated_ = nullptr;
    const int axis = image_channel_axis(known.infos[input].type.shape);
    image_ = axis >= 0 && (seen.channels.size() == 1 || seen.channels.size() == 3);
    channels_last_ = axis > 0 && axis == known.infos[input].type.shape.rank() - 1;
    if (image_) find_right();
  }

  std::optional<InputDoubt> doubt() const {
    if (!history_.photos && wrong_layout()) return layout_doubt();
    if ((image_ && as_prepared()) || spans_as_then() || is_own_affair()) return std::nullopt;
    if (right_) return doubt_of_pixels();
    if (calibrated_ != nullptr) return doubt_of_values();
    return image_ ? doubt_of_codes() : std::nullopt;
  }

  // The map that made what was seen, if it can be told.
  std::optional<PixelMap> present() const {
    if (history_.photos && history_.applied)
      return map_of(*history_.applied, seen_.channels.size(), "");
    const std::vector<PixelMap> maps = family_maps(seen_.channels.size());
    const PixelMap* maker = maker_of(seen_, maps);
    return maker == nullptr ? std::nullopt : std::optional(*maker);
  }

  InputDoubt repair_to(const PixelMap& from, const PixelMap& to) const {
    InputDoubt doubt;
    doubt.input = input_;
    doubt.repair = between(from, to);
    doubt.change = change_between(from, to);
    return doubt;
  }

 private:
  // How calibration's data were prepared: as the engine remembers, if they look like that, or as a well-known family.
  void find_right() {
    const size_t channels = seen_.channels.size();
    if (history_.remembered)
      right_ = map_of(*history_.remembered, channels, "the engine's preprocessing");
    if (calibrated_ == nullptr) return;
    // It may have seen arrays, which were prepared otherwise than what the engine remembers of photos.
    const bool fits = right_ && excess(*calibrated_, *right_) <= kInside;
    if (fits && coverage(*calibrated_, *right_) >= kUsualContrast) return;
    if (!fits) right_.reset();
    const std::vector<PixelMap> maps = family_maps(channels);
    if (const PixelMap* maker = maker_of(*calibrated_, maps)) right_ = *maker;
  }

  // Photos that went through the engine's own numbers are what they are.
  bool as_prepared() const {
    return history_.photos && history_.applied && history_.remembered &&
           history_.applied->scale == history_.remembered->scale &&
           history_.applied->mean == history_.remembered->mean &&
           history_.applied->std == history_.remembered->std;
  }

  // Photos that flags prepare for a network of reals: nothing was calibrated on others.
  bool is_own_affair() const {
    const bool coded = input_ < known_.codes.size() && known_.codes[input_];
    return history_.photos && calibrated_ == nullptr && !coded;
  }

  bool spans_as_then() const {
    if (calibrated_ == nullptr) return false;
    return std::ranges::equal(
        seen_.channels, calibrated_->channels, [](const auto& now, const auto& then) {
          const f64 near = kInside * (then.max - then.min);
          return std::abs(now.min - then.min) <= near && std::abs(now.max - then.max) <= near;
        });
  }

  bool wrong_layout() const {
    if (!image_ || calibrated_ == nullptr || seen_.channels.size() != 3) return false;
    const bool several = seen_.samples >= kSeveral;
    const f64 planar = several ? kPlanar : kPlanarOne;
    const f64 interleaved = several ? kInterleaved : kInterleavedOne;
    return channels_last_ ? calibrated_->interleaving > interleaved && seen_.interleaving < planar
                          : calibrated_->interleaving < planar && seen_.interleaving > interleaved;
  }

  InputDoubt layout_doubt() const {
    InputDoubt doubt = new_doubt(Cause::layout);
    doubt.text += channels_last_ ? " lies channel by channel (NCHW), and the input takes NHWC"
                                 : " lies pixel by pixel (NHWC), and the input takes NCHW";
    doubt.text += ": the axes were renamed (reshape), where they had to change places (transpose)";
    return doubt;
  }

  std::optional<InputDoubt> doubt_of_pixels() const {
    const f64 beyond = excess(seen_, *right_), covered = coverage(seen_, *right_);
    const std::vector<Mistake> mistakes = mistakes_around(*right_);
    for (const Mistake& mistake : mistakes) {
      if (distance(seen_, mistake.map) <= kExact && distance(seen_, *right_) > 2 * kExact)
        return doubt_of(mistake);
    }
    if (beyond <= kInside && covered >= kUsualContrast) return std::nullopt;
    const Mistake* best = nullptr;
    for (const Mistake& mistake : mistakes) {
      if (mistake.cause == Cause::bgr || !are_made_by(seen_, mistake.map)) continue;
      if (best == nullptr || distance(seen_, mistake.map) + 0.05 < distance(seen_, best->map))
        best = &mistake;
    }
    if (best != nullptr) return doubt_of(*best);
    const bool flat = covered < kNoContrast && seen_.samples >= kSeveral;
    if (beyond <= kFarOutside && !flat) return std::nullopt;
    return out_of_place(
        fmt::format("{} means {:.4g} to {:.4g}", right_->name, lowest(*right_), highest(*right_)),
        flat);
  }

  InputDoubt doubt_of(const Mistake& mistake) const {
    InputDoubt doubt = repair_to(mistake.map, *right_);
    doubt.cause = mistake.cause;
    doubt.text = name();
    if (mistake.cause == Cause::bgr) {
      doubt.repair.reset();
      doubt.change = {};
      doubt.reverse_channels = true;
      doubt.text +=
          " has its channels in the opposite order (BGR for RGB): those of the last "
          "channel are where the first belongs";
      return doubt;
    }
    const std::string what =
        mistake.what[0] != 0 ? mistake.what : "prepared otherwise (" + mistake.map.name + ")";
    doubt.text += fmt::format(" looks {}: values from {}, and {} means {:.4g} to {:.4g}", what,
                              span_text(seen_), right_->name, lowest(*right_), highest(*right_));
    if (doubt.change.empty() && history_.applied && !history_.photos)
      doubt.text += "; they are prepared already";
    return doubt;
  }

  static f64 lowest(const PixelMap& map) {
    f64 low = map.low(0);
    for (size_t c = 1; c < map.channels(); ++c) low = std::min(low, map.low(c));
    return low;
  }
  static f64 highest(const PixelMap& map) {
    f64 high = map.high(0);
    for (size_t c = 1; c < map.channels(); ++c) high = std::max(high, map.high(c));
    return high;
  }

  // Of what is no image, or none that is known: far beyond calibration, or next to nothing.
  std::optional<InputDoubt> doubt_of_values() const {
    const f64 wide = image_ ? 1 : kFarBeyond;
    f64 beyond = 0, covered = 0;
    for (size_t c = 0; c < seen_.channels.size(); ++c) {
      const ChannelProfile &now = seen_.channels[c], &then = calibrated_->channels[c];
      const f64 span = then.max - then.min;
      if (!(span > 0)) return std::nullopt;
      beyond = std::max(beyond, std::max(then.min - now.min, now.max - then.max) / span);
      covered = std::max(covered, (now.max - now.min) / span);
    }
    const bool flat = image_ && covered < kNoContrast && seen_.samples >= kSeveral;
    if (beyond <= wide && !flat) return std::nullopt;
    return out_of_place("calibration saw " + span_text(*calibrated_), flat);
  }

  // Codes alone are known: how far they reach.
  std::optional<InputDoubt> doubt_of_codes() const {
    if (input_ >= known_.codes.size() || !known_.codes[input_]) return std::nullopt;
    const CodeSpan& codes = *known_.codes[input_];
    const f64 reach = std::max(std::abs(codes.min), std::abs(codes.max));
    f64 most = 0;
    for (const ChannelProfile& channel : seen_.channels)
      most = std::max({most, std::abs(channel.min), std::abs(channel.max)});
    const bool near = most >= kCodesUsed * reach && most <= reach / kCodesUsed;
    if (near || !(reach > 0) ||
        (seen_.samples < kSeveral && most >= reach / 16 && most <= reach * 16))
      return std::nullopt;
    InputDoubt doubt = new_doubt(Cause::unlike_codes);
    doubt.text += fmt::format(
        " spans {}, and its codes reach to {:.4g}: it was calibrated on data that were prepared "
        "otherwise",
        span_text(seen_), reach);
    const std::vector<PixelMap> families = family_maps(seen_.channels.size());
    const auto gap = [&](const PixelMap& map) {
      return std::abs(std::max(std::abs(lowest(map)), std::abs(highest(map))) - reach) / reach;
    };
    const auto nearest = std::ranges::min_element(families, {}, gap);
    if (gap(*nearest) > kNearReach) return doubt;
    doubt.text +=
        fmt::format("; {} ({}) reaches so far", nearest->name, describe(nearest->numbers, true));
    const auto from = present();
    if (!from || distance(*from, *nearest) < kSameMap) return doubt;
    const InputDoubt told = repair_to(*from, *nearest);
    doubt.repair = told.repair;
    doubt.change = told.change;
    return doubt;
  }

  std::string name() const { return fmt::format("input '{}'", known_.infos[input_].name); }

  InputDoubt new_doubt(Cause cause) const {
    InputDoubt doubt;
    doubt.cause = cause;
    doubt.input = input_;
    doubt.text = name();
    return doubt;
  }

  // Far outside, or next to no contrast.
  InputDoubt out_of_place(const std::string& expected, bool flat) const {
    InputDoubt doubt = new_doubt(flat ? Cause::scaled_twice : Cause::beyond);
    doubt.text +=
        fmt::format(" spans {}, and {}: {}", span_text(seen_), expected,
                    flat ? "is it scaled twice?" : "are scale and mean those of calibration?");
    return doubt;
  }

  // What makes of photos, or of arrays as they are, what `to` makes of pixels.
  PreprocessChange change_between(const PixelMap& from, const PixelMap& to) const {
    if (history_.photos) return change_to(to, history_);
    const bool plain = from.numbers.mean.empty() && from.numbers.std.empty();
    const bool by_number = std::ranges::all_of(from.offset, [](f64 offset) { return offset == 0; });
    if (history_.applied || !plain || !by_number) return {};
    PreprocessChange change = change_to(to, history_);
    change.scale = static_cast<f32>(static_cast<f64>(to.numbers.scale) * from.factor[0]);
    change.color.reset();  // of photos alone
    return change;
  }

  const KnownInputs& known_;
  size_t input_;
  const InputProfile& seen_;
  const InputHistory& history_;
  const InputProfile* calibrated_;
  bool image_ = false, channels_last_ = false;
  std::optional<PixelMap> right_;
};

// Colors cannot be told from photos, but from what was said of them.
std::optional<InputDoubt> told_of_colors(const KnownInputs& known, size_t i,
                                         const InputHistory& history) {
  using Color = Preprocess::Color;
  if (!history.photos || !history.applied || !history.remembered) return std::nullopt;
  const Color now = history.applied->color, then = history.remembered->color;
  if (known.calibrated.empty() || now == then || now == Color::gray || then == Color::gray)
    return std::nullopt;
  InputDoubt doubt = reversed_channels(map_of(*history.applied, 3, ""));
  doubt.input = i;
  const char* name = then == Color::bgr ? "bgr" : "rgb";
  doubt.change.color = then;
  doubt.text = fmt::format("input '{}' gets {}, and the engine was calibrated on {} images",
                           known.infos[i].name, now == Color::bgr ? "bgr" : "rgb", name);
  return doubt;
}

bool can_be_judged(const KnownInputs& known, size_t i, const InputProfile& seen) {
  return i < known.infos.size() && is_real(known.infos[i].type.dtype) && seen.samples > 0 &&
         !seen.channels.empty() && all_finite(seen);
}

}  // namespace

std::vector<InputDoubt> doubts_about(const KnownInputs& known, std::span<const InputProfile> seen,
                                     const InputHistory& history) {
  std::vector<InputDoubt> doubts;
  for (size_t i = 0; i < seen.size(); ++i) {
    if (!can_be_judged(known, i, seen[i])) continue;
    if (auto told = told_of_colors(known, i, history)) doubts.push_back(std::move(*told));
    if (auto doubt = Examiner(known, i, seen[i], history).doubt())
      doubts.push_back(std::move(*doubt));
  }
  for (InputDoubt& doubt : doubts) doubt.name = known.infos[doubt.input].name;
  return doubts;
}

}  // namespace octet
