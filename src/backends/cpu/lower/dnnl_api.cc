// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/dnnl_api.h"

#include <fmt/format.h>

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
#include <omp.h>
#endif

namespace octet {
namespace {

constexpr auto kInference = dnnl::prop_kind::forward_inference;

template <class List>
std::string joined(const List& values, int count) {
  return fmt::format("{}", fmt::join(values, values + count, ","));
}

}  // namespace

#if DNNL_VERSION_MAJOR >= 3

dnnl::convolution_forward::primitive_desc dnnl_convolution(const DnnlOperands& o,
                                                           const DnnlWindow& w,
                                                           const dnnl::primitive_attr& attributes,
                                                           const dnnl::engine& engine) {
  return {engine,      kInference, dnnl::algorithm::convolution_direct,
          o.src,       o.weights,  o.bias,
          o.dst,       w.strides,  w.dilations,
          w.pad_begin, w.pad_end,  attributes};
}

dnnl::deconvolution_forward::primitive_desc dnnl_deconvolution(
    const DnnlOperands& o, const DnnlWindow& w, const dnnl::primitive_attr& attributes,
    const dnnl::engine& engine) {
  return {engine,      kInference, dnnl::algorithm::deconvolution_direct,
          o.src,       o.weights,  o.bias,
          o.dst,       w.strides,  w.dilations,
          w.pad_begin, w.pad_end,  attributes};
}

dnnl::matmul::primitive_desc dnnl_matrix_product(const DnnlOperands& o,
                                                 const dnnl::primitive_attr& attributes,
                                                 const dnnl::engine& engine) {
  return {engine, o.src, o.weights, o.bias, o.dst, attributes};
}

void append_leaky_relu(dnnl::post_ops& ops, float slope) {
  ops.append_eltwise(dnnl::algorithm::eltwise_relu, slope, 0.0f);
}

dnnl::memory::dims dims_of(const dnnl::memory::desc& desc) { return desc.get_dims(); }

// Weights of integers alone have more in a description (compensations), and oneDNN is given floats alone.
std::string text_of(const dnnl::memory::desc& desc) {
  if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return {};
  const int rank = desc.get_ndims(), blocks = desc.get_inner_nblks();
  return fmt::format(
      "[type {}: {} in {} from {} by {} blocks {} of {}]", static_cast<int>(desc.get_data_type()),
      joined(desc.get_dims().data(), rank), joined(desc.get_padded_dims().data(), rank),
      desc.get_submemory_offset(), joined(desc.get_strides().data(), rank),
      joined(desc.get_inner_blks().data(), blocks), joined(desc.get_inner_idxs().data(), blocks));
}

constexpr dnnl::cpu_isa kAllInstructions = dnnl::cpu_isa::isa_default;

#else

dnnl::convolution_forward::primitive_desc dnnl_convolution(const DnnlOperands& o,
                                                           const DnnlWindow& w,
                                                           const dnnl::primitive_attr& attributes,
                                                           const dnnl::engine& engine) {
  return {{kInference, dnnl::algorithm::convolution_direct, o.src, o.weights, o.bias, o.dst,
           w.strides, w.dilations, w.pad_begin, w.pad_end},
          attributes,
          engine};
}

dnnl::deconvolution_forward::primitive_desc dnnl_deconvolution(
    const DnnlOperands& o, const DnnlWindow& w, const dnnl::primitive_attr& attributes,
    const dnnl::engine& engine) {
  return {{kInference, dnnl::algorithm::deconvolution_direct, o.src, o.weights, o.bias, o.dst,
           w.strides, w.dilations, w.pad_begin, w.pad_end},
          attributes,
          engine};
}

dnnl::matmul::primitive_desc dnnl_matrix_product(const DnnlOperands& o,
                                                 const dnnl::primitive_attr& attributes,
                                                 const dnnl::engine& engine) {
  return {{o.src, o.weights, o.bias, o.dst}, attributes, engine};
}

void append_leaky_relu(dnnl::post_ops& ops, float slope) {
  ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, slope, 0.0f);
}

dnnl::memory::dims dims_of(const dnnl::memory::desc& desc) { return desc.dims(); }

std::string text_of(const dnnl::memory::desc& desc) {
  const dnnl_memory_desc_t& d = desc.data;
  if (d.format_kind != dnnl_blocked || d.extra.flags != dnnl_memory_extra_flag_none) return {};
  const dnnl_blocking_desc_t& blocking = d.format_desc.blocking;
  return fmt::format("[type {}: {} in {} from {} by {} blocks {} of {}]",
                     static_cast<int>(d.data_type), joined(d.dims, d.ndims),
                     joined(d.padded_dims, d.ndims), d.offset0, joined(blocking.strides, d.ndims),
                     joined(blocking.inner_blks, blocking.inner_nblks),
                     joined(blocking.inner_idxs, blocking.inner_nblks));
}

constexpr dnnl::cpu_isa kAllInstructions = dnnl::cpu_isa::all;

#endif

dnnl::cpu_isa dnnl_isa(Isa isa) {
  if (isa.has(Isa::amx)) return kAllInstructions;
  if (isa.has(Isa::vnni)) return dnnl::cpu_isa::avx512_core_bf16;
  if (isa.has(Isa::avx_vnni)) return dnnl::cpu_isa::avx2_vnni;
  return isa.has(Isa::avx2) ? dnnl::cpu_isa::avx2 : dnnl::cpu_isa::sse41;
}

int set_dnnl_threads([[maybe_unused]] int count) noexcept {
#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP
  const int before = omp_get_max_threads();
  if (before != count) omp_set_num_threads(count);
  return before;
#else
  return 1;
#endif
}

}  // namespace octet
