// SPDX-License-Identifier: Apache-2.0
#include "calls.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "arrays.h"
#include "octet/error.h"

namespace octet::python {
namespace {

bool report(nb::handle progress, const Progress& now) {
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  if (progress.is_none()) return true;
  return !progress(now.stage, now.done, now.total).is(nb::handle(Py_False));
}

std::vector<Tensor> tensors_of(nb::handle batch, const std::vector<TensorInfo>& inputs) {
  std::vector<Tensor> tensors;
  for (const nb::handle array : nb::iter(batch)) {
    const std::string name =
        tensors.size() < inputs.size() ? inputs[tensors.size()].name : std::string("?");
    tensors.push_back(to_tensor(input_array(array, fmt::format("input '{}'", name), {}).view()));
  }
  return tensors;
}

}  // namespace

Held::Held(nb::object object) : object_(std::move(object)) {}
Held::~Held() {
  const nb::gil_scoped_acquire lock;
  object_.reset();
}

std::shared_ptr<const Held> hold(nb::object object) {
  return std::make_shared<const Held>(std::move(object));
}

Monitor monitor_of(nb::object progress) {
  Monitor monitor;
  monitor.report = [held = hold(std::move(progress))](const Progress& now) {
    return report(held->get(), now);
  };
  return monitor;
}

SampleSource samples_of(nb::iterator batches, std::vector<TensorInfo> inputs) {
  return
      [held = hold(std::move(batches)), inputs = std::move(inputs)](std::vector<Tensor>& tensors) {
        const nb::gil_scoped_acquire lock;
        const nb::object batch = nb::steal(PyIter_Next(held->get().ptr()));
        if (!batch.is_valid()) {
          if (PyErr_Occurred() != nullptr) throw nb::python_error();
          return false;
        }
        tensors = tensors_of(batch, inputs);
        return true;
      };
}

}  // namespace octet::python
