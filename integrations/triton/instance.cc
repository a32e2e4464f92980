// SPDX-License-Identifier: Apache-2.0
#include "instance.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "octet/device_memory.h"
#include "octet/rows.h"
#include "trial.h"

namespace octet::triton {
namespace {

// Of one row, or of the whole where requests carry whole shapes.
std::vector<uint64_t> row_bytes(const std::vector<TensorInfo>& infos,
                                const std::vector<Shape>& shapes, int64_t rows) {
  std::vector<uint64_t> bytes;
  for (size_t i = 0; i < infos.size(); ++i) {
    const int64_t whole = TensorType{infos[i].type.dtype, shapes[i]}.bytes();
    bytes.push_back(static_cast<uint64_t>(whole / rows));
  }
  return bytes;
}

std::vector<Shape> shapes_in(const std::vector<TensorType>& types) {
  std::vector<Shape> shapes;
  for (const TensorType& type : types) shapes.push_back(type.shape);
  return shapes;
}

// Those at the beginning whose samples have the same sizes; where requests carry whole shapes, the first alone.
size_t alike(std::span<Request> requests, bool batched) {
  size_t count = 1;
  while (batched && count < requests.size() && requests[count].sample() == requests[0].sample())
    ++count;
  return count;
}

}  // namespace

Instance::Instance(TRITONBACKEND_ModelInstance* server, ServedModel& model)
    : server_(server),
      model_(model),
      runner_(model.engine(), model.device_for(server),
              model.threads_for(model.device_for(server))),
      plan_(model.warm_up(runner_)),
      owner_(runner_.owner()),
      input_staging_(model.signature().inputs.size()),
      output_staging_(model.signature().outputs.size()) {}

void Instance::execute(std::span<TRITONBACKEND_Request* const> requests) {
  const uint64_t start = now();
  std::vector<Request> open = read(requests, {start, start, start});
  for (std::span<Request> left(open); !left.empty();) {
    const size_t count = alike(left, model_.signature().batched());
    run_all(left.first(count), start);
    left = left.subspan(count);
  }
}

// Before anything else: from then on each is answered, at the latest when it ends.
std::vector<Request> Instance::taken(std::span<TRITONBACKEND_Request* const> requests) const {
  std::vector<Request> all;
  try {
    all.reserve(requests.size());
  } catch (...) {
    const uint64_t time = now();
    for (TRITONBACKEND_Request* given : requests)
      Request(server_, given).fail(current_error(), {time, time, time});
    throw;
  }
  for (TRITONBACKEND_Request* given : requests) all.emplace_back(server_, given);
  return all;
}

// Those that can run; the others are answered.
std::vector<Request> Instance::read(std::span<TRITONBACKEND_Request* const> requests,
                                    const Times& times) {
  std::vector<Request> all = taken(requests);
  std::vector<Request> open;
  open.reserve(all.size());
  for (Request& request : all) {
    try {
      request.read(model_.signature());
      open.push_back(std::move(request));
    } catch (...) {
      request.fail(current_error(), times);
    }
  }
  return open;
}

void Instance::run_all(std::span<Request> requests, uint64_t start) {
  Group group;
  group.requests = requests;
  group.times = {start, start, start};
  try {
    run_group(group);
  } catch (...) {
    // One may be to blame (an index outside of its axis, say), and others must not suffer from whom they met.
    group.times.compute_end = now();
    if (requests.size() == 1) return requests[0].fail(current_error(), group.times);
    for (size_t i = 0; i < requests.size(); ++i) run_all(requests.subspan(i, 1), start);
    return;
  }
  for (Request& request : requests) {
    try {
      request.keep_states();
      request.succeed(group.times);
    } catch (...) {
      request.fail(current_error(), group.times);
    }
  }
  ignore(TRITONBACKEND_ModelInstanceReportBatchStatistics(
      server_, static_cast<uint64_t>(group.rows), start, group.times.compute_start,
      group.times.compute_end, now()));
}

std::vector<Shape> Instance::shapes_for(const Group& group, int64_t size) const {
  return shapes_of(group.requests[0].sample(), model_.signature().batched() ? size : 0);
}

void Instance::run_group(Group& group) {
  const Signature& signature = model_.signature();
  const int64_t plans_before = runner_.plans();
  copied_ = 0;
  if (signature.batched()) model_.check_rows(runner_, group.requests[0].sample(), false);
  for (const Request& request : group.requests) group.rows += request.rows();
  group.inputs.resize(signature.inputs.size());
  for (const Request& request : group.requests) request.gather(group.inputs);
  group.input_rows = row_bytes(signature.inputs, shapes_for(group, 1), 1);
  group.on_device = runner_.is_gpu() && std::ranges::any_of(group.inputs, [&](const Pieces& p) {
                      return p.any_of(owner_);
                    });
  const std::vector<int64_t> sizes =
      signature.batched() ? plan_.runs(group.rows) : std::vector<int64_t>{1};
  const Runner::Prepared& prepared = prepared_for(group, sizes[0]);
  if (prepared.sized_by_data()) {
    run_sized_by_data(group);
  } else {
    group.output_rows = row_bytes(signature.outputs, shapes_in(prepared.outputs), sizes[0]);
    place_outputs(group, prepared);
    run_batches(group, sizes);
  }
  group.times.compute_end = now();
  count(group, sizes, plans_before);
  ignore(guarded([&] { offer_to_clip_metrics(group); }));
}

void Instance::offer_to_clip_metrics(const Group& group) const {
  ClipMetrics* metrics = model_.clip_metrics();
  const int64_t rows = model_.counted_rows();
  if (metrics == nullptr || group.rows < rows || !metrics->wants()) return;
  const std::vector<Shape> shapes = shapes_of(group.requests[0].sample(), rows);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    Tensor input(model_.signature().inputs[i].type.dtype, shapes[i]);
    group.inputs[i].read(0, input.bytes(), input.mutable_data(), kHostMemory);
    inputs.push_back(std::move(input));
  }
  metrics->offer(std::move(inputs));
}

void Instance::place_outputs(Group& group, const Runner::Prepared& prepared) {
  const Signature& signature = model_.signature();
  group.outputs.resize(signature.outputs.size());
  for (Request& request : group.requests) {
    for (size_t i = 0; i < signature.outputs.size(); ++i) {
      Shape shape = prepared.outputs[i].shape;
      if (signature.batched()) shape[0] = request.rows();
      request.place_output({signature.outputs[i].type.dtype, shape}, i,
                           group.on_device ? owner_ : kHostMemory, group.outputs[i]);
    }
  }
  group.on_device |= runner_.is_gpu() && std::ranges::any_of(group.outputs, [&](const Pieces& p) {
                       return p.any_of(owner_);
                     });
}

// Of a size that turns up for the first time, too, outputs have one row for each of the batch.
const Runner::Prepared& Instance::prepared_for(const Group& group, int64_t size) {
  const Runner::Prepared& prepared = runner_.find(shapes_for(group, size), group.on_device);
  if (model_.signature().batched()) model_.check_rows(prepared, size);
  return prepared;
}

void Instance::run_batches(Group& group, const std::vector<int64_t>& sizes) {
  group.times.compute_start = now();
  int64_t first = 0;
  for (const int64_t size : sizes) {
    const Run run{first, std::min(size, group.rows - first), size};
    run_batch(group, run, prepared_for(group, size));
    first += run.rows;
  }
}

TensorView Instance::input_view(const Group& group, const Run& run,
                                const Runner::Prepared& prepared, size_t i) {
  const Pieces& pieces = group.inputs[i];
  const TensorInfo& info = model_.signature().inputs[i];
  const uint64_t row = group.input_rows[i];
  const uint64_t at = static_cast<uint64_t>(run.first) * row;
  const uint64_t sent = static_cast<uint64_t>(run.rows) * row;
  const uint64_t whole = static_cast<uint64_t>(run.size) * row;
  const int owner = group.on_device ? owner_ : kHostMemory;
  std::byte* data = sent == whole ? pieces.whole(at, sent, owner) : nullptr;
  if (data == nullptr) {
    data = staging(input_staging_[i], static_cast<int64_t>(whole), group.on_device);
    // Not what earlier requests left there, which may be what made a run fail.
    clear(data + sent, whole - sent, group.on_device);
    pieces.read(at, sent, data, owner);
    copied_ += sent;
  }
  return {{info.type.dtype, prepared.shapes[i]}, data, {}, memory(group.on_device)};
}

void Instance::run_batch(const Group& group, const Run& run, const Runner::Prepared& prepared) {
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    if (static_cast<uint64_t>(prepared.outputs[i].bytes()) !=
        static_cast<uint64_t>(run.size) * group.output_rows[i])
      throw Error(Error::Code::invalid_argument,
                  "sizes of output '" + model_.signature().outputs[i].name +
                      "' depend on the batch: set max_batch_size to 0");
  }
  if (model_.signature().runs_by_rows(run.size, runner_.is_gpu()))
    run_rows(group, run, prepared);
  else
    run_joined(group, run, prepared);
}

void Instance::run_joined(const Group& group, const Run& run, const Runner::Prepared& prepared) {
  const std::string_view where = memory(group.on_device);
  const int owner = group.on_device ? owner_ : kHostMemory;
  std::vector<TensorView> inputs;
  for (size_t i = 0; i < group.inputs.size(); ++i)
    inputs.push_back(input_view(group, run, prepared, i));
  std::vector<MutableTensorView> outputs;
  std::vector<std::byte*> staged;
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    const uint64_t at = static_cast<uint64_t>(run.first) * group.output_rows[i];
    const int64_t whole = prepared.outputs[i].bytes();
    std::byte* data = run.rows == run.size
                          ? group.outputs[i].whole(at, static_cast<uint64_t>(whole), owner)
                          : nullptr;
    staged.push_back(data == nullptr ? staging(output_staging_[i], whole, group.on_device)
                                     : nullptr);
    outputs.push_back({prepared.outputs[i], data != nullptr ? data : staged[i], {}, where});
  }
  prepared.context->run_into(inputs, outputs);
  for (size_t i = 0; i < staged.size(); ++i) {
    if (staged[i] == nullptr) continue;
    const uint64_t got = static_cast<uint64_t>(run.rows) * group.output_rows[i];
    group.outputs[i].write(static_cast<uint64_t>(run.first) * group.output_rows[i], got, staged[i],
                           owner);
    copied_ += got;
  }
}

std::vector<std::byte*> Instance::rows_of(const Pieces& pieces, const Run& run, uint64_t row,
                                          Staging& staged) {
  std::vector<std::byte*> rows;
  for (int64_t r = 0; r < run.size; ++r) {
    const uint64_t at = static_cast<uint64_t>(run.first + r) * row;
    rows.push_back(r < run.rows ? pieces.whole(at, row, kHostMemory) : nullptr);
  }
  if (std::ranges::count(rows, nullptr) == 0 || row == 0) return rows;
  std::byte* own = staging(staged, run.size * static_cast<int64_t>(row), false);
  for (std::byte*& place : rows) {
    if (place == nullptr) place = own;
    own += row;
  }
  return rows;
}

void Instance::run_rows(const Group& group, const Run& run, const Runner::Prepared& prepared) {
  const Signature& signature = model_.signature();
  std::vector<std::vector<std::byte*>> input_rows, output_rows;  // what the views show
  std::vector<RowsView> inputs;
  std::vector<MutableRowsView> outputs;
  for (size_t i = 0; i < group.inputs.size(); ++i) {
    const uint64_t row = group.input_rows[i];
    input_rows.push_back(rows_of(group.inputs[i], run, row, input_staging_[i]));
    fill_rows(group.inputs[i], run, row, input_rows[i]);
    inputs.push_back({{signature.inputs[i].type.dtype, prepared.shapes[i]}, input_rows[i]});
  }
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    output_rows.push_back(rows_of(group.outputs[i], run, group.output_rows[i], output_staging_[i]));
    outputs.push_back({prepared.outputs[i], output_rows[i]});
  }
  copied_ += static_cast<uint64_t>(run_rows_into(*prepared.context, inputs, outputs));
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    const uint64_t row = group.output_rows[i];
    for (int64_t r = 0; r < run.rows; ++r) {
      const uint64_t at = static_cast<uint64_t>(run.first + r) * row;
      std::byte* const from = output_rows[i][static_cast<size_t>(r)];
      if (group.outputs[i].whole(at, row, kHostMemory) == from) continue;
      group.outputs[i].write(at, row, from, kHostMemory);
      copied_ += row;
    }
  }
}

// What lies in parts is joined; padding is zeros, not what earlier requests left there, which may be what made a run fail.
void Instance::fill_rows(const Pieces& pieces, const Run& run, uint64_t row,
                         std::span<std::byte* const> rows) {
  for (int64_t r = 0; r < run.size; ++r) {
    const uint64_t at = static_cast<uint64_t>(run.first + r) * row;
    std::byte* const to = rows[static_cast<size_t>(r)];
    if (r >= run.rows) {
      clear(to, row, false);
    } else if (pieces.whole(at, row, kHostMemory) != to) {
      pieces.read(at, row, to, kHostMemory);
      copied_ += row;
    }
  }
}

// One request with whole shapes, whose outputs have memory when their sizes are known: the host's.
void Instance::run_sized_by_data(Group& group) {
  Request& request = group.requests[0];
  group.on_device = false;
  const Runner::Prepared& prepared = prepared_for(group, 1);
  std::vector<TensorView> inputs;
  for (size_t i = 0; i < group.inputs.size(); ++i)
    inputs.push_back(input_view(group, {0, 1, 1}, prepared, i));
  group.times.compute_start = now();
  const std::vector<Tensor> results = prepared.context->run(inputs);
  for (size_t i = 0; i < results.size(); ++i) {
    Pieces to;
    request.place_output(results[i].type(), i, kHostMemory, to);
    to.write(0, results[i].bytes(), results[i].data(), kHostMemory);
    copied_ += results[i].bytes();
  }
}

std::byte* Instance::staging(Staging& staging, int64_t bytes, bool on_device) {
  if (on_device) {
    if (staging.device_bytes < bytes) {
      staging.device = allocate_on(runner_.device(), bytes);
      staging.device_bytes = bytes;
    }
    return staging.device.get();
  }
  if (!staging.host || static_cast<int64_t>(staging.host.bytes()) < bytes)
    staging.host = runner_.host_memory(std::max<int64_t>(bytes, 1));
  return staging.host.mutable_data();
}

void Instance::clear(std::byte* data, uint64_t bytes, bool on_device) {
  if (bytes == 0) return;
  const auto count = static_cast<int64_t>(bytes);
  if (on_device)
    copy_memory(data, staging(zeros_, count, true), count, runner_.device());
  else
    std::memset(data, 0, bytes);
}

void Instance::count(const Group& group, const std::vector<int64_t>& sizes, int64_t plans_before) {
  const ModelMetrics& metrics = model_.metrics();
  metrics.compilations.add(static_cast<double>(runner_.plans() - plans_before));
  metrics.rows.add(static_cast<double>(group.rows));
  const int64_t run = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  metrics.padded_rows.add(static_cast<double>(run - group.rows));
  metrics.copied_bytes.add(static_cast<double>(copied_));
}

}  // namespace octet::triton
