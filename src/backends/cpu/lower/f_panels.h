// SPDX-License-Identifier: Apache-2.0
// f32 convolutions and matrix products by kernels/float/panel.h: weights packed once into panels, images in strips of rows that stay in a
// core's cache. A strip with padding, or whose pixels would meet in the same lines of the first cache, is copied first.
#pragma once

#include <memory>
#include <vector>

#include "arch/isa.h"
#include "backends/cpu/lower/f_panel_data.h"
#include "ops/shared/conv.h"
#include "plan/offer.h"

namespace octet {

PanelKernel panel_kernel(Isa isa);
// Why no panel can be multiplied there; empty: they can.
std::string panel_reject(const LowerRequest& request);
PanelKernel panel_kernel(const LowerRequest& request);
// Most lanes of a vector would be idle in each group. Where nothing else has vectors that is still faster than none.
bool has_idle_lanes(const ConvGeometry& geometry, const PanelKernel& kernel);

// Smaller ones cost less than waking a thread.
bool is_worth_threads(const ConvGeometry& geometry);

// What so many outputs that follow each other read along an axis.
s64 read_by(const WindowAxis& axis, s64 outputs);

// Between pixels that a kernel reads at once: those 4096 bytes apart would share the lines of the first cache, of which it holds fewer.
s64 spread_pixels(s64 channels);

// Elements between images, rows and pixels of a step's channels-last value.
PixelStrides image_strides(const Shape& shape, const Placement& placement);

// Cycles for `pixels` by `cells` weights of each of `outs` channels.
f64 panel_cycles(s64 lanes, s64 pixels, s64 cells, s64 outs);

// What of the output is computed where several products make one image: rows and columns a step apart, from the first on.
struct OutputPart {
  Shape image;  // none: all of it is
  s64 row = 0, column = 0;
  s64 row_step = 1, column_step = 1;
};

struct PanelSpec {
  ConvGeometry geometry;
  PanelKernel kernel;
  SumEndArgs end;
  bool image = true;          // channels last; else dense matrices
  size_t residual_input = 0;  // 0: none
  int threads = 1;
  // Stored as bf16.
  bool x_halves = false, residual_halves = false, y_halves = false;
  OutputPart part = {};
  size_t prepared = 0;  // which of the step's preparations are its weights
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
  s64 first_ = 0;  // element of the output
  s64 pixels_;     // of an image's output; the last row may have fewer than the others
  bool copies_;
  RowCopy copy_ = {};
  s64 copy_elements_ = 0;  // of a thread
  s64 strip_rows_ = 1, strips_ = 1;
  s64 panels_, group_panels_, panel_parts_ = 1;
  std::vector<long> runs_;
  s64 run_length_;
};

// Why constants and sizes of a convolution, transposed or not, do not allow own kernels; empty: they do.
std::string panel_operands_reject(const LowerRequest& request);

// Why a convolution of images by own kernels does not take the node; empty: it may.
std::string panel_conv_reject(const LowerRequest& request);

// Of a convolution of images: layouts and what else does not depend on how it is computed.
Candidate panel_image_candidate(const LowerRequest& request, size_t residual_input);

// Of a convolution's weights, [O, C / group, taps].
PanelWeights conv_weights(const ConvGeometry& geometry);

// Weights as the graph has them, packed; the bias may be none.
Preparation panels_preparation(const Tensor& weights, const Tensor& bias, const PanelWeights& from,
                               const PanelKernel& kernel);

// All of a candidate for the node but its name.
Candidate panel_candidate(const LowerRequest& request, const PanelSpec& spec,
                          const PanelWeights& weights);

}  // namespace octet
