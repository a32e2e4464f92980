// SPDX-License-Identifier: Apache-2.0
// How an engine is built: flags, pools, calibrator, profiles, timing caches.
#include "layers.h"

namespace octet_trt_python {
namespace {

using Class = nb::class_<IBuilderConfig>;

void add_flags(Class& type) {
  using C = IBuilderConfig;
  type.def_prop_rw("flags", &C::getFlags, &C::setFlags)
      .def("set_flag", &C::setFlag, nb::arg("flag"))
      .def("clear_flag", &C::clearFlag, nb::arg("flag"))
      .def("get_flag", &C::getFlag, nb::arg("flag"))
      .def_prop_rw("quantization_flags", &C::getQuantizationFlags, &C::setQuantizationFlags)
      .def("set_quantization_flag", &C::setQuantizationFlag, nb::arg("flag"))
      .def("clear_quantization_flag", &C::clearQuantizationFlag, nb::arg("flag"))
      .def("get_quantization_flag", &C::getQuantizationFlag, nb::arg("flag"))
      .def("set_memory_pool_limit", &C::setMemoryPoolLimit, nb::arg("pool"), nb::arg("pool_size"))
      .def("get_memory_pool_limit", &C::getMemoryPoolLimit, nb::arg("pool"))
      .def("set_preview_feature", &C::setPreviewFeature, nb::arg("feature"), nb::arg("enable"))
      .def("get_preview_feature", &C::getPreviewFeature, nb::arg("feature"))
      .def("set_tactic_sources", &C::setTacticSources, nb::arg("tactic_sources"))
      .def("get_tactic_sources", &C::getTacticSources)
      .def("reset", &C::reset);
}

void add_numbers(Class& type) {
  using C = IBuilderConfig;
  type.def_prop_rw("avg_timing_iterations", &C::getAvgTimingIterations, &C::setAvgTimingIterations)
      .def_prop_rw("engine_capability", &C::getEngineCapability, &C::setEngineCapability)
      .def_prop_rw("profiling_verbosity", &C::getProfilingVerbosity, &C::setProfilingVerbosity)
      .def_prop_rw("default_device_type", &C::getDefaultDeviceType, &C::setDefaultDeviceType)
      .def_prop_rw("DLA_core", &C::getDLACore, &C::setDLACore)
      .def_prop_rw("builder_optimization_level", &C::getBuilderOptimizationLevel,
                   &C::setBuilderOptimizationLevel)
      .def_prop_rw("hardware_compatibility_level", &C::getHardwareCompatibilityLevel,
                   &C::setHardwareCompatibilityLevel)
      .def_prop_rw("max_aux_streams", &C::getMaxAuxStreams, &C::setMaxAuxStreams)
      .def_prop_rw(
          "profile_stream", [](const C& self) { return number_of(self.getProfileStream()); },
          [](C& self, nb::handle stream) {
            self.setProfileStream(static_cast<cudaStream_t>(pointer_of(stream)));
          })
      .def_prop_rw(
          "plugins_to_serialize",
          [](const C& self) {
            std::vector<std::string> paths;
            for (int32_t i = 0; i < self.getNbPluginsToSerialize(); ++i)
              paths.emplace_back(text_of(self.getPluginToSerialize(i)));
            return paths;
          },
          [](C& self, const std::vector<std::string>& paths) {
            std::vector<const char*> texts;
            for (const std::string& path : paths) texts.push_back(path.c_str());
            self.setPluginsToSerialize(texts.data(), static_cast<int32_t>(texts.size()));
          });
}

void add_level(Class& type) {
  using C = IBuilderConfig;
#if NV_TENSORRT_MAJOR >= 10
  type.def_prop_rw("progress_monitor", &C::getProgressMonitor, &C::setProgressMonitor,
                   nb::for_getter(nb::rv_policy::reference), nb::for_setter(nb::keep_alive<1, 2>()),
                   nb::for_setter(nb::arg("monitor").none()))
      .def_prop_rw("runtime_platform", &C::getRuntimePlatform, &C::setRuntimePlatform)
      .def_prop_rw("max_num_tactics", &C::getMaxNbTactics, &C::setMaxNbTactics)
      .def_prop_rw("tiling_optimization_level", &C::getTilingOptimizationLevel,
                   &C::setTilingOptimizationLevel)
      .def_prop_rw("l2_limit_for_tiling", &C::getL2LimitForTiling, &C::setL2LimitForTiling);
#else
  type.def_prop_rw("min_timing_iterations", &C::getMinTimingIterations, &C::setMinTimingIterations)
      .def_prop_rw("max_workspace_size", &C::getMaxWorkspaceSize, &C::setMaxWorkspaceSize);
#endif
}

void add_device(Class& type) {
  using C = IBuilderConfig;
  type.def(
          "set_device_type",
          [](C& self, const AnyLayer& layer, DeviceType device) {
            self.setDeviceType(layer.layer, device);
          },
          nb::arg("layer"), nb::arg("device_type"))
      .def(
          "get_device_type",
          [](const C& self, const AnyLayer& layer) { return self.getDeviceType(layer.layer); },
          nb::arg("layer"))
      .def(
          "is_device_type_set",
          [](const C& self, const AnyLayer& layer) { return self.isDeviceTypeSet(layer.layer); },
          nb::arg("layer"))
      .def(
          "reset_device_type",
          [](C& self, const AnyLayer& layer) { self.resetDeviceType(layer.layer); },
          nb::arg("layer"))
      .def(
          "can_run_on_DLA",
          [](const C& self, const AnyLayer& layer) { return self.canRunOnDLA(layer.layer); },
          nb::arg("layer"));
}

ITimingCache* create_timing_cache(const IBuilderConfig& self, nb::handle blob) {
  const Bytes bytes(blob);
  return self.createTimingCache(bytes.data(), bytes.size());
}

void add_objects(Class& type) {
  using C = IBuilderConfig;
  type.def_prop_rw("int8_calibrator", &C::getInt8Calibrator, &C::setInt8Calibrator,
                   nb::for_getter(nb::rv_policy::reference), nb::for_setter(nb::keep_alive<1, 2>()),
                   nb::for_setter(nb::arg("calibrator").none()))
      .def_prop_ro("num_optimization_profiles", &C::getNbOptimizationProfiles)
      .def("add_optimization_profile", &C::addOptimizationProfile, nb::arg("profile"),
           nb::keep_alive<1, 2>())
      .def("set_calibration_profile", &C::setCalibrationProfile, nb::arg("profile"),
           nb::keep_alive<1, 2>())
      .def(
          "get_calibration_profile",
          [](C& self) { return const_cast<IOptimizationProfile*>(self.getCalibrationProfile()); },
          nb::rv_policy::reference_internal)
      .def("create_timing_cache", &create_timing_cache, nb::arg("serialized_timing_cache"),
           nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def("set_timing_cache", &C::setTimingCache, nb::arg("cache"), nb::arg("ignore_mismatch"),
           nb::keep_alive<1, 2>())
      .def(
          "get_timing_cache",
          [](const C& self) { return const_cast<ITimingCache*>(self.getTimingCache()); },
          nb::rv_policy::reference_internal);
}

// Smallest, best and largest sizes.
nb::object shapes_of(const IOptimizationProfile& self, const char* input) {
  nb::list shapes;
  for (const auto select :
       {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX}) {
    const Dims dims = self.getDimensions(input, select);
    if (dims.nbDims < 0) return nb::list();
    shapes.append(dims);
  }
  return shapes;
}

bool in_order(const Dims& small, const Dims& large) {
  bool ordered = small.nbDims == large.nbDims;
  for (int32_t i = 0; ordered && i < small.nbDims; ++i) ordered = small.d[i] <= large.d[i];
  return ordered;
}

void set_shape(IOptimizationProfile& self, const char* input, const Dims& min, const Dims& opt,
               const Dims& max) {
  const bool done = in_order(min, opt) && in_order(opt, max) &&
                    self.setDimensions(input, OptProfileSelector::kMIN, min) &&
                    self.setDimensions(input, OptProfileSelector::kOPT, opt) &&
                    self.setDimensions(input, OptProfileSelector::kMAX, max);
  if (!done) {
    throw nb::value_error(
        (std::string("the shapes of input '") + input +
         "' are no profile: the smallest, the best and the largest have one number of sizes "
         "and do not decrease")
            .c_str());
  }
}

#if NV_TENSORRT_MAJOR >= 10
using Value = int64_t;
const Value* values_of(const IOptimizationProfile& self, const char* input,
                       OptProfileSelector select) {
  return self.getShapeValuesV2(input, select);
}
bool set_values(IOptimizationProfile& self, const char* input, OptProfileSelector select,
                const std::vector<Value>& values) {
  return self.setShapeValuesV2(input, select, values.data(), static_cast<int32_t>(values.size()));
}
#else
using Value = int32_t;
const Value* values_of(const IOptimizationProfile& self, const char* input,
                       OptProfileSelector select) {
  return self.getShapeValues(input, select);
}
bool set_values(IOptimizationProfile& self, const char* input, OptProfileSelector select,
                const std::vector<Value>& values) {
  return self.setShapeValues(input, select, values.data(), static_cast<int32_t>(values.size()));
}
#endif

void add_profile(nb::module_& module) {
  using P = IOptimizationProfile;
  using Values = std::vector<Value>;
  nb::class_<P>(module, "IOptimizationProfile")
      .def("set_shape", &set_shape, nb::arg("input"), nb::arg("min"), nb::arg("opt"),
           nb::arg("max"))
      .def("get_shape", &shapes_of, nb::arg("input"))
      .def(
          "set_shape_input",
          [](P& self, const char* input, const Values& min, const Values& opt, const Values& max) {
            if (!set_values(self, input, OptProfileSelector::kMIN, min) ||
                !set_values(self, input, OptProfileSelector::kOPT, opt) ||
                !set_values(self, input, OptProfileSelector::kMAX, max))
              throw nb::value_error("the values are no profile");
          },
          nb::arg("input"), nb::arg("min"), nb::arg("opt"), nb::arg("max"))
      .def(
          "get_shape_input",
          [](const P& self, const char* input) {
            nb::list shapes;
            const int32_t count = self.getNbShapeValues(input);
            for (const auto select :
                 {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX}) {
              const Value* values = values_of(self, input, select);
              if (values == nullptr || count < 0) return nb::list();
              shapes.append(nb::cast(Values(values, values + count)));
            }
            return shapes;
          },
          nb::arg("input"))
      .def_prop_rw("extra_memory_target", &P::getExtraMemoryTarget, &P::setExtraMemoryTarget)
      .def("__bool__", &P::isValid);
}

}  // namespace

void add_config(nb::module_& module) {
  add_profile(module);
  nb::class_<ITimingCache> cache(module, "ITimingCache");
  cache.def("serialize", &ITimingCache::serialize, nb::rv_policy::take_ownership)
      .def("combine", &ITimingCache::combine, nb::arg("input_cache"), nb::arg("ignore_mismatch"))
      .def("reset", &ITimingCache::reset);
  Class type(module, "IBuilderConfig");
  add_with(type);
  add_flags(type);
  add_numbers(type);
  add_level(type);
  add_device(type);
  add_objects(type);
}

}  // namespace octet_trt_python
