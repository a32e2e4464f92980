// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/lower/f_dnnl.h"

#include <dnnl_debug.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>

#include "arch/isa.h"
#include "backends/cpu/device.h"
#include "backends/cpu/lower/bf16_values.h"
#include "backends/cpu/lower/dnnl_api.h"
#include "backends/cpu/lower/f_common.h"
#include "backends/cpu/lower/rounding.h"
#include "backends/cpu/lower/unit_rates.h"
#include "backends/host/queue.h"
#include "core/check.h"
#include "core/memory.h"

namespace octet {
namespace {

constexpr size_t kSrc = 0, kWeights = 1, kDst = 2, kScratchpad = 3, kBias = 4;

// oneDNN's own maximum and minimum make a number of NaN: of its activations only the one with a slope keeps it. The others are
// applied to a slice when it is done.
bool keeps_nan(const Activation& activation) {
  return activation.kind == Activation::Kind::leaky_relu && activation.alpha != 0.0f;
}

EndOfSlice end_of(const Activation& activation, Isa isa) {
  const bool avx512 = isa.has(Isa::vnni);
  if (activation.is_clamp())
    return {.function = avx512 ? unary_clip_vnni : unary_clip_avx2,
            .a = activation.min,
            .b = activation.max};
  if (activation.kind == Activation::Kind::leaky_relu && !keeps_nan(activation))
    return {.function = avx512 ? unary_leaky_relu_vnni : unary_leaky_relu_avx2,
            .a = activation.alpha};
  return {};
}

// f32 constants in the format that a primitive wants.
Tensor reorder(const Tensor& src, const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  const SingleThread guard;
  const dnnl::engine& engine = dnnl_engine();
  Tensor dst(Dtype::f32, Shape{static_cast<s64>((to.get_size() + sizeof(f32) - 1) / sizeof(f32))});
  dnnl::memory a(from, engine, const_cast<std::byte*>(src.data()));  // NOLINT: read only
  dnnl::memory b(to, engine, dst.mutable_data());
  dnnl::stream stream(engine);
  dnnl::reorder(a, b).execute(stream, a, b);
  stream.wait();
  return dst;
}

// Rounded up to whole cache lines, for each thread has its own.
s64 scratchpad_bytes(const std::vector<ProductSlice>& slices) {
  size_t bytes = 0;
  for (const ProductSlice& slice : slices) {
    bytes = std::max(bytes, slice.desc.query_md(dnnl::query::scratchpad_md).get_size());
  }
  return static_cast<s64>((bytes + 63) / 64 * 64);
}

// Of an input as bf16, rounded up to whole cache lines.
s64 narrow_bytes(s64 elements) {
  return (elements * static_cast<s64>(sizeof(bf16)) + 63) / 64 * 64;
}

// Generated code, of each slice.
using Primitives = std::vector<dnnl::primitive>;

Primitives generate(const std::vector<ProductSlice>& slices) {
  const SingleThread guard;
  Primitives primitives;
  for (const ProductSlice& slice : slices) primitives.emplace_back(slice.desc.get());
  return primitives;
}

// What `make` gives, its failure as our error.
template <class Make>
auto made_or_failed(const std::string& kernel, const Make& make) -> decltype(make()) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    const bool memory = error.status == dnnl_out_of_memory;
    fail(memory ? Error::Code::out_of_memory : Error::Code::internal, "oneDNN cannot create {}: {}",
         kernel, error.what());
  }
}

bool is_packed(const ProductStep& step) {
  return step.weights && step.weights_given != step.slices[0].weights();
}

// The weights, where they are packed, and the code. oneDNN itself shares equal code of a process.
std::vector<Preparation> prepare_product(const ProductStep& step) {
  std::vector<Preparation> result;
  if (is_packed(step)) {
    const dnnl::memory::desc to = step.slices[0].weights();
    const std::string from = text_of(step.weights_given), into = text_of(to);
    const std::string key = from.empty() || into.empty() ? "" : "oneDNN " + from + into;
    result.push_back(preparation<Tensor>(key, {step.weights}, [step, to] {
      return made_or_failed(step.kernel,
                            [&] { return reorder(step.weights, step.weights_given, to); });
    }));
  }
  result.push_back(preparation<Primitives>("", {}, [step] {
    return made_or_failed(step.kernel, [&] { return generate(step.slices); });
  }));
  return result;
}

DnnlProduct bind_product(const ProductStep& step, const BindArgs& args) {
  DnnlProduct product{.bias = step.bias,
                      .source = step.source,
                      .residual_input = step.residual_input,
                      .scratchpad_bytes = scratchpad_bytes(step.slices),
                      .narrow = step.narrow,
                      .end = step.end};
  const bool packed = is_packed(step);
  product.weights = packed ? prepared_tensor(args, 0) : step.weights;
  const Primitives& primitives = *args.prepared_as<Primitives>(packed ? 1 : 0);
  for (size_t i = 0; i < primitives.size(); ++i)
    product.slices.emplace_back(primitives[i], step.slices[i].desc, step.slices[i].place);
  return product;
}

}  // namespace

namespace {

// oneDNN's generators write through null where the system refuses them memory: they are called only while there is plenty.
// Taking it and giving it back moves no page.
void require_room() {
  constexpr size_t kRoom = size_t{32} << 20;
  void* room = ::mmap(nullptr, kRoom, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    fail(Error::Code::out_of_memory, "float kernels need {}, which the system does not have",
         human_memory(kRoom));
  }
  ::munmap(room, kRoom);
}

// Products generate code when they first run, too; without a limit of the process the question is not worth its microsecond.
void require_room_to_run() {
  static const bool limited = [] {
    rlimit limit{};
    return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  }();
  if (limited) require_room();
}

}  // namespace

// Everything that oneDNN creates is created on its engine.
const dnnl::engine& dnnl_engine() {
  require_room();
  static const dnnl::engine engine = [] {
    // Refused only when another user of oneDNN in this process came first; then its choice stands.
    (void)dnnl::set_max_cpu_isa(dnnl_isa(detect_isa()));
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

SingleThread::SingleThread() noexcept : before_(set_dnnl_threads(1)) {}

SingleThread::~SingleThread() {
  if (before_ != 1) (void)set_dnnl_threads(before_);
}

dnnl::primitive_attr product_attributes(const Activation& activation, bool residual) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  dnnl::post_ops ops;
  // A binary post-op would save the copy, but falls off the fast implementations of oneDNN 2.6.
  if (residual) ops.append_sum(1.0f);
  if (keeps_nan(activation)) append_leaky_relu(ops, activation.alpha);
  attributes.set_post_ops(ops);
  return attributes;
}

void EndOfSlice::operator()(f32* values, s64 count) const noexcept {
  if (function == nullptr) return;
  const UnaryArgs args{values, values, count, a, b, rounds};
  function(&args);
}

DnnlSlice::DnnlSlice(const dnnl::primitive& primitive, const dnnl::primitive_desc_base& desc,
                     const Place& place)
    : primitive_(primitive), stream_(dnnl_engine()), place_(place) {
  bind(kSrc, DNNL_ARG_SRC, desc.query_md(dnnl::query::src_md));
  bind(kWeights, DNNL_ARG_WEIGHTS, desc.query_md(dnnl::query::weights_md));
  bind(kDst, DNNL_ARG_DST, desc.query_md(dnnl::query::dst_md));
  bind(kScratchpad, DNNL_ARG_SCRATCHPAD, desc.query_md(dnnl::query::scratchpad_md));
  const dnnl::memory::desc bias = desc.query_md(dnnl::query::weights_md, 1);
  if (bias.get_size() != 0) bind(kBias, DNNL_ARG_BIAS, bias);
}

void DnnlSlice::bind(size_t i, int arg, const dnnl::memory::desc& desc) {
  OCTET_CHECK(i == memories_.size());
  memories_.push_back(dnnl::memory(desc, dnnl_engine(), DNNL_MEMORY_NONE));
  args_.push_back({arg, memories_.back().get()});
}

void DnnlSlice::point(size_t i, const void* data) const noexcept {
  dnnl_memory_set_data_handle(args_[i].memory,
                              const_cast<void*>(data));  // NOLINT: inputs are only read
}

dnnl_status_t DnnlSlice::run(const Pointers& p) const noexcept {
  f32* dst = p.dst + place_.dst;
  if (p.residual != nullptr) {
    std::memcpy(dst, p.residual + place_.dst,
                static_cast<size_t>(place_.dst_elements) * sizeof(f32));
  }
  point(kSrc, p.src + place_.src * place_.src_bytes);
  point(kWeights, p.weights + place_.weights * place_.weights_bytes);
  point(kDst, dst);
  point(kScratchpad, p.scratchpad);
  if (args_.size() > kBias) point(kBias, p.bias);
  const SingleThread guard;
  try {
    const dnnl_status_t status = dnnl_primitive_execute(
        primitive_.get(), stream_.get(), static_cast<int>(args_.size()), args_.data());
    if (status == dnnl_success) p.end(dst, place_.dst_elements);
    return status;
  } catch (const std::bad_alloc&) {  // oneDNN lets it pass
    return dnnl_out_of_memory;
  } catch (...) {
    return dnnl_runtime_error;
  }
}

// The input holds values of bf16 as f32.
const std::byte* DnnlProduct::narrowed_input(const StepArgs& args, size_t input, s64 offset) const {
  constexpr s64 kPiece = 4096;
  const auto* src = reinterpret_cast<const f32*>(args.inputs[input]);
  std::byte* dst = args.workspace + offset;
  const s64 elements = narrow.of(input), pieces = (elements + kPiece - 1) / kPiece;
  pool_of(args).parallel_for(pieces, [&](s64 begin, s64 end, int) {
    const s64 first = begin * kPiece, last = std::min(end * kPiece, elements);
    narrowed(src + first, last - first, dst + first * static_cast<s64>(sizeof(bf16)));
  });
  return dst;
}

void DnnlProduct::operator()(const StepArgs& args) const {
  const auto f32_at = [](const std::byte* p) { return reinterpret_cast<const f32*>(p); };
  const DnnlSlice::Pointers common{
      .src = narrow.source > 0 ? narrowed_input(args, 0, 0)
             : source          ? source.data()
                               : args.inputs[0],
      .weights = narrow.weights > 0 ? narrowed_input(args, 1, narrow_bytes(narrow.source))
                 : weights          ? weights.data()
                                    : args.inputs[1],
      .bias = f32_at(bias.data()),
      .residual = residual_input != 0 ? f32_at(args.inputs[residual_input]) : nullptr,
      .dst = reinterpret_cast<f32*>(args.outputs[0]),
      .scratchpad = args.workspace + narrow_bytes(narrow.source) + narrow_bytes(narrow.weights),
      .end = end};
  require_room_to_run();
  std::atomic<dnnl_status_t> failure{dnnl_success};
  pool_of(args).parallel_for(static_cast<s64>(slices.size()), [&](s64 begin, s64 end, int thread) {
    DnnlSlice::Pointers own = common;
    own.scratchpad += thread * scratchpad_bytes;
    for (s64 i = begin; i < end; ++i) {
      const dnnl_status_t status = slices[static_cast<size_t>(i)].run(own);
      if (status != dnnl_success) failure = status;
    }
  });
  const dnnl_status_t status = failure;
  if (status == dnnl_success) return;
  if (status == dnnl_out_of_memory)
    fail(Error::Code::out_of_memory, "oneDNN found no memory for a layer's run");
  fail(Error::Code::internal, "oneDNN could not run a layer: {}", dnnl_status2str(status));
}

bool multiplies_bf16(const LowerRequest& request) {
  return request.node.decision.precision == Precision::bf16 && cpu_multiplies_bf16() &&
         isa_of(request.target).has(Isa::vnni);
}

Candidate product_candidate(const LowerRequest& request, ProductStep step) {
  step.end = end_of(activation_of(request.node), isa_of(request.target));
  if (step.end.function == nullptr)
    step.end.function = rounding_function(request.node, isa_of(request.target));
  else
    step.end.rounds = rounding_code(request.node);
  Candidate candidate;
  candidate.kernel = step.kernel;
  candidate.note = step.slices.front().desc.impl_info_str();
  if (rounding_of(request.node) != Precision::none)
    candidate.note += "; " + rounding_note(request.node);
  candidate.close = true;
  const bool narrow = step.narrow.source > 0;
  candidate.macs_per_cycle = real_unit_rate(isa_of(request.target)) * (narrow ? 2 : 1);
  candidate.inputs.assign(request.inputs.size(), Layout::linear);
  candidate.outputs = {Layout::linear};
  candidate.holds = {step.source && !narrow, static_cast<bool>(step.weights),
                     static_cast<bool>(step.bias)};
  candidate.workspace_bytes = narrow_bytes(step.narrow.source) + narrow_bytes(step.narrow.weights) +
                              scratchpad_bytes(step.slices) * request.target.threads;
  candidate.prepare = [step](const BindArgs&) { return prepare_product(step); };
  candidate.bind = [step](const BindArgs& args) -> RunStep { return bind_product(step, args); };
  return candidate;
}

}  // namespace octet
