// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <span>

#include "capi/call.h"
#include "capi/tensors.h"
#include "octet/machine.h"
#include "octet/tuning.h"

namespace octet::capi {
namespace {

// A context serves one call at a time. Two at once would be a race within it: the second is told so.
class Turn {
 public:
  explicit Turn(octet_context& context) : busy_(context.busy) {
    if (busy_.exchange(true))
      refuse("the context is in a call of another thread; give each thread a context of its own");
  }
  ~Turn() { busy_ = false; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::atomic<bool>& busy_;
};

ContextOptions context_options(const octet_context_options* given) {
  const octet_context_options asked = struct_of(given, kContextOptions);
  if (asked.threads < 0) refuse(fmt::format("octet_context_options.threads is {}", asked.threads));
  ContextOptions options;
  if (asked.threads > 0) options.threads = asked.threads;
  if (asked.device != nullptr) options.device = asked.device;
  if (asked.pool != nullptr) options.pool = asked.pool->pool;
  if (asked.tuning != nullptr)
    options.tuning = std::make_shared<const Tuning>(load_tuning(asked.tuning));
  options.chains = asked.no_chains == 0;
  return options;
}

octet_run run_of(const octet_run* given) {
  need(given, "run");
  const octet_run run = struct_of(given, kRun);
  if ((run.flags & ~uint64_t{OCTET_RUN_IN_STREAM}) != 0) {
    throw Error(Error::Code::unsupported,
                fmt::format("octet_run.flags is {:#x}; this library of Octet knows {:#x}",
                            run.flags, int{OCTET_RUN_IN_STREAM}));
  }
  return run;
}

RunOptions run_options(const octet_run& run) {
  RunOptions options;
  if ((run.flags & OCTET_RUN_IN_STREAM) != 0) options.stream = run.stream;
  options.cache_rows = run.cache_rows;
  return options;
}

template <class Views>
void read_views(Views& views, const octet_tensor* tensors, Place place) {
  views.clear();
  for (; place.index < place.infos.size(); ++place.index)
    views.push_back(view_of(element_of(tensors, place.index, kTensor), place));
}

void read_inputs(octet_context& context, const octet_run& run) {
  const Place place{"input", context.inputs};
  check_count(run.inputs, run.input_count, place);
  read_views(context.from, run.inputs, place);
}

void run_into(octet_context& context, const octet_run& run) {
  const Turn turn(context);
  read_inputs(context, run);
  const Place place{"output", context.outputs};
  check_count(run.outputs, run.output_count, place);
  read_views(context.to, run.outputs, place);
  context.context.run_into(context.from, context.to, run_options(run));
}

void prepare(octet_context& context, const octet_tensor* inputs, uint64_t count) {
  const Turn turn(context);
  Place place{"input", context.inputs};
  check_count(inputs, count, place);
  std::vector<Shape> shapes;
  std::string memory = "cpu";
  for (; place.index < count; ++place.index) {
    const octet_tensor input = element_of(inputs, place.index, kTensor);
    const TensorInfo& info = at(place);
    if (const Dtype dtype = dtype_of(input.dtype, place.name()); dtype != info.type.dtype)
      refuse(fmt::format("{} expects {}, got {}", place.name(), to_string(info.type),
                         dtype_name(dtype)));
    shapes.push_back(shape_of(input.rank, input.dims, place));
    if (place.index == 0 && input.device != nullptr) memory = input.device;
  }
  context.context.prepare(shapes, memory);
}

void give_output(const octet_context& context, uint64_t index, octet_tensor_info* info) {
  need(info, "info");
  TensorInfo output = at({"output", context.outputs, index});
  const std::vector<TensorType> types = context.context.output_types();
  if (index < types.size()) output.type = types[index];
  octet_tensor_info described = describe(output);
  described.name = context.outputs[index].name.c_str();
  write_sized(info, &described, kTensorInfo);
}

}  // namespace
}  // namespace octet::capi

namespace capi = octet::capi;

octet_context::octet_context(const octet_engine& made_of, octet::Context made)
    : inputs(made_of.inputs), outputs(made_of.outputs), context(std::move(made)) {}

octet_status octet_pool_create(int32_t threads, octet_pool** out, octet_error** error) {
  return capi::made(out, error, [&] {
    if (threads < 1) capi::refuse(fmt::format("a pool of {} threads; expected 1 to 256", threads));
    return std::make_unique<octet_pool>(octet_pool{octet::make_thread_pool(threads)});
  });
}

void octet_pool_free(octet_pool* pool) { delete pool; }

octet_status octet_context_create(const octet_engine* engine, const octet_context_options* options,
                                  octet_context** out, octet_error** error) {
  return capi::made(out, error, [&] {
    capi::need(engine, "engine");
    return std::make_unique<octet_context>(
        *engine, engine->engine.make_context(capi::context_options(options)));
  });
}

void octet_context_free(octet_context* context) { delete context; }

octet_status octet_context_prepare(octet_context* context, const octet_tensor* inputs,
                                   uint64_t input_count, octet_error** error) {
  return capi::guarded(error, [&] {
    capi::need(context, "context");
    capi::prepare(*context, inputs, input_count);
  });
}

octet_status octet_context_output(octet_context* context, uint64_t index, octet_tensor_info* info,
                                  octet_error** error) {
  return capi::guarded(error, [&] {
    capi::need(context, "context");
    const capi::Turn turn(*context);
    capi::give_output(*context, index, info);
  });
}

octet_status octet_context_run(octet_context* context, const octet_run* run, octet_error** error) {
  return capi::guarded(error, [&] {
    capi::need(context, "context");
    capi::run_into(*context, capi::run_of(run));
  });
}

octet_status octet_context_run_new(octet_context* context, const octet_run* run,
                                   octet_results** out, octet_error** error) {
  return capi::made(out, error, [&] {
    capi::need(context, "context");
    const octet_run asked = capi::run_of(run);
    const capi::Turn turn(*context);
    capi::read_inputs(*context, asked);
    return std::make_unique<octet_results>(
        octet_results{context->context.run(context->from, capi::run_options(asked))});
  });
}

uint64_t octet_results_count(const octet_results* results) {
  return results != nullptr ? results->tensors.size() : 0;
}

octet_status octet_results_tensor(const octet_results* results, uint64_t index,
                                  octet_tensor* tensor, octet_error** error) {
  return capi::guarded(error, [&] {
    capi::need(results, "results");
    capi::need(tensor, "tensor");
    if (index >= results->tensors.size())
      capi::refuse(fmt::format("there is no result {}, only {}", index, results->tensors.size()));
    const octet_tensor described = capi::describe(results->tensors[index]);
    capi::write_sized(tensor, &described, capi::kTensor);
  });
}

void octet_results_free(octet_results* results) { delete results; }

octet_status octet_context_synchronize(octet_context* context, octet_error** error) {
  return capi::guarded(error, [&] {
    capi::need(context, "context");
    const capi::Turn turn(*context);
    context->context.synchronize();
  });
}
