// SPDX-License-Identifier: Apache-2.0
// Calibrators written in Python. A batch is a pointer for each input, or an array whose memory is read before the next call.
#include <nanobind/ndarray.h>

#include <vector>

#include "callbacks.h"

namespace octet_trt_python {
namespace {

[[noreturn]] void refuse(const std::string& text) { throw std::runtime_error(text); }

// The memory of an array of a batch: dense floats, as many as the input has.
const void* memory_of(nb::handle array, const char* input, int64_t bytes) {
  const std::string what = "get_batch(): the array for input '" + std::string(input) + "' ";
  nb::ndarray<nb::ro> view;
  if (!nb::try_cast(array, view, false)) refuse(what + "is no pointer and no array of numbers");
  if (view.device_type() != nb::device::cpu::value && view.device_type() != nb::device::cuda::value)
    refuse(what + "is in the memory of another device");
  int64_t stride = 1;
  for (size_t i = view.ndim(); i-- > 0;) {
    if (view.shape(i) != 1 && view.stride(i) != stride)
      refuse(what + "is not contiguous; numpy.ascontiguousarray() makes it so");
    stride *= static_cast<int64_t>(view.shape(i));
  }
  if (static_cast<int64_t>(view.nbytes()) != bytes) {
    refuse(what + "has " + std::to_string(view.nbytes()) + " bytes, " +
           std::to_string(view.itemsize()) + " for each element; the input needs " +
           std::to_string(bytes) + ", of float32 unless it holds indices");
  }
  return view.data();
}

// What the five kinds share. `Base` is one of them.
template <class Base>
class PyCalibrator : public Base {
 public:
  NB_TRAMPOLINE(Base);

  int32_t getBatchSize() const override {
    return with_python(self(), "get_batch_size",
                       [](auto call) { return nb::cast<int32_t>(call()); });
  }

  bool getBatch(void* bindings[], const char* names[], int32_t count) override {
    return with_python(self(), "get_batch", [&](auto call) {
      nb::list inputs;
      for (int32_t i = 0; i < count; ++i) inputs.append(str_of(names[i]));
      batch_ = call(inputs);
      return take(bindings, names, count);
    });
  }

  const void* readCalibrationCache(std::size_t& length) override {
    return with_python(self(), "read_calibration_cache",
                       [&](auto call) { return cache_from(call(), length); });
  }

  void writeCalibrationCache(const void* data, std::size_t length) override {
    with_python(self(), "write_calibration_cache", [&](auto call) { call(view_of(data, length)); });
  }

  CalibrationAlgoType getAlgorithm() override {
    return with_python(self(), "get_algorithm",
                       [](auto call) { return nb::cast<CalibrationAlgoType>(call()); });
  }

 protected:
  nb::handle self() const { return this->nb_trampoline.base(); }

  // Valid until the next call.
  const void* cache_from(nb::object cache, std::size_t& length) {
    length = 0;
    if (cache.is_none()) return nullptr;
    const Bytes bytes(cache);
    cache_ = nb::bytes(bytes.data(), bytes.size());
    length = cache_.size();
    return cache_.c_str();
  }

  // With the methods of both bytes and memoryview that clients use.
  static nb::object view_of(const void* data, std::size_t length) {
    return nb::steal(PyMemoryView_FromObject(nb::bytes(data, length).ptr()));
  }

 private:
  bool take(void* bindings[], const char* names[], int32_t count) {
    if (batch_.is_none()) return false;
    if (PySequence_Check(batch_.ptr()) == 0)
      refuse("get_batch() returned neither None nor a list of pointers or arrays");
    const auto given = static_cast<int32_t>(nb::len(batch_));
    if (given == 0) return false;
    if (given != count)
      refuse("get_batch() returned " + std::to_string(given) + " pointers; the network has " +
             std::to_string(count) + " inputs");
    batch_ = nb::list(batch_);  // a sequence may make its items as they are asked for
    for (int32_t i = 0; i < count; ++i) {
      const nb::object item = batch_[i];
      // Numbers of NumPy are arrays without axes.
      const bool is_array =
          nb::ndarray_check(item) && nb::cast<int>(nb::getattr(item, "ndim", nb::int_(1))) > 0;
      bindings[i] = is_array
                        ? const_cast<void*>(memory_of(item, names[i], octetCalibrationBytes(i)))
                        : address_of(item, "get_batch()");
    }
    return true;
  }

  nb::object batch_;
  nb::bytes cache_{"", 0};
};

class PyLegacyCalibrator : public PyCalibrator<IInt8LegacyCalibrator> {
 public:
  double getQuantile() const override { return number("get_quantile"); }
  double getRegressionCutoff() const override { return number("get_regression_cutoff"); }
  const void* readHistogramCache(std::size_t& length) override {
    return with_python(self(), "read_histogram_cache",
                       [&](auto call) { return cache_from(call(length), length); });
  }
  void writeHistogramCache(const void* data, std::size_t length) override {
    with_python(self(), "write_histogram_cache", [&](auto call) { call(view_of(data, length)); });
  }

 private:
  double number(const char* method) const {
    return with_python(self(), method, [](auto call) { return nb::cast<double>(call()); });
  }
};

template <class Base, class Derived = PyCalibrator<Base>>
nb::class_<Base, IInt8Calibrator, Derived> add_kind(nb::module_& module, const char* name,
                                                    CalibrationAlgoType algorithm) {
  nb::class_<Base, IInt8Calibrator, Derived> type(module, name);
  type.def(nb::init<>());
  type.def("get_algorithm", [algorithm](nb::handle) { return algorithm; });
  return type;
}

}  // namespace

void add_calibrators(nb::module_& module) {
  nb::class_<IInt8Calibrator, PyCalibrator<IInt8Calibrator>>(module, "IInt8Calibrator")
      .def(nb::init<>());
  add_kind<IInt8EntropyCalibrator>(module, "IInt8EntropyCalibrator",
                                   CalibrationAlgoType::kENTROPY_CALIBRATION);
  add_kind<IInt8EntropyCalibrator2>(module, "IInt8EntropyCalibrator2",
                                    CalibrationAlgoType::kENTROPY_CALIBRATION_2);
  add_kind<IInt8MinMaxCalibrator>(module, "IInt8MinMaxCalibrator",
                                  CalibrationAlgoType::kMINMAX_CALIBRATION);
  add_kind<IInt8LegacyCalibrator, PyLegacyCalibrator>(module, "IInt8LegacyCalibrator",
                                                      CalibrationAlgoType::kLEGACY_CALIBRATION);
}

}  // namespace octet_trt_python
