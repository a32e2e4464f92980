// SPDX-License-Identifier: Apache-2.0
// f32 convolutions and matrix products by kernels/float/panel.h: weights packed once into panels, images in strips of rows that stay in a
// core's cache. A strip with padding, or whose pixels would meet in the same lines of the first cache, is copied first.
#pragma once

#include <memory>
#include <vector>

#include "arch/isa.h"
#include "backends/cpu/kernels/float/panel.h"
#include "octet/tensor.h"
#include "ops/shared/conv.h"
#include "plan/offer.h"

namespace octet {

// Constant weights as the graph has them: where output `o` of a group has its weight of a tap's channel.
struct PanelWeights {
  s64 groups, outs, taps, channels;  // outs and channels of a group
  s64 out_stride, tap_stride, channel_stride;
};

// A kernel's vector, and its function; no function where there are no vectors.
struct PanelKernel {
  s64 lanes;
  void (*function)(const PanelArgs*);
  bool pairs = false;  // multiplies pairs of bf16

  // Of what it reads at once, f32 or pairs of bf16, those that hold so many channels.
  s64 cells(s64 channels) const { return pairs ? (channels + 1) / 2 : channels; }
};
PanelKernel panel_kernel(Isa isa);
// Why no panel can be multiplied there; empty: they can.
std::string panel_reject(const LowerRequest& request);
PanelKernel panel_kernel(const LowerRequest& request);

// [groups][panel][tap][channel][lanes of the panel], outs rounded up to whole vectors; of bf16, pairs of channels.
struct PackedPanels {
  Tensor weights;  // of bf16, the bits of two are those of an f32
  Tensor bias;     // [groups][outs]

  // `bias` may be none.
  PackedPanels(const Tensor& given, const Tensor& bias, const PanelWeights& from,
               const PanelKernel& kernel);
};

// How pixels lie, in elements.
struct PixelStrides {
  s64 pixel = 0, row = 0, image = 0;
};

// Rows of an image, with zeros around it.
struct RowCopy {
  PixelStrides from, to;
  s64 rows, columns;  // of the image
  s64 pixels;         // of the image; the last row may have fewer than the others
  s64 channels;
  s64 left, width;      // columns of zeros before the image's, and all of the copy
  bool pairs = false;   // of bf16 are what the copy has
  bool halves = false;  // are what the image has; else f32

  // `count` rows from `first` on, which may lie outside of the image. `to` counts what kernels read at once.
  void operator()(const std::byte* image, s64 first, s64 count, f32* dst) const noexcept;
};

// Between pixels that a kernel reads at once: those 4096 bytes apart would share the lines of the first cache, of which it holds fewer.
s64 spread_pixels(s64 channels);

// Elements between images, rows and pixels of a step's channels-last value.
PixelStrides image_strides(const Shape& shape, const Placement& placement);

// Cycles for `pixels` by `cells` weights of each of `outs` channels.
f64 panel_cycles(s64 lanes, s64 pixels, s64 cells, s64 outs);

struct PanelSpec {
  ConvGeometry geometry;
  PanelKernel kernel;
  SumEndArgs end;
  bool image = true;          // channels last; else dense matrices
  size_t residual_input = 0;  // 0: none
  int threads = 1;
  // Stored as bf16.
  bool x_halves = false, residual_halves = false, y_halves = false;
};

// What copies of strips take.
s64 panel_workspace_bytes(const PanelSpec& spec);

class PanelProduct {
 public:
  PanelProduct(const PanelSpec& spec, const BindArgs& bind);
  void operator()(const StepArgs& args) const noexcept;

 private:
  // Rows of an image that a strip reads, from the first value of its first pixel's window on.
  struct Source {
    const f32* values;
    PixelStrides strides;
  };
  struct Unit {
    s64 image, row, rows, panel, panels;
  };

  void flatten();
  void plan_copy();
  void cut();
  void list_runs(const PixelStrides& source);
  s64 group_cells() const { return spec_.kernel.cells(spec_.geometry.in_channels_per_group()); }
  // Of an image that kernels read where it lies.
  PixelStrides cells_of(const PixelStrides& x) const {
    return spec_.kernel.pairs ? PixelStrides{x.pixel / 2, x.row / 2, x.image / 2} : x;
  }
  Unit unit_at(s64 index) const noexcept;
  Source source_of(const StepArgs& args, const Unit& unit, int thread) const noexcept;
  void run(const StepArgs& args, const Unit& unit, int thread) const noexcept;
  void run_panel(const StepArgs& args, const Unit& unit, const Source& source) const noexcept;

  PanelSpec spec_;
  std::shared_ptr<const PackedPanels> packed_;
  PixelStrides x_, y_, residual_;
  s64 pixels_;  // of an image's output; the last row may have fewer than the others
  bool copies_;
  RowCopy copy_ = {};
  s64 copy_elements_ = 0;  // of a thread
  s64 strip_rows_ = 1, strips_ = 1;
  s64 panels_, group_panels_, panel_parts_ = 1;
  std::vector<long> runs_;
  s64 run_length_;
};

// Why a convolution of images by own kernels does not take the node; empty: it may.
std::string panel_conv_reject(const LowerRequest& request);

// Of a convolution of images: layouts and what else does not depend on how it is computed.
Candidate panel_image_candidate(const LowerRequest& request, size_t residual_input);

// All of a candidate for the node but its name.
Candidate panel_candidate(const LowerRequest& request, const PanelSpec& spec,
                          const PanelWeights& weights);

}  // namespace octet
