// SPDX-License-Identifier: Apache-2.0
// oneDNN as the vendor library of float products (docs/numerics.md section 7, class `close`). A step is cut into slices,
// one for each thread of our own pool; inside a slice oneDNN runs on the calling thread alone, so its OpenMP threads
// never compete with ours.
#pragma once

#include <dnnl.hpp>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/kernels/float/unary.h"
#include "core/types.h"
#include "octet/tensor.h"
#include "ops/shared/activation.h"
#include "plan/offer.h"

namespace octet {

// The process's engine; the first call caps oneDNN's instruction set as OCTET_CPU_ISA caps ours.
const dnnl::engine& dnnl_engine();

// While alive, oneDNN called from this thread uses this thread only. Needed around creation as well as execution.
class SingleThread {
 public:
  SingleThread() noexcept;
  ~SingleThread();
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;

 private:
  int before_;
};

// What is computed of a slice of the result when oneDNN is done with it; null: nothing.
struct EndOfSlice {
  UnaryFunction function = nullptr;
  f32 a = 0.0f, b = 0.0f;
  int rounds = 0;  // what the function gives, as UnaryArgs has it

  void operator()(f32* values, s64 count) const noexcept;
};

// User-provided scratchpad, a residual as sum (the slice's output holds it beforehand), then the activation where oneDNN's
// keeps NaN; EndOfSlice has the others.
dnnl::primitive_attr product_attributes(const Activation& activation, bool residual);

// One slice: a primitive with its memory objects. Not reentrant: a plan belongs to one context.
class DnnlSlice {
 public:
  // Where the slice lies, in elements from the step's pointers.
  struct Place {
    s64 src = 0;
    s64 weights = 0;
    s64 dst = 0;  // and the residual
    s64 dst_elements = 0;
    s64 src_bytes = sizeof(f32);      // of an element
    s64 weights_bytes = sizeof(f32);  // of one that a run brings
  };
  struct Pointers {
    const std::byte* src;
    const std::byte* weights;
    const f32* bias;      // null: none
    const f32* residual;  // null: none
    f32* dst;
    std::byte* scratchpad;
    EndOfSlice end;
  };

  DnnlSlice(const dnnl::primitive& primitive, const dnnl::primitive_desc_base& desc,
            const Place& place);
  dnnl_status_t run(const Pointers& pointers) const noexcept;

 private:
  void bind(size_t i, int arg, const dnnl::memory::desc& desc);
  void point(size_t i, const void* data) const noexcept;

  dnnl::primitive primitive_;
  dnnl::stream stream_;
  std::vector<dnnl::memory> memories_;
  std::vector<dnnl_exec_arg_t> args_;
  Place place_;
};

// Of inputs 0 and 1, how many elements the product reads as bf16; 0: the input as it is.
struct NarrowElements {
  s64 source = 0, weights = 0;

  s64 of(size_t input) const { return input == 0 ? source : weights; }
};

// The step as it runs: slices that run at the same time and read the same weights.
struct DnnlProduct {
  std::vector<DnnlSlice> slices = {};
  Tensor weights = {};  // packed; empty: input 1 is read at run time
  Tensor bias = {};
  Tensor source = {};  // constant; empty: input 0 is read at run time
  size_t residual_input = 0;
  s64 scratchpad_bytes = 0;  // of one thread
  NarrowElements narrow = {};
  EndOfSlice end = {};

  // Throws Error when a slice failed, once all are done.
  void operator()(const StepArgs& args) const;
  // An input in bf16, there in the workspace.
  const std::byte* narrowed_input(const StepArgs& args, size_t input, s64 offset) const;
};

// One slice before it is bound. Creating the description is cheap; generating its code is prepared.
struct ProductSlice {
  dnnl::primitive_desc_base desc;
  DnnlSlice::Place place;

  dnnl::memory::desc weights() const { return desc.query_md(dnnl::query::weights_md); }
};

// A whole step before it is bound.
struct ProductStep {
  std::string kernel;
  std::vector<ProductSlice> slices;
  Tensor weights;  // as the graph has them; empty: input 1 is read at run time
  dnnl::memory::desc weights_given = {};  // their order
  Tensor bias;                            // may be empty
  Tensor source = {};                     // constant; empty: input 0 is read at run time
  size_t residual_input = 0;              // 0: none
  NarrowElements narrow = {};
  EndOfSlice end = {};  // product_candidate() says it
};

// Whether the product of a bf16 layer runs on the instructions for bf16 that this machine has.
bool multiplies_bf16(const LowerRequest& request);

// All of the candidate but the layouts, which are linear until the caller says otherwise. The activation is the node's.
Candidate product_candidate(const LowerRequest& request, ProductStep step);

// What make() gives, or why not where oneDNN has no primitive for it.
template <class Make>
Offer primitive_offer(const Make& make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    return Reject{std::string("oneDNN has no primitive: ") + error.what()};
  }
}

// make(type of what is multiplied): bf16 where the layer's product runs so and is offered, else f32.
template <class Make>
Offer product_offer(const LowerRequest& request, const Make& make) {
  using Type = dnnl::memory::data_type;
  if (multiplies_bf16(request)) {
    Offer narrow = primitive_offer([&] { return make(Type::bf16); });
    if (!std::holds_alternative<Reject>(narrow)) return narrow;
  }
  return primitive_offer([&] { return make(Type::f32); });
}

// begin of part `i` when `count` items are cut into `parts`.
inline s64 part_begin(s64 count, s64 parts, s64 i) { return count * i / parts; }

}  // namespace octet
