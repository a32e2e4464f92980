// SPDX-License-Identifier: Apache-2.0
// What plugins share: objects of Python's that the registry keeps by a key.
#include "plugin_python.h"
#include "plugin_python_object.h"

#if NV_TENSORRT_MAJOR >= 10
namespace octet_trt_python {
namespace {

using nb::arg;

// What clients derive from.
struct ResourceBase {};

class PythonResource final : public IPluginResource {
 public:
  explicit PythonResource(nb::object object) : object_(std::move(object)) {}

  int32_t release() override { return object_.status("release"); }
  IPluginResource* clone() override {
    const nb::gil_scoped_acquire lock;
    nb::object other = object_.clone();
    return other.is_none() ? nullptr : new PythonResource(std::move(other));
  }
  nb::object object() const { return nb::borrow(object_.get()); }

 private:
  PythonObject object_;
};

// The resource of a key, which a library may have given; None where there is none.
nb::object acquired(IPluginRegistry& registry, const char* key, const nb::object& resource) {
  PythonResource given(resource);
  IPluginResource* kept = registry.acquirePluginResource(key, &given);
  if (kept == nullptr) return nb::none();
  if (const auto* own = dynamic_cast<PythonResource*>(kept)) return own->object();
  return nb::cast(kept, nb::rv_policy::reference);
}

}  // namespace

void add_plugin_resources(nb::module_& module, nb::class_<IPluginRegistry>& registry) {
  nb::class_<ResourceBase>(module, "IPluginResource").def(nb::init<>());
  nb::class_<IPluginResource>(module, "LibraryPluginResource");
  nb::class_<IPluginResourceContext>(module, "IPluginResourceContext")
      .def_prop_ro("gpu_allocator", &IPluginResourceContext::getGpuAllocator,
                   nb::rv_policy::reference)
      .def_prop_ro("error_recorder", &IPluginResourceContext::getErrorRecorder,
                   nb::rv_policy::reference);
  registry
      .def(
          "acquire_plugin_resource",
          [](IPluginRegistry& self, const char* key, nb::handle resource) {
            if (!nb::isinstance<ResourceBase>(resource))
              throw nb::type_error("an object that derives from IPluginResource is expected");
            return acquired(self, key, nb::borrow(resource));
          },
          arg("key"), arg("resource"))
      .def("release_plugin_resource", &IPluginRegistry::releasePluginResource, arg("key"));
}

}  // namespace octet_trt_python
#endif
