// SPDX-License-Identifier: Apache-2.0
// A built model: load it, ask what it expects, run it. Engines are immutable and may be shared by any number of threads;
// each thread runs its own Context.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octet/error.h"
#include "octet/preprocess.h"
#include "octet/tensor.h"
#include "octet/tensor_view.h"

namespace octet {

struct TensorInfo {
  std::string name;
  TensorType type;  // Shape::kDynamic where any size is accepted
};

class Tuning;  // octet/tuning.h

// Threads that run the steps of contexts. A context owns as many as it asks for, or shares a pool with others: then one run
// at a time uses it, and the runs that come meanwhile wait, first come, first served. So a process with any number of contexts
// keeps as many CPUs busy as the pool has threads (the calling thread is one of them). A pool lives as long as the last context
// that uses it; it may be made, shared and let go by any thread.
class ThreadPool;

// `threads` from 1 to 256. Throws Error(out_of_memory) where the system does not start them.
std::shared_ptr<ThreadPool> make_thread_pool(int threads);

struct ContextOptions {
  int threads =
      1;  // of the pool that the context makes for itself; with `pool`, the pool's number counts
  std::shared_ptr<const Tuning> tuning =
      nullptr;                 // measured choices of kernels; null: the cost model's
  std::string device = "cpu";  // what runs the engine; what it cannot run, the CPU does
  std::shared_ptr<ThreadPool> pool = nullptr;  // shared with other contexts; null: one of its own
  bool chains = true;  // one kernel of the device may run several layers; false: each by itself
};

class Context;

// Of one run.
struct RunOptions {
  // A stream of the context's device (a cudaStream_t; null is CUDA's default stream). The run begins when what the stream was given
  // before is done, and what the stream is given afterwards begins when the run is done. The call itself returns as soon as all work is
  // given where inputs, outputs and every step are the device's: then their memory must stay until the stream is done with it.
  std::optional<void*> stream = std::nullopt;
  // Of a decoder whose caches grow (inputs that the model joins with new rows, and gives as outputs): the rows of the buffers that they lie in; 0: views
  // mean what they show, and a run touches nothing else. Otherwise the caller promises of each cache that its view before the run and that behind it
  // (run_into) begin at the first row of dense buffers that have so many rows and hold nothing else, the same buffer or two. Then the run continues caches
  // there: it writes the new rows and may write zeros to all rows behind them. Views whose strides are not those of such buffers, and buffers that overlap
  // others, are an Error. A model that has no form for many lengths copies views of the host's memory, and says why it cannot take others.
  int64_t cache_rows = 0;
};

// Copies are cheap and share everything.
class Engine {
 public:
  // Reads and checks an engine file; throws Error naming the section that is wrong.
  static Engine load(const std::filesystem::path& path);
  // The same from the bytes of such a file, which are copied.
  static Engine load(std::span<const std::byte> bytes);
  // Writes to a temporary name beside `path` and renames.
  void save(const std::filesystem::path& path) const;
  // What save() writes.
  std::vector<std::byte> to_bytes() const;

  std::vector<TensorInfo> inputs() const;
  std::vector<TensorInfo> outputs() const;
  // The preprocessing that the engine was calibrated with, if it was calibrated on images.
  std::optional<Preprocess> preprocess() const;

  Context make_context(const ContextOptions& options = {}) const;

  struct Impl;  // Octet's own

 private:
  friend struct Inside;
  explicit Engine(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

// One concurrent run: its threads (or a pool that it shares), its arena, and the plans of the shapes that it has seen. A thread
// at a time may use a context; different contexts, of one engine too, are made, run and destroyed by any threads at once.
class Context {
 public:
  ~Context();
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;

  // Plans for these input shapes, with inputs and outputs in the memory of `memory`: "cpu", or the context's device (milliseconds;
  // cached). run() does so on demand.
  void prepare(std::span<const Shape> input_shapes, std::string_view memory = "cpu");
  // Inputs and outputs in the order of Engine::inputs() and outputs(). Throws Error(invalid_argument) naming the input
  // whose dtype, shape or memory does not fit. The returned tensors are fresh.
  std::vector<Tensor> run(std::span<const Tensor> inputs);
  std::vector<Tensor> run(std::span<const TensorView> inputs, const RunOptions& options = {});
  // The same into the caller's memory, of the right types: once the shapes were seen, the loop allocates nothing.
  void run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  void run_into(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
                const RunOptions& options = {});
  // Returns when all runs are done that were given with a stream; throws the first Error of theirs.
  void synchronize();
  // In memory of the host that is copied fastest to and from the context's device: page-locked for a GPU. Zeroed.
  Tensor make_tensor(const TensorType& type) const;
  // Output types for the shapes prepared or run last. Where only the data tell a size, Shape::kDynamic before the run.
  std::vector<TensorType> output_types() const;

  struct Impl;  // Octet's own

 private:
  friend struct Inside;
  explicit Context(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace octet
