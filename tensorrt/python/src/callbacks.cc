// SPDX-License-Identifier: Apache-2.0
// What clients derive from: loggers, recorders, profilers, allocators, monitors, streams.
#include "callbacks.h"

#include <atomic>
#include <cstring>
#include <ctime>
#include <iostream>

namespace octet_trt_python {
namespace {

class PyLogger : public ILogger {
 public:
  NB_TRAMPOLINE(ILogger);
  void log(Severity severity, const char* text) override {
    const nb::gil_scoped_acquire lock;
    try {
      nb_trampoline.base().attr("log")(severity, str_of(text));
    } catch (nb::python_error& error) {
      error.discard_as_unraisable("tensorrt.ILogger.log");
    }
  }
};

// Writes lines as TensorRT's own logger for Python does.
class Logger : public ILogger {
 public:
  explicit Logger(Severity least) : min_severity(least) {}
  void log(Severity severity, const char* text) override {
    if (severity > min_severity) return;
    char now[32];
    const std::time_t time = std::time(nullptr);
    std::tm local{};
    std::strftime(now, sizeof(now), "[%m/%d/%Y-%H:%M:%S]", localtime_r(&time, &local));
    std::ostream& out = severity >= Severity::kINFO ? std::cout : std::cerr;
    const std::string line =
        std::string(now) + " [TRT] [" + "FEWIV"[static_cast<int>(severity)] + "] " + text + "\n";
    out << line << std::flush;
  }

  Severity min_severity;
};

class PyDerivedLogger : public Logger {
 public:
  NB_TRAMPOLINE(Logger);
  void log(Severity severity, const char* text) override {
    NB_OVERRIDE_NAME("log", log, severity, text);
  }
};

void add_loggers(nb::module_& module) {
  using Severity = ILogger::Severity;
  nb::class_<ILogger, PyLogger> base(module, "ILogger");
  base.def(nb::init<>());
  nb::enum_<Severity> severity(base, "Severity");
  add_order(severity);
  severity.value("INTERNAL_ERROR", Severity::kINTERNAL_ERROR)
      .value("ERROR", Severity::kERROR)
      .value("WARNING", Severity::kWARNING)
      .value("INFO", Severity::kINFO)
      .value("VERBOSE", Severity::kVERBOSE)
      .export_values();
  const auto number = [](Severity value) { return static_cast<int64_t>(value); };
  severity.def("__int__", number).def("__index__", number);
  nb::class_<Logger, ILogger, PyDerivedLogger> logger(module, "Logger");
  logger.def(nb::init<Severity>(), nb::arg("min_severity") = Severity::kWARNING)
      .def_rw("min_severity", &Logger::min_severity)
      .def(
          "log",
          [](Logger& self, Severity level, const char* text) { self.Logger::log(level, text); },
          nb::arg("severity"), nb::arg("msg"));
  add_with(logger);
}

class PyErrorRecorder : public IErrorRecorder {
 public:
  NB_TRAMPOLINE(IErrorRecorder);
  int32_t getNbErrors() const override { return get<int32_t>("num_errors"); }
  ErrorCode getErrorCode(int32_t i) const override { return get<ErrorCode>("get_error_code", i); }
  ErrorDesc getErrorDesc(int32_t i) const override {
    text_ = get<std::string>("get_error_desc", i);
    return text_.c_str();
  }
  bool hasOverflowed() const override { return get<bool>("has_overflowed"); }
  void clear() override {
    with_python(self(), "clear", [](auto call) { call(); });
  }
  bool reportError(ErrorCode code, ErrorDesc text) override {
    return with_python(self(), "report_error",
                       [&](auto call) { return nb::cast<bool>(call(code, str_of(text))); });
  }
  RefCount incRefCount() override { return ++references_; }
  RefCount decRefCount() override { return --references_; }

 private:
  nb::handle self() const { return nb_trampoline.base(); }
  template <class T, class... Arguments>
  T get(const char* method, Arguments... arguments) const {
    return with_python(self(), method, [&](auto call) { return nb::cast<T>(call(arguments...)); });
  }

  mutable std::string text_;
  std::atomic<RefCount> references_{0};
};

class PyProfiler : public IProfiler {
 public:
  NB_TRAMPOLINE(IProfiler);
  void reportLayerTime(const char* name, float ms) override {
    with_python(nb_trampoline.base(), "report_layer_time",
                [&](auto call) { call(str_of(name), ms); });
  }
};

class Profiler : public IProfiler {
 public:
  void reportLayerTime(const char* name, float ms) override {
    std::cout << std::string(name) + ": " + std::to_string(ms) + "ms\n" << std::flush;
  }
};

class PyOutputAllocator : public IOutputAllocator {
 public:
  NB_TRAMPOLINE(IOutputAllocator);
  void* reallocateOutput(const char* name, void* memory, uint64_t size,
                         uint64_t alignment) override {
    return with_python(nb_trampoline.base(), "reallocate_output", [&](auto call) {
      return pointer_of(call(str_of(name), number_of(memory), size, alignment));
    });
  }
#if NV_TENSORRT_MAJOR >= 10
  void* reallocateOutputAsync(const char* name, void* memory, uint64_t size, uint64_t alignment,
                              cudaStream_t stream) override {
    if (!has("reallocate_output_async")) return reallocateOutput(name, memory, size, alignment);
    return with_python(nb_trampoline.base(), "reallocate_output_async", [&](auto call) {
      return pointer_of(call(str_of(name), number_of(memory), size, alignment, number_of(stream)));
    });
  }
#endif
  void notifyShape(const char* name, Dims const& dims) override {
    with_python(nb_trampoline.base(), "notify_shape", [&](auto call) { call(str_of(name), dims); });
  }

 private:
  bool has(const char* method) const {
    const nb::gil_scoped_acquire lock;
    return nb::hasattr(nb_trampoline.base(), method);
  }
};

#if NV_TENSORRT_MAJOR >= 10
class PyProgressMonitor : public IProgressMonitor {
 public:
  NB_TRAMPOLINE(IProgressMonitor);
  void phaseStart(const char* phase, const char* parent, int32_t steps) override {
    with_python(nb_trampoline.base(), "phase_start",
                [&](auto call) { call(str_of(phase), str_of(parent), steps); });
  }
  bool stepComplete(const char* phase, int32_t step) override {
    return with_python(nb_trampoline.base(), "step_complete",
                       [&](auto call) { return nb::cast<bool>(call(str_of(phase), step)); });
  }
  void phaseFinish(const char* phase) override {
    with_python(nb_trampoline.base(), "phase_finish", [&](auto call) { call(str_of(phase)); });
  }
};

class PyDebugListener : public IDebugListener {
 public:
  NB_TRAMPOLINE(IDebugListener);
  bool processDebugTensor(const void* address, TensorLocation location, DataType type,
                          Dims const& shape, const char* name, cudaStream_t stream) override {
    return with_python(nb_trampoline.base(), "process_debug_tensor", [&](auto call) {
      return nb::cast<bool>(
          call(number_of(address), location, type, shape, str_of(name), number_of(stream)));
    });
  }
};

class PyStreamReader : public IStreamReader {
 public:
  NB_TRAMPOLINE(IStreamReader);
  int64_t read(void* to, int64_t bytes) override {
    return with_python(nb_trampoline.base(), "read", [&](auto call) {
      const Bytes data(nb::object(call(bytes)));
      const auto count =
          std::min<size_t>(data.size(), static_cast<size_t>(std::max<int64_t>(0, bytes)));
      std::memcpy(to, data.data(), count);
      return static_cast<int64_t>(count);
    });
  }
};

class PyStreamReaderV2 : public IStreamReaderV2 {
 public:
  NB_TRAMPOLINE(IStreamReaderV2);
  int64_t read(void* to, int64_t bytes, cudaStream_t stream) override {
    return with_python(nb_trampoline.base(), "read", [&](auto call) {
      const Bytes data(nb::object(call(bytes, number_of(stream))));
      const auto count =
          std::min<size_t>(data.size(), static_cast<size_t>(std::max<int64_t>(0, bytes)));
      std::memcpy(to, data.data(), count);
      return static_cast<int64_t>(count);
    });
  }
  bool seek(int64_t offset, SeekPosition where) override {
    return with_python(nb_trampoline.base(), "seek",
                       [&](auto call) { return nb::cast<bool>(call(offset, where)); });
  }
};

class PyStreamWriter : public IStreamWriter {
 public:
  NB_TRAMPOLINE(IStreamWriter);
  int64_t write(const void* data, int64_t bytes) override {
    return with_python(nb_trampoline.base(), "write", [&](auto call) {
      return nb::cast<int64_t>(call(nb::bytes(data, static_cast<size_t>(bytes))));
    });
  }
};
#endif

class PyGpuAllocator : public IGpuAllocator {
 public:
  NB_TRAMPOLINE(IGpuAllocator);
  void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags flags) override {
    return with_python(nb_trampoline.base(), "allocate",
                       [&](auto call) { return pointer_of(call(size, alignment, flags)); });
  }
#if NV_TENSORRT_MAJOR < 10
  void free(void* memory) override {
    with_python(nb_trampoline.base(), "free", [&](auto call) { call(number_of(memory)); });
  }
#else
  bool deallocate(void* memory) override {
    return with_python(nb_trampoline.base(), "deallocate",
                       [&](auto call) { return nb::cast<bool>(call(number_of(memory))); });
  }
#endif
};

#if NV_TENSORRT_MAJOR >= 10
class PyGpuAsyncAllocator : public IGpuAsyncAllocator {
 public:
  NB_TRAMPOLINE(IGpuAsyncAllocator);
  void* allocateAsync(uint64_t size, uint64_t alignment, AllocatorFlags flags,
                      cudaStream_t stream) override {
    return with_python(nb_trampoline.base(), "allocate_async", [&](auto call) {
      return pointer_of(call(size, alignment, flags, number_of(stream)));
    });
  }
  bool deallocateAsync(void* memory, cudaStream_t stream) override {
    return with_python(nb_trampoline.base(), "deallocate_async", [&](auto call) {
      return nb::cast<bool>(call(number_of(memory), number_of(stream)));
    });
  }
};
#endif

template <class Base, class Derived>
void add_base(nb::module_& module, const char* name) {
  nb::class_<Base, Derived>(module, name).def(nb::init<>());
}

}  // namespace

void add_callbacks(nb::module_& module) {
  add_loggers(module);
  add_base<IErrorRecorder, PyErrorRecorder>(module, "IErrorRecorder");
  add_base<IProfiler, PyProfiler>(module, "IProfiler");
  nb::class_<Profiler, IProfiler>(module, "Profiler").def(nb::init<>());
  add_base<IOutputAllocator, PyOutputAllocator>(module, "IOutputAllocator");
  add_base<IGpuAllocator, PyGpuAllocator>(module, "IGpuAllocator");
#if NV_TENSORRT_MAJOR >= 10
  nb::class_<IGpuAsyncAllocator, IGpuAllocator, PyGpuAsyncAllocator>(module, "IGpuAsyncAllocator")
      .def(nb::init<>());
  add_base<IProgressMonitor, PyProgressMonitor>(module, "IProgressMonitor");
  add_base<IDebugListener, PyDebugListener>(module, "IDebugListener");
  add_base<IStreamReader, PyStreamReader>(module, "IStreamReader");
  add_base<IStreamReaderV2, PyStreamReaderV2>(module, "IStreamReaderV2");
  add_base<IStreamWriter, PyStreamWriter>(module, "IStreamWriter");
#endif
}

}  // namespace octet_trt_python
