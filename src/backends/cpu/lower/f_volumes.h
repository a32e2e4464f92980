// SPDX-License-Identifier: Apache-2.0
// f32 convolutions of one or three dimensions by the kernels of images (kernels/float/panel.h). Such values lie as the graph has them: strips of
// the input are turned into pixels of all channels, with zeros around them, and results are turned back.
#pragma once

#include <memory>
#include <vector>

#include "arch/isa.h"
#include "backends/cpu/lower/f_panel_data.h"
#include "ops/shared/conv.h"
#include "plan/offer.h"

namespace octet {

// Of an axis of the output, the elements first, first + step, ... are what is computed.
struct OutputAxis {
  s64 size = 1, first = 0, step = 1;
};

struct VolumeSpec {
  ConvGeometry geometry;
  PanelKernel kernel;
  Isa isa;
  SumEndArgs end;
  bool residual = false;  // input 3
  int threads = 1;
  OutputAxis out[3] = {};
  size_t prepared = 0;  // which of the step's preparations are its weights
};

class VolumeProduct {
 public:
  VolumeProduct(const VolumeSpec& spec, const BindArgs& bind);
  static s64 workspace_bytes(const VolumeSpec& spec);
  void operator()(const StepArgs& args) const noexcept;

 private:
  // Outputs of one plane that are computed at once, and what they read: the kernel's planes, in each the rows and columns under the strip.
  struct Strips {
    s64 rows, columns;
    s64 pixel, row, plane;  // elements from one to the next
    s64 copied;             // elements
    s64 results;            // elements of a panel's row of outputs
    s64 in_plane, count;    // strips of a plane, and of all

    explicit Strips(const VolumeSpec& spec);
  };
  struct Unit {
    s64 image, plane, row, rows, column, columns;
  };
  struct Panel {
    s64 group, first;  // output channel of the group
  };

  static s64 elements(const VolumeSpec& spec, const Strips& strips);  // of a thread
  Unit unit_at(s64 index) const noexcept;
  void run(const StepArgs& args, s64 index, int thread) const noexcept;
  void copy(const f32* x, const Unit& unit, f32* to) const noexcept;
  void copy_row(const f32* from, const Unit& unit, f32* to) const noexcept;
  void run_panel(const StepArgs& args, const Unit& unit, f32* pixels,
                 const Panel& at) const noexcept;
  void give(const f32* results, const Unit& unit, s64 channels, f32* to) const noexcept;

  VolumeSpec spec_;
  Strips strips_;
  std::shared_ptr<const PackedPanels> packed_;
  std::vector<long> runs_;
  s64 run_length_;
  s64 out_elements_;     // of a channel
  s64 panel_parts_ = 1;  // of a strip, where there are fewer of those than threads
};

// Of a step that runs all of them one after another: all but its name, its preparations and how it is bound.
Candidate volumes_candidate(const LowerRequest& request, const std::vector<VolumeSpec>& specs);

}  // namespace octet
