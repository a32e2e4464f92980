// SPDX-License-Identifier: Apache-2.0
// What planning needs from a backend: its offers, the fallback that always works, and layout conversion.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/chain.h"
#include "plan/offer.h"

namespace octet {

// The border of an output of a step: of its buffer, that many images of so many rows.
struct BorderFill {
  size_t output = 0;  // of the step
  Placement placement;
  s64 origin_bytes = 0;
  s64 images = 0, height = 0;
  int code = 0;  // what to fill it with
};

// A plugin's combinations by their names, in the order of its declaration.
using PluginOffers = std::vector<std::pair<std::string, Offer>>;

struct Backend {
  std::string_view name;
  std::span<const Lowering> lowerings;  // of one operator: in order, best first
  std::span<const ChainRule> chains = {};
  // Runs any operator through its scalar reference, on linear tensors. Null where the host runs what no lowering accepts.
  Candidate (*reference)(const LowerRequest&) = nullptr;
  // What plugins have for a node of theirs. Null where their pointers are of no use.
  PluginOffers (*plugins)(const LowerRequest&) = nullptr;
  // Runs a node of a plugin whose results data size, between tensors of the host, with copies. False where nothing that the plugin has for
  // the device takes these numbers. Null: as `plugins`.
  bool (*sized_plugin)(const Eval&, Queue&) = nullptr;
  // Copies a tensor from one layout to the other (or between two buffers of one layout).
  Candidate (*convert)(const TensorType& type, Layout from, Layout to,
                       const Target& target) = nullptr;
  // Sets output 0, s32[1], which is 0, to 1 where the bytes of two tensors of one type differ, both as they lie. Null where the host has to.
  Candidate (*compare)(s64 bytes, const Target& target) = nullptr;
  // Writes a constant into output 0. The host's alone, for constants that the graph returns.
  Candidate (*constant)(const Tensor& tensor) = nullptr;
  // Null where `wanted_border` is never asked for. The step runs after what this returns.
  RunStep (*fill_border)(const BorderFill&) = nullptr;
  // Its kernels read and write, and `convert` knows, linear and nhwc; this says that the others are known too.
  bool channel_blocks = false;
  // What its plans make of a graph of known sizes before anything is chosen. Null: nothing.
  void (*adapt)(Graph&, const Target&) = nullptr;
  // Its kernels want s8 activations relabelled as u8 with zero_point + 128.
  bool relabel_s8 = false;
};

}  // namespace octet
