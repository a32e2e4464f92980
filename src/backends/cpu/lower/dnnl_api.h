// SPDX-License-Identifier: Apache-2.0
// oneDNN's interfaces 2 (Debian 12) and 3 (release builds) as one: what differs between them is here, and nothing else of the
// project asks for a version.
#pragma once

#include <dnnl.hpp>
#include <string>

#include "arch/isa.h"

namespace octet {

struct DnnlWindow {
  dnnl::memory::dims strides, dilations, pad_begin, pad_end;  // dilation 0: none
};

struct DnnlOperands {
  dnnl::memory::desc src, weights, bias, dst;  // an empty bias: none
};

// Throw dnnl::error where oneDNN has no implementation.
dnnl::convolution_forward::primitive_desc dnnl_convolution(const DnnlOperands& operands,
                                                           const DnnlWindow& window,
                                                           const dnnl::primitive_attr& attributes,
                                                           const dnnl::engine& engine);
dnnl::deconvolution_forward::primitive_desc dnnl_deconvolution(
    const DnnlOperands& operands, const DnnlWindow& window, const dnnl::primitive_attr& attributes,
    const dnnl::engine& engine);
dnnl::matmul::primitive_desc dnnl_matrix_product(const DnnlOperands& operands,
                                                 const dnnl::primitive_attr& attributes,
                                                 const dnnl::engine& engine);

// y = x for x > 0, slope * x else.
void append_leaky_relu(dnnl::post_ops& ops, float slope);

dnnl::memory::dims dims_of(const dnnl::memory::desc& desc);

// All of a description, or nothing where that is more than blocks and strides. Its bytes would not do: some mean nothing.
std::string text_of(const dnnl::memory::desc& desc);

// What oneDNN may use where ours may use `isa`.
dnnl::cpu_isa dnnl_isa(Isa isa);

// Sets how many threads oneDNN may use when it is called from this thread, and returns what it was. Builds of oneDNN without threads:
// always 1.
int set_dnnl_threads(int count) noexcept;

}  // namespace octet
