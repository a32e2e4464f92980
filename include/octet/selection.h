// SPDX-License-Identifier: Apache-2.0
// Is the kernel that was chosen for a layer the fastest that could run it on this machine? Measured, not estimated.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octet/engine.h"
#include "octet/inspect.h"
#include "octet/tensor.h"

namespace octet {

struct KernelTime {
  std::string kernel;
  double microseconds =
      0;            // the fastest of its runs, changes of memory layout that it needs included
  double cost = 0;  // estimated cycles; 0 where the kernel names none
  bool same_result = true;  // to the bit as the chosen kernel's
};

struct SelectionOptions;

// A layer that several kernels accept.
struct LayerSelection {
  LayerInfo layer;
  std::vector<KernelTime> kernels;  // the chosen one first
  bool wrong = false;               // another is faster, and by more than the tolerance

  size_t fastest() const;
  double ratio() const;  // time of the chosen kernel over that of the fastest
  bool is_wrong(const SelectionOptions& options) const;
  bool same_results() const;
};

struct SelectionOptions {
  int threads = 1;
  std::shared_ptr<const Tuning> tuning = nullptr;
  // A choice is wrong when it takes longer than the fastest by this share of that time, and by
  // `least_us`: docs/performance.md says why.
  double tolerance = 0.1;
  double least_us = 0.5;
  std::string device = "cpu";
};

struct SelectionReport {
  std::vector<LayerSelection> layers;
  int64_t single = 0;  // layers that one kernel alone accepts
};

// The fastest kernels of the report, into the choices for the devices that ran the layers; where the chosen one is as fast, or another gives other
// results, it stays.
void tune(const SelectionReport& report, int threads, Tuning& tuning);

// Runs the engine once; at each layer every kernel that accepts it gets the same data, in turns. Layers that look wrong
// are measured again before they are called so.
SelectionReport measure_selection(const Engine& engine, std::span<const Tensor> inputs,
                                  const SelectionOptions& options = {});

// The layers that measure_selection() would compare on inputs of `shapes`, of the part that is planned without data, and that
// `options.tuning` has no choice for; after tune() with its report there are none.
std::vector<LayerInfo> unmeasured_layers(const Engine& engine, std::span<const Shape> shapes,
                                         const SelectionOptions& options = {});

// One layer by itself, from its LayerInfo::signature, on random codes and weights: every kernel that accepts it, the one that is chosen
// in a network first. `wrong` is found in one measurement, without the later ones of measure_selection(). Throws
// Error(invalid_argument) for what is no signature, or for a layer that cannot run outside of its network.
LayerSelection measure_layer(std::string_view signature, const SelectionOptions& options = {});

}  // namespace octet
