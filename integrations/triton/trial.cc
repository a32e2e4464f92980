// SPDX-License-Identifier: Apache-2.0
#include "trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>

#include "octet/rows.h"

namespace octet::triton {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kImageSide = 224;
constexpr int64_t kOpenSize = 8;
constexpr int kTimedRuns = 3;
constexpr double kTimedSeconds = 0.5;

template <class T, class Make>
void fill_as(std::span<std::byte> to, const Make& make) {
  for (size_t at = 0; at + sizeof(T) <= to.size(); at += sizeof(T)) {
    const T value = static_cast<T>(make());
    std::memcpy(to.data() + at, &value, sizeof value);
  }
}

// Reals from -2 to 2; whole numbers that are valid indices of nearly everything.
void fill(std::span<std::byte> to, Dtype dtype, std::minstd_rand& random) {
  const auto real = [&] { return static_cast<float>(random() % 4001) / 1000.0f - 2.0f; };
  const auto bit = [&] { return random() % 2; };
  switch (dtype) {
    case Dtype::f32:
      return fill_as<float>(to, real);
    case Dtype::f16:
      return fill_as<f16>(to, real);
    case Dtype::bf16:
      return fill_as<bf16>(to, real);
    case Dtype::f64:
      return fill_as<double>(to, real);
    case Dtype::u8:
    case Dtype::s8:
      return fill_as<uint8_t>(to, [&] { return random() >> 8; });
    default:
      break;
  }
  switch (dtype_bytes(dtype)) {
    case 8:
      return fill_as<uint64_t>(to, bit);
    case 4:
      return fill_as<uint32_t>(to, bit);
    case 2:
      return fill_as<uint16_t>(to, bit);
    default:
      return fill_as<uint8_t>(to, bit);
  }
}

// Rows of a run as those of strangers' requests lie, none behind the one before it: from the last to the first.
struct RowsOfRun {
  RowsOfRun(const std::vector<Tensor>& data, std::vector<Tensor>& results) {
    for (const Tensor& tensor : data) {
      read.push_back(backwards(tensor.data(), tensor));
      inputs.push_back({tensor.type(), read.back()});
    }
    for (Tensor& tensor : results) {
      written.push_back(backwards(tensor.mutable_data(), tensor));
      outputs.push_back({tensor.type(), written.back()});
    }
  }

  template <class Byte>
  static std::vector<Byte*> backwards(Byte* data, const Tensor& tensor) {
    const auto count = static_cast<size_t>(tensor.shape().rank() > 0 ? tensor.shape()[0] : 0);
    std::vector<Byte*> rows;
    for (size_t i = count; i-- > 0;) rows.push_back(data + i * (tensor.bytes() / count));
    return rows;
  }

  std::vector<std::vector<const std::byte*>> read;
  std::vector<std::vector<std::byte*>> written;
  std::vector<RowsView> inputs;
  std::vector<MutableRowsView> outputs;
};

std::vector<Tensor> made_up(const std::vector<TensorInfo>& infos, const std::vector<Shape>& shapes,
                            unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < infos.size(); ++i) {
    tensors.emplace_back(infos[i].type.dtype, shapes[i]);
    fill({tensors[i].mutable_data(), tensors[i].bytes()}, tensors[i].dtype(), random);
  }
  return tensors;
}

// Rows from `first` on, of every tensor.
void copy_rows(std::vector<Tensor>& to, const std::vector<Tensor>& from, int64_t first,
               int64_t count) {
  for (size_t i = 0; i < to.size(); ++i) {
    const size_t row = to[i].bytes() / static_cast<size_t>(to[i].shape()[0]);
    std::memcpy(to[i].mutable_data() + static_cast<size_t>(first) * row,
                from[i].data() + static_cast<size_t>(first) * row,
                static_cast<size_t>(count) * row);
  }
}

// The output whose rows from `first` on differ, or -1.
int differing(const std::vector<Tensor>& a, const std::vector<Tensor>& b, int64_t first,
              int64_t count) {
  for (size_t i = 0; i < a.size(); ++i) {
    const size_t row = a[i].bytes() / static_cast<size_t>(a[i].shape()[0]);
    const size_t at = static_cast<size_t>(first) * row;
    if (std::memcmp(a[i].data() + at, b[i].data() + at, static_cast<size_t>(count) * row) != 0)
      return static_cast<int>(i);
  }
  return -1;
}

// Empty where rows of outputs have the same sizes whatever the batch; else why not.
std::string unlike_sizes(Runner& runner, const Signature& signature, const SampleShapes& sample,
                         int64_t rows) {
  const std::vector<TensorType> one = runner.find(shapes_of(sample, 1), false).outputs;
  const Runner::Prepared& prepared = runner.find(shapes_of(sample, rows), false);
  if (std::string reason = unlike_rows(prepared, signature, rows); !reason.empty()) return reason;
  for (size_t i = 0; i < one.size(); ++i) {
    Shape alone = one[i].shape;
    if (alone.rank() > 0) alone[0] = rows;
    if (alone != prepared.outputs[i].shape)
      return fmt::format("output '{}' is {} for a batch of 1 and {} for a batch of {}",
                         signature.outputs[i].name, to_string(one[i].shape),
                         to_string(prepared.outputs[i].shape), rows);
  }
  return "";
}

}  // namespace

std::string unlike_rows(const Runner::Prepared& prepared, const Signature& signature,
                        int64_t rows) {
  if (prepared.sized_by_data()) return "sizes of its outputs depend on the data";
  for (size_t i = 0; i < prepared.outputs.size(); ++i) {
    const Shape& shape = prepared.outputs[i].shape;
    if (shape.rank() < 1 || shape[0] != rows)
      return fmt::format("output '{}' is {} for a batch of {}", signature.outputs[i].name,
                         to_string(shape), rows);
  }
  return "";
}

SampleShapes guessed_sample(const std::vector<TensorInfo>& inputs) {
  SampleShapes sample;
  for (const TensorInfo& info : inputs) {
    const Shape& own = info.type.shape;
    Shape shape;
    for (int i = 1; i < own.rank(); ++i) {
      const bool side = own.rank() == 4 && i >= 2;
      shape.push_back(own[i] != Shape::kDynamic ? own[i] : side ? kImageSide : kOpenSize);
    }
    sample.push_back(shape);
  }
  return sample;
}

std::vector<Shape> shapes_of(const SampleShapes& sample, int64_t rows) {
  if (rows == 0) return sample;
  std::vector<Shape> shapes;
  for (const Shape& own : sample) {
    Shape shape{rows};
    for (const int64_t size : own) shape.push_back(size);
    shapes.push_back(shape);
  }
  return shapes;
}

std::string mixes_rows(Runner& runner, const Signature& signature, const SampleShapes& sample,
                       int64_t rows) {
  const std::vector<Shape> shapes = shapes_of(sample, rows);
  if (signature.fixed_batch == 0) {
    std::string reason = unlike_sizes(runner, signature, sample, rows);
    if (!reason.empty()) return reason;
  }
  const Runner::Prepared& prepared = runner.find(shapes, false);
  if (std::string reason = unlike_rows(prepared, signature, rows); !reason.empty()) return reason;
  if (rows < 2) return "";
  const std::vector<Tensor> one = made_up(signature.inputs, shapes, 1);
  std::vector<Tensor> first_kept = made_up(signature.inputs, shapes, 2);
  std::vector<Tensor> rest_kept = made_up(signature.inputs, shapes, 3);
  copy_rows(first_kept, one, 0, 1);
  copy_rows(rest_kept, one, 1, rows - 1);
  const std::vector<Tensor> want = prepared.context->run(one);
  int at = differing(want, prepared.context->run(first_kept), 0, 1);
  if (at < 0) at = differing(want, prepared.context->run(rest_kept), 1, rows - 1);
  if (at < 0) return "";
  return fmt::format("a row of output '{}' depends on the other rows of the batch",
                     signature.outputs[static_cast<size_t>(at)].name);
}

double timed_run(const Runner::Prepared& prepared, const std::vector<TensorInfo>& inputs,
                 bool by_rows) {
  const std::vector<Tensor> data = made_up(inputs, prepared.shapes, 1);
  std::vector<Tensor> outputs = prepared.context->run(data);
  const RowsOfRun rows(data, outputs);
  double least = 0, all = 0;
  for (int i = 0; i < kTimedRuns && all < kTimedSeconds; ++i) {
    const auto start = Clock::now();
    if (prepared.sized_by_data())
      prepared.context->run(data);
    else if (by_rows)
      run_rows_into(*prepared.context, rows.inputs, rows.outputs);
    else
      prepared.context->run_into(data, outputs);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    least = i == 0 ? seconds : std::min(least, seconds);
    all += seconds;
  }
  return least;
}

}  // namespace octet::triton
