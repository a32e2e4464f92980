// SPDX-License-Identifier: Apache-2.0
// f32 convolution of images by Winograd's F(2x2, 3x3) (kernels/float/winograd.h): 16 multiplications for 36. Strips of tiles stay in a core's
// cache from their pixels to their results. What is no finite number that way is summed as f_conv_panels.cc sums.
#include <algorithm>
#include <cmath>

#include "backends/cpu/device.h"
#include "backends/cpu/kernels/float/winograd.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/f_dnnl.h"
#include "backends/cpu/lower/f_panels.h"
#include "backends/cpu/lower/f_sum_end.h"
#include "backends/host/queue.h"
#include "core/small_types.h"

namespace octet {
namespace {

constexpr s64 kTile = 2, kTaps = 9;

struct WinogradKernels {
  PanelKernel panel;
  void (*take)(const WinogradTakeArgs*);
  void (*give)(const WinogradGiveArgs*);
};

WinogradKernels winograd_kernels(Isa isa) {
  if (isa.has(Isa::vnni)) return {panel_kernel(isa), winograd_take_vnni, winograd_give_vnni};
  if (isa.has(Isa::neon)) return {panel_kernel(isa), winograd_take_neon, winograd_give_neon};
  return {panel_kernel(isa), winograd_take_avx2, winograd_give_avx2};
}

// The weights of one output and input channel, [y][x], as those of the 16 points: in f64, rounded once.
void transform_weights(const f32* g, f64 (&points)[16]) {
  f64 rows[4][3];
  for (int x = 0; x < 3; ++x) {
    const f64 a = g[x], b = g[3 + x], c = g[6 + x];
    rows[0][x] = a;
    rows[1][x] = (a + b + c) / 2;
    rows[2][x] = (a - b + c) / 2;
    rows[3][x] = c;
  }
  for (int y = 0; y < 4; ++y) {
    const f64 a = rows[y][0], b = rows[y][1], c = rows[y][2];
    points[4 * y] = a;
    points[4 * y + 1] = (a + b + c) / 2;
    points[4 * y + 2] = (a - b + c) / 2;
    points[4 * y + 3] = c;
  }
}

// [16][outs][channels]
Tensor transformed(const Tensor& weights) {
  const s64 outs = weights.shape()[0], channels = weights.shape()[1];
  Tensor points(Dtype::f32, Shape{kWinogradPoints, outs * channels});
  f32* to = points.mutable_as<f32>().data();
  for (s64 i = 0; i < outs * channels; ++i) {
    f64 values[16];
    transform_weights(weights.as<f32>().data() + i * kTaps, values);
    for (s64 p = 0; p < kWinogradPoints; ++p)
      to[p * outs * channels + i] = static_cast<f32>(values[p]);
  }
  return points;
}

struct PackedWinograd {
  PackedPanels points;  // a group for each point
  Tensor weights;       // as given, for what is no finite number
  Tensor bias;          // of whole vectors
  Tensor zeros;         // a panel

  PackedWinograd(const Tensor& given, const Tensor& given_bias, const PanelKernel& kernel)
      : points(transformed(given), Tensor(),
               {kWinogradPoints, given.shape()[0], 1, given.shape()[1], given.shape()[1], 0, 1},
               kernel),
        weights(given),
        bias(Dtype::f32, Shape{rounded_up(given.shape()[0], kernel.lanes)}),
        zeros(Dtype::f32, Shape{kPanelVectors * kernel.lanes}) {
    if (given_bias) std::ranges::copy(given_bias.as<f32>(), bias.mutable_as<f32>().begin());
  }
};

struct WinogradSpec {
  ConvGeometry geometry;
  WinogradKernels kernels;
  SumEndArgs end;
  size_t residual_input = 0;  // 0: none
  int threads = 1;

  const WindowAxis& h() const { return geometry.window.h(); }
  const WindowAxis& w() const { return geometry.window.w(); }
  s64 tile_rows() const { return (h().out + 1) / kTile; }
  s64 tile_columns() const { return (w().out + 1) / kTile; }
  s64 lanes() const { return kernels.panel.lanes; }
};

// Rows of tiles whose numbers, before and after the product, stay in a core's cache with the weights, or meet weights from beyond it as often as
// those of some hundred tiles do.
s64 strip_tile_rows(const WinogradSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  constexpr s64 kBytes = sizeof(f32), kFew = 128;
  const s64 cache = core_cache_bytes() / 2;
  const s64 weights = kWinogradPoints * g.in_channels * g.out_channels * kBytes;
  s64 tiles = cache / (kWinogradPoints * (g.in_channels + g.out_channels) * kBytes);
  if (weights > cache) tiles = std::max(tiles, kFew);
  return std::clamp<s64>(tiles / spec.tile_columns(), 1, spec.tile_rows());
}

// Where a thread's numbers lie in its workspace, in elements.
struct WinogradBuffers {
  s64 rows;  // of tiles
  PixelStrides image;
  s64 in_tile, in_point, out_tile, out_point;
  s64 taken, products,
      elements;  // begins of the numbers before and after the product, and of the next thread's

  explicit WinogradBuffers(const WinogradSpec& spec) : rows(strip_tile_rows(spec)) {
    const ConvGeometry& g = spec.geometry;
    const s64 tiles = rows * spec.tile_columns();
    const s64 width = kTile * spec.tile_columns() + 2;
    image = {g.in_channels, width * g.in_channels, 0};
    in_tile = spread_pixels(g.in_channels);
    out_tile = spread_pixels(g.out_channels);
    // Points of a tile lie in different lines of the first cache.
    in_point = rounded_up(tiles * in_tile, 1024) + 16;
    out_point = rounded_up(tiles * out_tile, 1024) + 16;
    taken = rounded_up((kTile * rows + 2) * image.row, 16);
    products = taken + kWinogradPoints * in_point;
    elements = products + kWinogradPoints * out_point;
  }
};

class WinogradProduct {
 public:
  WinogradProduct(const WinogradSpec& spec, const BindArgs& bind)
      : spec_(spec),
        packed_(bind.prepared_as<PackedWinograd>()),
        buffers_(spec),
        x_(image_strides(input_shape(), bind.inputs[0])),
        y_(image_strides(spec.geometry.output_shape(), bind.outputs[0])) {
    if (spec.residual_input != 0)
      residual_ = image_strides(spec.geometry.output_shape(), bind.inputs[spec.residual_input]);
    const s64 width = spec.kernels.panel.lanes * kPanelVectors;
    panels_ = (spec.geometry.out_channels + width - 1) / width;
    cut();
    copy_ = {.from = x_,
             .to = buffers_.image,
             .rows = spec_.h().in,
             .columns = spec_.w().in,
             .pixels = spec_.h().in * spec_.w().in,
             .channels = spec_.geometry.in_channels,
             .left = std::min(spec_.w().pad_begin, kTile * spec_.tile_columns() + 2),
             .width = kTile * spec_.tile_columns() + 2};
  }

  void operator()(const StepArgs& args) const noexcept {
    const s64 units = spec_.geometry.batch * strips_ * panel_parts_;
    const auto body = [&](s64 begin, s64 end, int thread) {
      for (s64 i = begin; i < end; ++i) run(args, i, thread);
    };
    pool_of(args).parallel_for(units, body);
  }

 private:
  struct Strip {
    s64 image, row, rows;  // of tiles
    s64 panel, panels;
    f32* memory;
  };

  Shape input_shape() const {
    return {spec_.geometry.batch, spec_.geometry.in_channels, spec_.h().in, spec_.w().in};
  }

  // Strips for the threads, and panels where there are too few strips.
  void cut() {
    const s64 rows = spec_.tile_rows(), images = spec_.geometry.batch;
    const s64 missing = (spec_.threads + images - 1) / images;
    strip_rows_ = std::min(buffers_.rows, std::max<s64>((rows + missing - 1) / missing, 1));
    const bool few =
        strip_rows_ * spec_.tile_columns() < 64;  // tiles for weights that are read anew
    if (few) strip_rows_ = buffers_.rows;
    strips_ = (rows + strip_rows_ - 1) / strip_rows_;
    panel_parts_ = std::min(panels_, std::max<s64>(spec_.threads / (images * strips_), 1));
  }

  void run(const StepArgs& args, s64 index, int thread) const noexcept {
    const s64 part = index % panel_parts_, strip = index / panel_parts_ % strips_;
    const s64 begin = panels_ * part / panel_parts_, end = panels_ * (part + 1) / panel_parts_;
    const s64 row = strip * strip_rows_;
    const Strip s{index / panel_parts_ / strips_,
                  row,
                  std::min(strip_rows_, spec_.tile_rows() - row),
                  begin,
                  end - begin,
                  reinterpret_cast<f32*>(args.workspace) + thread * buffers_.elements};
    const f32* image = f32_input(args, 0) + s.image * x_.image;
    copy_(reinterpret_cast<const std::byte*>(image), kTile * row - spec_.h().pad_begin,
          kTile * s.rows + 2, s.memory);
    take(s);
    multiply(s);
    for (s64 r = 0; r < s.rows; ++r) give(args, s, r);
  }

  void take(const Strip& s) const noexcept {
    for (s64 r = 0; r < s.rows; ++r) {
      const WinogradTakeArgs take{
          .src = s.memory + kTile * r * buffers_.image.row,
          .pixel = buffers_.image.pixel,
          .row = buffers_.image.row,
          .dst = s.memory + buffers_.taken + r * spec_.tile_columns() * buffers_.in_tile,
          .tile = buffers_.in_tile,
          .point = buffers_.in_point,
          .tiles = spec_.tile_columns(),
          .channels = spec_.geometry.in_channels};
      spec_.kernels.take(&take);
    }
  }

  void multiply(const Strip& s) const noexcept {
    const ConvGeometry& g = spec_.geometry;
    const s64 width = spec_.lanes() * kPanelVectors;
    const s64 point = rounded_up(g.out_channels, spec_.lanes()) * g.in_channels;
    const long run = 0;
    PanelArgs panel{.src = nullptr,
                    .src_step = buffers_.in_tile,
                    .runs = &run,
                    .run_count = 1,
                    .run_length = g.in_channels,
                    .weights = nullptr,
                    .bias = packed_->zeros.as<f32>().data(),
                    .residual = nullptr,
                    .dst = nullptr,
                    .dst_step = buffers_.out_tile,
                    .residual_step = 0,
                    .count = s.rows * spec_.tile_columns(),
                    .channels = 0,
                    .end = {false, 0.0f, 0.0f, 1.0f, 0},
                    .residual_halves = false,
                    .dst_halves = false};
    const f32* weights = packed_->points.weights.as<f32>().data();
    for (s64 p = 0; p < kWinogradPoints; ++p) {
      panel.src = s.memory + buffers_.taken + p * buffers_.in_point;
      for (s64 first = s.panel * width; first < (s.panel + s.panels) * width; first += width) {
        panel.weights = weights + p * point + first * g.in_channels;
        panel.dst = s.memory + buffers_.products + p * buffers_.out_point + first;
        panel.channels = std::min(width, g.out_channels - first);
        spec_.kernels.panel.function(&panel);
      }
    }
  }

  // What mending a tile needs to know.
  struct Owner {
    const WinogradProduct* product;
    const f32* pixels;   // of the strip, at this row of tiles
    const f32* weights;  // of the first channel
  };

  void give(const StepArgs& args, const Strip& s, s64 r) const noexcept {
    const ConvGeometry& g = spec_.geometry;
    const s64 width = spec_.lanes() * kPanelVectors, first = s.panel * width;
    const s64 row = kTile * (s.row + r);
    const Owner owner{this, s.memory + kTile * r * buffers_.image.row,
                      packed_->weights.as<f32>().data() + first * g.in_channels * kTaps};
    const f32* residual = spec_.residual_input == 0
                              ? nullptr
                              : f32_input(args, spec_.residual_input) + s.image * residual_.image +
                                    row * residual_.row + first;
    const WinogradGiveArgs give{
        .src = s.memory + buffers_.products + r * spec_.tile_columns() * buffers_.out_tile + first,
        .tile = buffers_.out_tile,
        .point = buffers_.out_point,
        .bias = packed_->bias.as<f32>().data() + first,
        .residual = residual,
        .residual_pixel = residual_.pixel,
        .residual_row = residual_.row,
        .dst = f32_output(args, 0) + s.image * y_.image + row * y_.row + first,
        .pixel = y_.pixel,
        .row = y_.row,
        .rows = std::min(kTile, spec_.h().out - row),
        .columns = spec_.w().out,
        .channels = std::min(s.panels * width, g.out_channels - first),
        .end = spec_.end,
        .mend = mend,
        .owner = &owner};
    spec_.kernels.give(&give);
  }

  // The sum of a tile's pixel as the kernels have it.
  static f32 tile_sum(const WinogradGiveArgs& args, const f32* points, f32 bias, s64 y, s64 x) {
    const auto two = [](f32 a, f32 b, f32 c, f32 d, s64 i) {
      return i == 0 ? (a + b) + c : (b - c) - d;
    };
    f32 columns[4];
    for (s64 i = 0; i < 4; ++i) {
      const f32* from = points + i * args.point;
      columns[i] =
          two(from[0], from[4 * args.point], from[8 * args.point], from[12 * args.point], y);
    }
    return two(columns[0], columns[1], columns[2], columns[3], x) + bias;
  }

  // As kernels/float/panel.h sums.
  static f32 direct_sum(const Owner& owner, s64 x, s64 y, s64 channel, f32 bias) {
    const s64 channels = owner.product->spec_.geometry.in_channels;
    const PixelStrides& strides = owner.product->buffers_.image;
    const f32* weights = owner.weights + channel * channels * kTaps;
    f32 sum = bias;
    for (s64 t = 0; t < kTaps; ++t) {
      const f32* pixel = owner.pixels + (y + t / 3) * strides.row + (x + t % 3) * strides.pixel;
      for (s64 c = 0; c < channels; ++c) sum = std::fma(pixel[c], weights[c * kTaps + t], sum);
    }
    return sum;
  }

  static f32 ended(const SumEndArgs& end, f32 sum) {
    f32 value = end.clamps ? bounded(sum, end.min, end.max) : sum < 0.0f ? sum * end.alpha : sum;
    if (end.rounds == 1) value = static_cast<f32>(f16(value));
    if (end.rounds == 2) value = static_cast<f32>(bf16(value));
    return value;
  }

  static void mend_pixel(const WinogradGiveArgs& args, s64 x, s64 y, s64 channel) {
    const Owner& owner = *static_cast<const Owner*>(args.owner);
    const f32 bias = args.bias[channel];
    f32 sum = tile_sum(args, args.src + x / kTile * args.tile + channel, bias, y, x % kTile);
    if (!std::isfinite(sum)) sum = direct_sum(owner, x, y, channel, bias);
    if (args.residual != nullptr)
      sum += args.residual[y * args.residual_row + x * args.residual_pixel + channel];
    args.dst[y * args.row + x * args.pixel + channel] = ended(args.end, sum);
  }

  // Element by element, so that no bit depends on how many channels a vector has.
  static void mend(const WinogradGiveArgs* args, long tile, long channel, long count) {
    for (s64 i = 0; i < kTile * kTile * count; ++i) {
      const s64 x = kTile * tile + i / count % kTile, y = i / count / kTile;
      if (x < args->columns && y < args->rows) mend_pixel(*args, x, y, channel + i % count);
    }
  }

  WinogradSpec spec_;
  std::shared_ptr<const PackedWinograd> packed_;
  WinogradBuffers buffers_;
  PixelStrides x_, y_, residual_;
  RowCopy copy_ = {};
  s64 panels_ = 1, panel_parts_ = 1, strip_rows_ = 1, strips_ = 1;
};

std::string winograd_f32_reject(const LowerRequest& request, const ConvGeometry& g) {
  if (multiplies_bf16(request)) return "the products are of bf16";
  if (g.groups != 1) return "the convolution has groups";
  for (const WindowAxis& axis : {g.window.h(), g.window.w()}) {
    if (axis.kernel != 3 || axis.stride != 1 || axis.dilation != 1)
      return "not 3x3 without strides and dilations";
  }
  for (const f32 w : request.constant(1)->as<f32>()) {
    // Halves of sums stay finite.
    if (!(std::abs(w) < 1e30f)) return "a weight is too large";
  }
  return {};
}

// Of tiles at their edges too, with what becomes of pixels before the products and behind them.
f64 winograd_cycles(const WinogradSpec& spec) {
  const ConvGeometry& g = spec.geometry;
  const s64 lanes = spec.lanes(), tiles = g.batch * spec.tile_rows() * spec.tile_columns();
  const s64 in_vectors = (g.in_channels + lanes - 1) / lanes;
  const s64 out_vectors = (g.out_channels + lanes - 1) / lanes;
  constexpr f64 kTaken = 32, kGiven = 36;
  return panel_cycles(lanes, kWinogradPoints * tiles, g.in_channels, g.out_channels) +
         static_cast<f64>(tiles) *
             (kTaken * static_cast<f64>(in_vectors) + kGiven * static_cast<f64>(out_vectors));
}

}  // namespace

Offer lower_f_conv_winograd(const LowerRequest& request) {
  if (std::string reason = panel_conv_reject(request); !reason.empty()) return Reject{reason};
  const ConvGeometry g =
      conv_geometry(request.node, request.inputs[0].shape, request.inputs[1].shape);
  if (std::string reason = winograd_f32_reject(request, g); !reason.empty()) return Reject{reason};
  const Isa isa = isa_of(request.target);
  const WinogradSpec spec{.geometry = g,
                          .kernels = winograd_kernels(isa),
                          .end = sum_end_of(request.node),
                          .residual_input = request.has_input(3) ? size_t{3} : size_t{0},
                          .threads = request.target.threads};
  Candidate candidate = panel_image_candidate(request, spec.residual_input);
  candidate.kernel = kernel_name("f32", "winograd", isa);
  candidate.cost = winograd_cycles(spec);
  candidate.workspace_bytes =
      WinogradBuffers(spec).elements * static_cast<s64>(sizeof(f32)) * spec.threads;
  const Tensor weights = *request.constant(1);
  const Tensor bias = request.has_input(2) ? *request.constant(2) : Tensor();
  candidate.prepare = [weights, bias, kernel = spec.kernels.panel](const BindArgs&) {
    return std::vector<Preparation>{
        preparation<PackedWinograd>("winograd " + std::to_string(kernel.lanes), {weights, bias},
                                    [=] { return PackedWinograd(weights, bias, kernel); })};
  };
  candidate.bind = [spec](const BindArgs& bind) -> RunStep { return WinogradProduct(spec, bind); };
  return candidate;
}

}  // namespace octet
