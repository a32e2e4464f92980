// SPDX-License-Identifier: Apache-2.0
// Several contexts of one engine, which lend themselves to whoever has a run.
#include "octet/spread.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>

#include "backends/backends.h"
#include "core/check.h"
#include "octet/machine.h"
#include "octet/threads.h"
#include "plan/device.h"

namespace octet {
namespace {

constexpr std::string_view kAll = "cuda:all";

std::vector<std::string> split_names(const std::string& names) {
  std::vector<std::string> all(1);
  for (const char c : names) {
    if (c == ',') {
      all.emplace_back();
    } else {
      all.back() += c;
    }
  }
  return all;
}

// Every GPU that can be used; where there is none, why.
std::vector<std::string> all_gpus() {
  std::vector<std::string> names;
  std::string missing = "this machine has no GPU";
  for (const DeviceEntry& entry : list_devices()) {
    if (!entry.info.name.starts_with("cuda:")) continue;
    if (entry.missing.empty()) {
      names.push_back(entry.info.name);
    } else {
      missing = entry.missing;
    }
  }
  if (names.empty()) fail(Error::Code::unsupported, "{}: {}", kAll, missing);
  return names;
}

// Whether nothing runs there any more, whoever asks: a byte tells.
bool is_lost(const std::string& device) {
  try {
    find_device(device).allocate(1, "a byte");
    return false;
  } catch (const Error& error) {
    return error.code() != Error::Code::out_of_memory;
  }
}

std::vector<Tensor> rows_of(std::span<const Tensor> inputs, int64_t begin, int64_t end,
                            int64_t rows) {
  std::vector<Tensor> part;
  for (const Tensor& input : inputs) {
    Shape shape = input.shape();
    const auto all = static_cast<size_t>(shape[0]), bytes = input.bytes() / all;
    shape[0] = rows;
    Tensor& made = part.emplace_back(input.dtype(), shape);
    for (int64_t row = 0; row < rows; ++row) {
      const auto from = static_cast<size_t>(std::min(begin + row, end - 1));
      std::memcpy(made.mutable_data() + static_cast<size_t>(row) * bytes,
                  input.data() + from * bytes, bytes);
    }
  }
  return part;
}

// How many rows all inputs have.
int64_t row_count(std::span<const Tensor> inputs) {
  if (inputs.empty()) fail(Error::Code::invalid_argument, "there is no input to take rows of");
  const auto rows = [](const Tensor& input) {
    return input.shape().rank() == 0 ? 0 : input.shape()[0];
  };
  const int64_t count = rows(inputs[0]);
  for (const Tensor& input : inputs) {
    if (count > 0 && rows(input) == count) continue;
    fail(Error::Code::invalid_argument,
         "an input of shape {} has {} rows; expected the same number of each input, and at least 1",
         to_string(input.shape()), rows(input));
  }
  return count;
}

}  // namespace

std::vector<std::string> devices_named(const std::string& names) {
  std::vector<std::string> found;
  for (const std::string& name : split_names(names)) {
    const std::vector<std::string> those =
        name == kAll ? all_gpus() : std::vector<std::string>{device_info(name).name};
    for (const std::string& device : those) {
      if (std::ranges::find(found, device) != found.end())
        fail(Error::Code::invalid_argument, "'{}' names {} twice", names, device);
      found.push_back(device);
    }
  }
  return found;
}

struct Spread::Impl {
  struct Slot {
    std::string device;
    std::optional<Context> context;  // absent: left out
    int64_t runs = 0;
    bool idle = true;
  };

  std::vector<Slot> slots;
  std::vector<LeftOut> left_out;
  int64_t fixed_rows = 0;  // that a run has; 0: any number
  std::vector<TensorInfo> outputs;
  mutable std::mutex mutex;
  std::condition_variable changed;

  int working() const {
    return static_cast<int>(
        std::ranges::count_if(slots, [](const Slot& slot) { return slot.context.has_value(); }));
  }

  // One that is idle, when there is one; null where none works any more. The one with the fewest runs goes first, so that equals share alike.
  Slot* take() {
    std::unique_lock lock(mutex);
    Slot* found = nullptr;
    changed.wait(lock, [&] {
      found = nullptr;
      for (Slot& slot : slots) {
        if (slot.context && slot.idle && (found == nullptr || slot.runs < found->runs))
          found = &slot;
      }
      return found != nullptr || working() == 0;
    });
    if (found != nullptr) found->idle = false;
    return found;
  }

  void give_back(Slot& slot, bool done) {
    const std::lock_guard lock(mutex);
    slot.idle = true;
    slot.runs += done ? 1 : 0;
    changed.notify_one();
  }

  void leave_out(Slot& slot, const Error& error) {
    const std::lock_guard lock(mutex);
    slot.context.reset();
    left_out.push_back({slot.device, error.message()});
    changed.notify_all();
  }

  // Nothing where the context fails in a way that another one need not.
  std::optional<std::vector<Tensor>> try_on(Slot& slot, std::span<const Tensor> inputs,
                                            std::optional<Error>& why) {
    try {
      std::vector<Tensor> outputs = slot.context->run(inputs);
      give_back(slot, true);
      return outputs;
    } catch (const Error& error) {
      // A host that lacks memory lacks it for all.
      const bool full = error.code() == Error::Code::out_of_memory && slot.device != "cpu";
      if (!full && !is_lost(slot.device)) {
        give_back(slot, false);
        throw;
      }
      why = error;
      leave_out(slot, error);
      return std::nullopt;
    } catch (...) {
      give_back(slot, false);
      throw;
    }
  }

  std::vector<Tensor> run(std::span<const Tensor> inputs) {
    std::optional<Error> why;
    while (Slot* slot = take()) {
      if (auto outputs = try_on(*slot, inputs, why)) return std::move(*outputs);
    }
    if (why) throw *why;
    const std::lock_guard lock(mutex);
    fail(Error::Code::unsupported, "no device is left: {}", left_out.back().why);
  }

  void check_rows(const std::vector<Tensor>& part, int64_t rows) const {
    for (size_t i = 0; i < part.size(); ++i) {
      if (part[i].shape().rank() > 0 && part[i].shape()[0] == rows) continue;
      fail(Error::Code::unsupported,
           "output '{}' has shape {} for {} rows: it has no row for each of them, so the batch "
           "cannot be split",
           outputs[i].name, to_string(part[i].shape()), rows);
    }
  }

  // The first `count` rows of all parts, each of `rows`.
  std::vector<Tensor> joined(const std::vector<std::vector<Tensor>>& parts, int64_t rows,
                             int64_t count) const {
    std::vector<Tensor> whole;
    for (size_t i = 0; i < parts[0].size(); ++i) {
      Shape shape = parts[0][i].shape();
      shape[0] = count;
      Tensor& made = whole.emplace_back(parts[0][i].dtype(), shape);
      const size_t bytes = parts[0][i].bytes() / static_cast<size_t>(rows);
      for (size_t p = 0; p < parts.size(); ++p) {
        if (parts[p][i].type() != parts[0][i].type()) {
          fail(Error::Code::unsupported,
               "output '{}' has other sizes for other rows: the batch cannot be split",
               outputs[i].name);
        }
        const auto begin = static_cast<int64_t>(p) * rows;
        const auto taken = static_cast<size_t>(std::min(rows, count - begin));
        std::memcpy(made.mutable_data() + static_cast<size_t>(begin) * bytes, parts[p][i].data(),
                    taken * bytes);
      }
    }
    return whole;
  }

  std::vector<Tensor> run_rows(std::span<const Tensor> inputs, int64_t rows) {
    const int64_t count = row_count(inputs), share = std::max(1, working());
    if (rows == 0) rows = fixed_rows > 0 ? fixed_rows : (count + share - 1) / share;
    if (rows < 1 || (fixed_rows > 0 && rows != fixed_rows)) {
      fail(Error::Code::invalid_argument, "{} rows in a run: expected {}", rows,
           fixed_rows > 0 ? fmt::format("{}, which the engine fixes", fixed_rows) : "at least 1");
    }
    const int64_t runs = (count + rows - 1) / rows;
    std::vector<std::vector<Tensor>> parts(static_cast<size_t>(runs));
    std::atomic<int64_t> next = 0;
    run_threads(static_cast<int>(std::min(runs, share)), [&](int) {
      for (int64_t r = next++; r < runs; r = next++) {
        auto& part = parts[static_cast<size_t>(r)];
        part = run(rows_of(inputs, r * rows, std::min(count, (r + 1) * rows), rows));
        check_rows(part, rows);
      }
    });
    return joined(parts, rows, count);
  }
};

Spread::Spread(const Engine& engine, const SpreadOptions& options)
    : impl_(std::make_unique<Impl>()) {
  if (options.devices.empty())
    fail(Error::Code::invalid_argument, "no device is named for the contexts to run on");
  impl_->outputs = engine.outputs();
  const std::vector<TensorInfo> inputs = engine.inputs();
  if (!inputs.empty() && inputs[0].type.shape.rank() > 0)
    impl_->fixed_rows = std::max<int64_t>(0, inputs[0].type.shape[0]);
  impl_->slots.reserve(options.devices.size());
  for (const std::string& device : options.devices) {
    Impl::Slot slot;
    slot.device = device_info(device).name;
    slot.context = engine.make_context({options.threads, options.tuning, device});
    impl_->slots.push_back(std::move(slot));
  }
}
Spread::~Spread() = default;
Spread::Spread(Spread&&) noexcept = default;
Spread& Spread::operator=(Spread&&) noexcept = default;

std::vector<Tensor> Spread::run(std::span<const Tensor> inputs) { return impl_->run(inputs); }

std::vector<Tensor> Spread::run_rows(std::span<const Tensor> inputs, int64_t rows) {
  return impl_->run_rows(inputs, rows);
}

int Spread::contexts() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->working();
}

std::vector<Spread::LeftOut> Spread::left_out() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->left_out;
}

std::vector<int64_t> Spread::runs() const {
  const std::lock_guard lock(impl_->mutex);
  std::vector<int64_t> counts;
  for (const auto& slot : impl_->slots) counts.push_back(slot.runs);
  return counts;
}

}  // namespace octet
