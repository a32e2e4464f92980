// SPDX-License-Identifier: Apache-2.0
// What a preparation makes of pixels, channel by channel, as numbers alone: factor * pixel + offset. Ends of ranges tell one from
// another, since photos nearly always have something black and something white in them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/types.h"
#include "octet/input_profile.h"

namespace octet {

struct PixelMap {
  std::string name;                 // "ImageNet's mean and std"
  Preprocess numbers;               // scale, mean, std and color
  std::vector<f64> factor, offset;  // one for each channel

  size_t channels() const { return factor.size(); }
  f64 at(size_t channel, f64 pixel) const { return factor[channel] * pixel + offset[channel]; }
  f64 low(size_t channel) const { return at(channel, 0); }
  f64 high(size_t channel) const { return at(channel, 255); }
  f64 span(size_t channel) const { return high(channel) - low(channel); }
};

PixelMap map_of(const Preprocess& preprocess, size_t channels, std::string name);
// Those of well-known families of models.
std::vector<PixelMap> family_maps(size_t channels);
// With the channels in the opposite order.
PixelMap reversed(PixelMap map);

// How far the values lie beyond the map's, as a share of its span; 0: none does.
f64 excess(const InputProfile& seen, const PixelMap& map);
// The share of the map's span that the values cover, of the channel where it is least.
f64 coverage(const InputProfile& seen, const PixelMap& map);
// The largest distance of the ends of the values from those of the map, as a share of its span.
f64 distance(const InputProfile& seen, const PixelMap& map);
// The same of two maps.
f64 distance(const PixelMap& a, const PixelMap& b);
// The values are pixels, black and white among them, that were prepared like that.
bool are_made_by(const InputProfile& seen, const PixelMap& map);
// Null where none of them made the values.
const PixelMap* maker_of(const InputProfile& seen, std::span<const PixelMap> maps);

// What brings values of one map to those of another.
ChannelMap between(const PixelMap& from, const PixelMap& to);
// The map's numbers, instead of those that are in force.
PreprocessChange change_to(const PixelMap& map, const InputHistory& history);

// Channels that were in the opposite order when `map` prepared them, put right.
InputDoubt reversed_channels(const PixelMap& map);

}  // namespace octet
