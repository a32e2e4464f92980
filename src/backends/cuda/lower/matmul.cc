// SPDX-License-Identifier: Apache-2.0
// QMatMul of two activations: kernels/matmul_mma.cu.
#include <algorithm>

#include "backends/cuda/lower/conv_cost.h"
#include "backends/cuda/lower/product.h"
#include "core/divide.h"
#include "ops/shared/matmul_views.h"

namespace octet::cuda {
namespace {

constexpr s64 kStep = 64;  // of k, in a stage

struct MatmulTile {
  s64 warps_m = 4, tiles_m = 2, tiles_n = 8, stages = 4;

  s64 bm() const { return 16 * tiles_m * warps_m; }
  s64 bn() const { return 8 * tiles_n; }
  s64 shared_bytes() const { return stages * (bm() + bn()) * kStep; }
};

struct MatmulRequest {
  Product product;
  MatMulViews views;
  bool b_s8 = false;
  MatmulTile tile;
};

MatmulTile choose_tile(const MatMulGeometry& g) {
  MatmulTile tile;
  // A short k leaves little to do but storing: small tiles, more of them at once.
  tile.tiles_m = g.m > 64 && g.k > 2 * kStep ? 2 : 1;
  tile.warps_m = g.m > 32 ? 4 : g.m > 16 ? 2 : 1;
  tile.tiles_n = g.n <= 16 ? 2 : g.n <= 32 ? 4 : 8;
  tile.stages = std::clamp<s64>(ceil_div(g.k, kStep) + 1, 2, 4);
  return tile;
}

std::string read(const LowerRequest& request, MatmulRequest& matmul) {
  const auto code = [&](size_t i) {
    const Dtype dtype = request.inputs[i].dtype;
    return dtype == Dtype::u8 || dtype == Dtype::s8;
  };
  if (!code(kProductX) || !code(kProductWeights)) return "an operand is not u8 or s8";
  if (request.constant(kProductWeights) != nullptr) return "b is a constant";
  matmul.views = matmul_views(request.node, request.inputs[kProductX].shape,
                              request.inputs[kProductWeights].shape);
  matmul.b_s8 = request.inputs[kProductWeights].dtype == Dtype::s8;
  if (matmul.views.geometry.k == 0 || matmul.views.output.elements() == 0)
    return "there is nothing to compute";
  matmul.tile = choose_tile(matmul.views.geometry);
  return read_product(request, matmul.product);
}

// Bytes that a load takes along an operand's dense axis: 16, 8, 4 or 1.
s64 load_width(s64 offset, s64 dense, s64 other, const std::vector<s64>& batch) {
  s64 width = common_power(16, {offset, dense, other});
  for (s64 stride : batch) width = common_power(width, {stride});
  return width >= 4 ? width : 1;
}

s64 load_width(const MatmulRequest& matmul, const BindArgs& bind, size_t operand) {
  const MatMulViews& v = matmul.views;
  const MatMulGeometry& g = v.geometry;
  const s64 offset = bind.input_offset(operand);
  if (operand == kProductX) {
    return v.a_k == 1 ? load_width(offset, g.k, v.a_row, v.a_batch)
                      : load_width(offset, g.m, v.a_k, v.a_batch);
  }
  return v.b_k == 1 ? load_width(offset, g.k, v.b_n, v.b_batch)
                    : load_width(offset, g.n, v.b_k, v.b_batch);
}

// Codes that a thread stores at once.
s64 store_width(const MatmulRequest& matmul, const BindArgs& bind) {
  const MatMulViews& v = matmul.views;
  if (v.y_n != 1) return 1;
  const s64 bytes = matmul.product.element_bytes();
  s64 width =
      common_power(matmul.product.real() ? 4 : 16,
                   {2 * matmul.tile.tiles_n, v.geometry.n, v.y_row, bind.output_offset(0) / bytes});
  for (s64 stride : v.y_batch) width = common_power(width, {stride});
  for (size_t i : {kProductResidual, kProductAddend}) {
    const bool read =
        i == kProductResidual ? matmul.product.has_residual : matmul.product.has_addend;
    if (read && i < bind.inputs.size()) width = common_power(width, {bind.input_offset(i)});
  }
  return width;
}

std::string batches(const MatMulViews& v) {
  std::string list;
  for (int d = v.geometry.batch.rank(); d-- > 0;) {
    const auto i = static_cast<size_t>(d);
    list += fmt::format("X({},{},{},{}) ", v.geometry.batch[d], v.a_batch[i], v.b_batch[i],
                        v.y_batch[i]);
  }
  return list;
}

void set_geometry(KernelSource& source, const MatmulRequest& matmul) {
  const MatMulViews& v = matmul.views;
  const MatMulGeometry& g = v.geometry;
  source.set("SIZE_M", g.m), source.set("SIZE_N", g.n), source.set("SIZE_K", g.k);
  source.set("M_TILES", ceil_div(g.m, matmul.tile.bm()));
  source.set("N_TILES", ceil_div(g.n, matmul.tile.bn()));
  source.set("A_S8", s64{matmul.product.x_s8}), source.set("B_S8", s64{matmul.b_s8});
  source.set("ZP_A", s64{matmul.product.epilogue.zero_point(kProductX)});
  source.set("ZP_B", s64{matmul.product.epilogue.zero_point(kProductWeights)});
  source.set("A_ROW", v.a_row), source.set("A_K", v.a_k);
  source.set("B_N", v.b_n), source.set("B_K", v.b_k);
  source.set("Y_ROW", v.y_row), source.set("Y_N", v.y_n);
  source.set("BATCHES", batches(v));
}

Launch make_launch(const MatmulRequest& matmul, const BindArgs& bind) {
  const MatmulTile& tile = matmul.tile;
  const MatMulGeometry& g = matmul.views.geometry;
  Launch launch{.source = {"matmul_mma", {}}, .shape = {}};
  set_geometry(launch.source, matmul);
  set_epilogue(launch.source, matmul.product);
  launch.source.set("A_VEC", load_width(matmul, bind, kProductX));
  launch.source.set("B_VEC", load_width(matmul, bind, kProductWeights));
  launch.source.set("OUT_VEC", store_width(matmul, bind));
  const bool uniform = !matmul.product.bias && matmul.product.multiplier.shape().elements() == 1;
  launch.source.set("UNIFORM", s64{uniform});
  launch.source.set("ADD_COLUMNS", s64{bool{matmul.product.addend_row}});
  launch.source.set("WARPS_M", tile.warps_m), launch.source.set("WARPS_N", s64{1});
  launch.source.set("TILES_M", tile.tiles_m), launch.source.set("TILES_N", tile.tiles_n);
  launch.source.set("BK", kStep), launch.source.set("STAGES", tile.stages);
  constexpr s64 kTableBytes = 256;
  launch.shape = {.blocks = g.batches() * ceil_div(g.m, tile.bm()) * ceil_div(g.n, tile.bn()),
                  .threads = static_cast<int>(32 * tile.warps_m),
                  .shared_bytes = tile.shared_bytes() + (matmul.product.table ? kTableBytes : 0),
                  .programmatic_dependent = true};
  return launch;
}

// In cycles. Operands are read once: neighbouring tiles find them in the second-level cache.
f64 matmul_cost(const LowerRequest& request, const MatmulRequest& matmul, const Chip& chip) {
  const MatMulGeometry& g = matmul.views.geometry;
  const f64 tiles =
      static_cast<f64>(g.batches() * ceil_div(g.m, matmul.tile.bm()) *
                       ceil_div(g.n, matmul.tile.bn()) * matmul.tile.bm() * matmul.tile.bn());
  return bytes_cost(moved_bytes(request), chip) +
         tiles * static_cast<f64>(g.k) / (chip.costs().rate_mma_s8 * chip.multiprocessors);
}

}  // namespace

Offer lower_matmul_mma(const LowerRequest& request) {
  MatmulRequest matmul;
  if (std::string reason = read(request, matmul); !reason.empty()) return Reject{reason};
  const MatmulTile& tile = matmul.tile;
  Candidate candidate =
      candidate_of(request, fmt::format("matmul_mma_{}x{}", tile.bm(), tile.bn()), Layout::linear);
  const Chip& chip = device_of(request).chip();
  candidate.cost = matmul_cost(request, matmul, chip);
  candidate.macs_per_cycle = chip.costs().rate_mma_s8 * chip.multiprocessors;
  // Sums over b's codes are the kernel's own.
  const s64 n = matmul.views.geometry.n;
  const auto recipes = [product = matmul.product, n](const BindArgs&) {
    return epilogue_blobs(product, Tensor(), n,
                          [n] { return std::vector<s32>(static_cast<size_t>(n)); });
  };
  set_step(candidate, device_of(request),
           {.make_launch = [matmul](const BindArgs& bind) { return make_launch(matmul, bind); },
            .recipes = recipes},
           [product = matmul.product](const StepData& data) {
             return params::MatmulParams{data.input(kProductX), data.input(kProductWeights),
                                         epilogue_params(product, data, 0)};
           });
  return candidate;
}

}  // namespace octet::cuda
