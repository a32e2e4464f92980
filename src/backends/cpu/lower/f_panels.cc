// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/f_panels.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/cpu/device.h"
#include "backends/cpu/lower/bf16_values.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_dnnl.h"
#include "backends/cpu/lower/q_common.h"
#include "backends/cpu/lower/rounding.h"
#include "backends/cpu/lower/unit_rates.h"
#include "backends/host/queue.h"
#include "core/divide.h"

namespace octet {
namespace {

constexpr s64 kBytes = sizeof(f32);
// Cycles for a number that becomes bf16.
constexpr f64 kNarrowed = 0.1;
// Pixels of a row where an image's rows follow each other, and what they are a multiple of: the blocks of the kernels.
constexpr s64 kFlatRow = 84, kFlatBlock = 42;

bool pads(const WindowAxis& axis) {
  return axis.pad_begin > 0 ||
         (axis.out - 1) * axis.stride - axis.pad_begin + axis.extent() > axis.in;
}

// Whether strips are copied wherever pixels lie.
bool copies(const PanelSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  const s64 cells = spec.kernel.cells(g.in_channels);
  const bool narrows = spec.kernel.pairs && (!spec.x_halves || g.in_channels_per_group() % 2 != 0);
  return narrows || pads(g.window.h()) || pads(g.window.w()) || spread_pixels(cells) != cells;
}

// Pairs of a stored image are read where they lie if each begins where an f32 may.
bool pairs_apart(const PanelSpec& spec, const PixelStrides& x, const BindArgs& bind) {
  const auto odd = [](s64 elements) { return elements % 2 != 0; };
  return spec.kernel.pairs &&
         (odd(x.pixel) || odd(x.row) || odd(x.image) || bind.input_offset(0) % kBytes != 0);
}

PixelStrides copy_strides(const PanelSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  const s64 pixel = spread_pixels(spec.kernel.cells(g.in_channels));
  return {pixel, pixel * read_by(g.window.w(), g.window.w().out), 0};
}

// Rows of output that lie in a core's cache with what they read, since each panel passes over them: in little of it, but in half where the weights
// come from beyond it for every strip.
s64 cached_rows(const PanelSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  const s64 weights =
      g.out_channels * spec.kernel.cells(g.in_channels_per_group()) * g.window.kernel_elements();
  const s64 cache = core_cache_bytes();
  const s64 row = copy_strides(spec).row * g.window.h().stride + g.window.w().out * g.out_channels;
  const s64 room = weights * kBytes > cache / 4 ? cache / 2 : cache / 8;
  return std::clamp<s64>(room / std::max<s64>(row * kBytes, 1), 1,
                         std::max<s64>(g.window.h().out, 1));
}

s64 copy_elements(const PanelSpec& spec) {
  if (!copies(spec) && !spec.kernel.pairs) return 0;
  return rounded_up(copy_strides(spec).row * read_by(spec.geometry.window.h(), cached_rows(spec)),
                    16);
}

// Of a dense matrix the rows are the pixels of an image of one row.
PixelStrides strides_of(const PanelSpec& spec, const Shape& shape, const Placement& placement) {
  if (!spec.image) return {shape[1], 0, 0};
  return image_strides(shape, placement);
}

bool reads_single_pixels(const ConvGeometry& g) {
  const auto single = [](const WindowAxis& axis) {
    return axis.kernel == 1 && axis.stride == 1 && !pads(axis);
  };
  return single(g.window.h()) && single(g.window.w());
}

// All pixels of all images as one image, in rows for the threads.
ConvGeometry flattened(const ConvGeometry& g, s64 threads) {
  const s64 pixels = g.batch * g.window.out_elements();
  const s64 share =
      is_worth_threads(g) ? rounded_up(ceil_div(pixels, threads), kFlatBlock) : kFlatRow;
  ConvGeometry flat = g;
  flat.batch = 1;
  WindowAxis &h = flat.window.axes[1], &w = flat.window.axes[2];
  w.in = w.out = std::min({kFlatRow, share, pixels});
  h.in = h.out = ceil_div(pixels, w.out);
  return flat;
}

Shape output_shape(const PanelSpec& spec) {
  return spec.part.image.rank() == 0 ? spec.geometry.output_shape() : spec.part.image;
}

Shape input_shape(const ConvGeometry& g) {
  return {g.batch, g.in_channels, g.window.h().in, g.window.w().in};
}

}  // namespace

bool is_worth_threads(const ConvGeometry& g) {
  return g.batch * g.out_channels * g.in_channels_per_group() * g.window.kernel_elements() *
             g.window.out_elements() >
         kSerialMacs;
}

s64 read_by(const WindowAxis& axis, s64 outputs) {
  return (outputs - 1) * axis.stride + axis.extent();
}

s64 spread_pixels(s64 channels) { return channels + (channels * kBytes % 4096 == 0 ? 16 : 0); }

PixelStrides image_strides(const Shape& shape, const Placement& placement) {
  const Placement filled = nhwc_placement(shape, placement);
  return {filled.pixel_stride, filled.row_stride, filled.image_stride};
}

// Two vectors for each value loaded, or one, which waits for loads; what is begun and stored.
f64 panel_cycles(s64 lanes, s64 pixels, s64 cells, s64 outs) {
  const s64 vectors = ceil_div(outs, lanes), pairs = vectors / kPanelVectors;
  const f64 value = 1.05 * static_cast<f64>(pairs) + 0.72 * static_cast<f64>(vectors % 2);
  constexpr f64 kStored = 2;
  return static_cast<f64>(pixels) *
         (value * static_cast<f64>(cells) + kStored * static_cast<f64>(vectors));
}

PanelKernel panel_kernel(Isa isa) {
  if (isa.has(Isa::vnni)) return {16, panel_vnni};
  if (isa.has(Isa::neon)) return {8, panel_neon};
  return {8, isa.has(Isa::avx2) ? panel_avx2 : nullptr};
}

PanelKernel panel_kernel(const LowerRequest& request) {
  const Isa isa = isa_of(request.target);
  return multiplies_pairs(request.node, isa) ? PanelKernel{16, panel_bf16, true}
                                             : panel_kernel(isa);
}

bool has_idle_lanes(const ConvGeometry& geometry, const PanelKernel& kernel) {
  return geometry.groups > 1 && 2 * geometry.out_channels_per_group() < kernel.lanes;
}

s64 panel_workspace_bytes(const PanelSpec& spec) {
  s64 elements = copy_elements(spec);
  if (reads_single_pixels(spec.geometry)) {
    PanelSpec flat = spec;
    flat.geometry = flattened(spec.geometry, spec.threads);
    elements = std::max(elements, copy_elements(flat));
  }
  return elements * kBytes * spec.threads;
}

PanelProduct::PanelProduct(const PanelSpec& spec, const BindArgs& bind)
    : spec_(spec),
      packed_(bind.prepared_as<PackedPanels>(spec.prepared)),
      x_(strides_of(spec, input_shape(spec.geometry), bind.inputs[0])),
      y_(strides_of(spec, output_shape(spec), bind.outputs[0])),
      first_(spec.part.row * y_.row + spec.part.column * y_.pixel),
      pixels_(spec.geometry.window.out_elements()),
      copies_(copies(spec) || pairs_apart(spec, x_, bind)),
      group_panels_(
          ceil_div(spec.geometry.out_channels_per_group(), spec.kernel.lanes * kPanelVectors)) {
  panels_ = group_panels_ * spec.geometry.groups;
  y_.row *= spec.part.row_step;
  y_.pixel *= spec.part.column_step;
  if (spec.residual_input != 0)
    residual_ = strides_of(spec, spec.geometry.output_shape(), bind.inputs[spec.residual_input]);
  flatten();
  plan_copy();
  cut();
  list_runs(copies_ ? copy_.to : cells_of(x_));
}

// Windows of one pixel each: rows and images that follow each other are one row, and are cut anew.
void PanelProduct::flatten() {
  const ConvGeometry& g = spec_.geometry;
  const WindowAxis &h = g.window.h(), &w = g.window.w();
  const auto follows = [&](const PixelStrides& s) {
    return (h.out == 1 || s.row == w.out * s.pixel) &&
           (g.batch == 1 || s.image == h.out * w.out * s.pixel);
  };
  if (!reads_single_pixels(g) || !follows(x_) || !follows(y_) ||
      (spec_.residual_input != 0 && !follows(residual_)))
    return;
  pixels_ = g.batch * h.out * w.out;
  spec_.geometry = flattened(g, spec_.threads);
  for (PixelStrides* s : {&x_, &y_, &residual_}) s->row = spec_.geometry.window.w().out * s->pixel;
}

void PanelProduct::plan_copy() {
  const ConvGeometry& g = spec_.geometry;
  const WindowAxis &h = g.window.h(), &w = g.window.w();
  const s64 width = read_by(w, w.out);
  copy_ = {.from = x_,
           .to = copy_strides(spec_),
           .rows = h.in,
           .columns = w.in,
           .pixels = reads_single_pixels(g) ? pixels_ : h.in * w.in,
           .channels = g.in_channels,
           .left = std::clamp<s64>(w.pad_begin, 0, width),
           .width = width,
           .pairs = spec_.kernel.pairs,
           .halves = spec_.x_halves};
  copy_elements_ = copies_ ? copy_elements(spec_) : 0;
}

// Strips of rows for the threads, and panels where there are too few of those or weights are what is read most.
void PanelProduct::cut() {
  const ConvGeometry& g = spec_.geometry;
  const s64 rows = g.window.h().out, threads = is_worth_threads(g) ? spec_.threads : 1;
  strip_rows_ = cached_rows(spec_);
  const s64 weights = packed_->weights.elements();
  const s64 inputs = g.batch * g.in_channels * g.window.in_elements();
  const s64 missing = ceil_div(threads, g.batch);
  if (threads > 1 && weights <= 8 * inputs)
    strip_rows_ = std::min(strip_rows_, ceil_div(rows, missing));
  strips_ = ceil_div(rows, strip_rows_);
  panel_parts_ = std::min(panels_, ceil_div(threads, g.batch * strips_));
}

void PanelProduct::list_runs(const PixelStrides& source) {
  const ConvGeometry& g = spec_.geometry;
  const WindowAxis &h = g.window.h(), &w = g.window.w();
  const bool joined = g.groups == 1 && w.dilation == 1 && source.pixel == group_cells();
  run_length_ = group_cells() * (joined ? w.kernel : 1);
  for (s64 ky = 0; ky < h.kernel; ++ky) {
    for (s64 kx = 0; kx < (joined ? 1 : w.kernel); ++kx)
      runs_.push_back(ky * h.dilation * source.row + kx * w.dilation * source.pixel);
  }
}

PanelProduct::Unit PanelProduct::unit_at(s64 index) const noexcept {
  const s64 part = index % panel_parts_, strip = index / panel_parts_ % strips_;
  const s64 row = strip * strip_rows_;
  const s64 begin = panels_ * part / panel_parts_, end = panels_ * (part + 1) / panel_parts_;
  return {index / panel_parts_ / strips_, row,
          std::min(strip_rows_, spec_.geometry.window.h().out - row), begin, end - begin};
}

PanelProduct::Source PanelProduct::source_of(const StepArgs& args, const Unit& unit,
                                             int thread) const noexcept {
  const s64 bytes = element_bytes(spec_.x_halves);
  const std::byte* image = args.inputs[0] + unit.image * x_.image * bytes;
  const WindowAxis& h = spec_.geometry.window.h();
  if (!copies_)
    return {reinterpret_cast<const f32*>(image + unit.row * h.stride * x_.row * bytes),
            cells_of(x_)};
  f32* to = reinterpret_cast<f32*>(args.workspace) + thread * copy_elements_;
  copy_(image, unit.row * h.stride - h.pad_begin, read_by(h, unit.rows), to);
  return {to, copy_.to};
}

// One panel, by all rows of a strip.
void PanelProduct::run_panel(const StepArgs& args, const Unit& unit,
                             const Source& source) const noexcept {
  const ConvGeometry& g = spec_.geometry;
  const s64 width = spec_.kernel.lanes * kPanelVectors, outs = g.out_channels_per_group();
  const s64 group = unit.panel / group_panels_, first = unit.panel % group_panels_ * width;
  const s64 values = group_cells() * g.window.kernel_elements();
  const s64 channel = group * outs + first, columns = g.window.w().out;
  const f32* weights = packed_->weights.as<f32>().data();
  const f32* bias = packed_->bias.as<f32>().data();
  PanelArgs panel{
      .src = source.values + group * group_cells(),
      .src_step = g.window.w().stride * source.strides.pixel,
      .runs = runs_.data(),
      .run_count = static_cast<s64>(runs_.size()),
      .run_length = run_length_,
      .weights = weights + group * rounded_up(outs, spec_.kernel.lanes) * values + first * values,
      .bias = bias + group * rounded_up(outs, spec_.kernel.lanes) + first,
      .residual = nullptr,
      .dst = nullptr,
      .dst_step = y_.pixel,
      .residual_step = residual_.pixel,
      .count = 0,
      .channels = std::min(width, outs - first),
      .end = spec_.end,
      .residual_halves = spec_.residual_halves,
      .dst_halves = spec_.y_halves};
  const s64 out_bytes = element_bytes(spec_.y_halves);
  const s64 residual_bytes = element_bytes(spec_.residual_halves);
  std::byte* out = args.outputs[0] + (first_ + unit.image * y_.image + channel) * out_bytes;
  const std::byte* residual = spec_.residual_input == 0
                                  ? nullptr
                                  : args.inputs[spec_.residual_input] +
                                        (unit.image * residual_.image + channel) * residual_bytes;
  for (s64 r = 0; r < unit.rows; ++r, panel.src += g.window.h().stride * source.strides.row) {
    const s64 row = unit.row + r;
    panel.dst = out + row * y_.row * out_bytes;
    if (residual != nullptr) panel.residual = residual + row * residual_.row * residual_bytes;
    panel.count = std::min(columns, pixels_ - row * columns);
    spec_.kernel.function(&panel);
  }
}

void PanelProduct::run(const StepArgs& args, const Unit& unit, int thread) const noexcept {
  const Source source = source_of(args, unit, thread);
  Unit one = unit;
  for (s64 i = 0; i < unit.panels; ++i, ++one.panel) run_panel(args, one, source);
}

void PanelProduct::operator()(const StepArgs& args) const noexcept {
  const s64 units = spec_.geometry.batch * strips_ * panel_parts_;
  const auto body = [&](s64 begin, s64 end, int thread) {
    for (s64 i = begin; i < end; ++i) run(args, unit_at(i), thread);
  };
  if (!is_worth_threads(spec_.geometry)) return body(0, units, 0);
  pool_of(args).parallel_for(units, body);
}

std::string panel_reject(const LowerRequest& request) {
  return multiplies_pairs(request.node, isa_of(request.target)) ? halves_reject(request)
                                                                : float_reject(request);
}

std::string panel_operands_reject(const LowerRequest& request) {
  if (request.constant(1) == nullptr) return "the weights are not constant";
  if (request.has_input(2) && request.constant(2) == nullptr) return "the bias is not constant";
  if (request.constant(0) != nullptr) return "the input is constant";
  if (request.constant(3) != nullptr) return "the residual is constant";
  if (request.outputs[0].shape.elements() == 0) return "the output is empty";
  return {};
}

std::string panel_conv_reject(const LowerRequest& request) {
  if (std::string reason = panel_reject(request); !reason.empty()) return reason;
  if (request.inputs[0].shape.rank() != 4) return "the input is not an image";
  if (std::string reason = panel_operands_reject(request); !reason.empty()) return reason;
  if (multiplies_bf16(request) && !multiplies_pairs(request.node, isa_of(request.target)))
    return "the products are of bf16";
  return {};
}

Candidate panel_image_candidate(const LowerRequest& request, size_t residual_input) {
  Candidate candidate;
  candidate.note = rounding_note(request.node);
  candidate.macs_per_cycle = real_unit_rate(isa_of(request.target));
  candidate.close = true;
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.inputs[0] = Layout::nhwc;
  candidate.outputs = {Layout::nhwc};
  if (residual_input != 0) {
    candidate.inputs[residual_input] = Layout::nhwc;
    if (request.inputs[residual_input].dtype == request.outputs[0].dtype)
      candidate.overwrites = {residual_input};
  }
  candidate.strided = candidate.writes_slices = true;
  candidate.holds = {false, true, request.has_input(2)};
  return candidate;
}

PanelWeights conv_weights(const ConvGeometry& g) {
  const s64 channels = g.in_channels_per_group(), taps = g.window.kernel_elements();
  return {g.groups, g.out_channels_per_group(), taps, channels, channels * taps, 1, taps};
}

Preparation panels_preparation(const Tensor& weights, const Tensor& bias, const PanelWeights& from,
                               const PanelKernel& kernel) {
  const std::string key =
      fmt::format("panels {} {} {} {} {} {} {}", kernel.lanes, kernel.pairs, from.groups, from.outs,
                  from.taps, from.channels, from.out_stride);
  return preparation<PackedPanels>(key, {weights, bias},
                                   [=] { return PackedPanels(weights, bias, from, kernel); });
}

Candidate panel_candidate(const LowerRequest& request, const PanelSpec& spec,
                          const PanelWeights& from) {
  Candidate candidate = panel_image_candidate(request, spec.residual_input);
  if (!spec.image) {
    candidate.inputs.assign(request.inputs.size(), Layout::linear);
    candidate.outputs = {Layout::linear};
    candidate.strided = candidate.writes_slices = false;
  }
  const ConvGeometry& g = spec.geometry;
  const s64 cells = from.taps * spec.kernel.cells(from.channels);
  candidate.cost = static_cast<f64>(g.batch * g.groups) *
                   panel_cycles(spec.kernel.lanes, g.window.out_elements(), cells, from.outs);
  if (spec.kernel.pairs) {
    candidate.macs_per_cycle *= 2;
    candidate.cost += kNarrowed * static_cast<f64>(request.inputs[0].shape.elements());
  }
  candidate.workspace_bytes = panel_workspace_bytes(spec);
  const Tensor weights = *request.constant(1);
  const Tensor bias = request.has_input(2) ? *request.constant(2) : Tensor();
  candidate.prepare = [weights, bias, from, kernel = spec.kernel](const BindArgs&) {
    return std::vector<Preparation>{panels_preparation(weights, bias, from, kernel)};
  };
  candidate.bind = [spec](const BindArgs& bind) -> RunStep { return PanelProduct(spec, bind); };
  return candidate;
}

}  // namespace octet
