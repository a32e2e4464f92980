// SPDX-License-Identifier: Apache-2.0
// A program that knows nothing of TensorRT's classes but their layout: it opens the libraries by name and calls functions by place
// (abi_slots.def), as compiled programs do. None of our headers is read. Exit code 0: everything was as it should be.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

enum Place : int {
#define SLOT(Class, place, function) Class##_##function = place,
#define SLOT_AS(Class, place, function, label, ...) Class##_##label = place,
#include "abi_slots.def"
#undef SLOT
#undef SLOT_AS
};

// Values of TensorRT 10.
constexpr int32_t kFloat = 0, kInt8Flag = 1, kRelu = 0, kOpt = 1, kEntropy2 = 2, kJson = 1;
constexpr int32_t kVersion = 101601;

struct Sizes {
  int32_t count;
  int64_t d[8];
};
struct Values {
  int32_t type;
  const void* values;
  int64_t count;
};
struct Info {
  const char* kind;
  int32_t major, minor;
};

int failures = 0;
void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "abi_client: %s\n", what);
  ++failures;
}

template <class Result = void, class... Arguments>
Result call(void* object, int place, Arguments... arguments) {
  void** table = *static_cast<void***>(object);
  return reinterpret_cast<Result (*)(void*, Arguments...)>(table[place])(object, arguments...);
}
// The table behind a handle: of an object, of what all layers have, and of a layer's own.
void* table(void* handle, size_t offset = 8) {
  void* found = nullptr;
  std::memcpy(&found, static_cast<char*>(handle) + offset, sizeof found);
  return found;
}
void* own_table(void* layer) { return table(layer, 16); }
void destroy(void* handle) { call(handle, 1); }
// Of networks (getBuilder) and configurations (setAvgTimingIterations), whose handles have one virtual function behind the destructor.
constexpr int kOwnFunction = 2;

// Objects of the program's own, as its compiler lays them out.
struct Object {
  void** table;
};
std::string heard;
void log(Object*, int32_t severity, const char* text) {
  if (severity <= 2) heard += std::string(text) + "\n";
}
void nothing(Object*) {}
int32_t language(Object*) { return 0; }
Info info(Object*) { return {"IInt8EntropyCalibrator2", 1, 0}; }
int32_t batch_size(Object*) { return 1; }
int batches = 0;
float sample[2] = {-8, 8};
bool batch(Object*, void* bindings[], const char**, int32_t count) {
  if (batches++ >= 3 || count != 1) return false;
  bindings[0] = sample;
  return true;
}
const void* read_cache(Object*, size_t& length) {
  length = 0;
  return nullptr;
}
std::string cache;
void write_cache(Object*, const void* data, size_t length) {
  cache.assign(static_cast<const char*>(data), length);
}
int32_t algorithm(Object*) { return kEntropy2; }

// What standard error gets meanwhile.
template <class Work>
std::string told(const Work& work) {
  std::fflush(stderr);
  const int before = dup(2), file = memfd_create("stderr", 0);
  dup2(file, 2);
  work();
  std::fflush(stderr);
  dup2(before, 2);
  close(before);
  std::string text(4096, '\0');
  const auto size = pread(file, text.data(), text.size(), 0);
  close(file);
  text.resize(size < 0 ? 0 : static_cast<size_t>(size));
  return text;
}

// A function of a later version, behind the end of a table: null, and a line with its place.
void beyond(void* object, int place, const std::string& name) {
  void* given = object;
  const std::string text = told([&] { given = call<void*>(object, place); });
  const bool holds = given == nullptr && text.find("later version") != std::string::npos &&
                     text.find("place ") != std::string::npos &&
                     text.find(name) != std::string::npos;
  expect(holds, ("a later function of " + name + ": " + text).c_str());
}

template <class Function>
void* code(Function* function) {
  return reinterpret_cast<void*>(function);
}

struct Libraries {
  void* infer;
  void* parser;
  void* plugins;
  template <class Result, class... Arguments>
  Result operator()(void* library, const char* name, Arguments... arguments) const {
    auto* function = reinterpret_cast<Result (*)(Arguments...)>(dlsym(library, name));
    if (function == nullptr) {
      std::fprintf(stderr, "abi_client: no %s\n", name);
      std::exit(1);
    }
    return function(arguments...);
  }
};

void* open_library(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "abi_client: %s\n", dlerror());
    std::exit(1);
  }
  return library;
}

// relu(3 x + 1), in codes.
void* build(const Libraries& get, void* builder, Object* calibrator) {
  static const float three = 3, one = 1;
  void* handle = call<void*>(table(builder), VBuilder_createNetworkV2, uint32_t{1});
  void* network = table(handle);
  const Sizes sizes{4, {1, 1, 1, 2}}, kernel{2, {1, 1}};
  void* x = call<void*>(network, VNetworkDefinition_addInput, "x", kFloat, &sizes);
  void* conv = call<void*>(network, VNetworkDefinition_addConvolutionNd, x, int64_t{1}, &kernel,
                           Values{kFloat, &three, 1}, Values{kFloat, &one, 1});
  expect(call<int64_t>(own_table(conv), VConvolutionLayer_getNbOutputMaps) == 1, "one output map");
  const Sizes told = call<Sizes>(own_table(conv), VConvolutionLayer_getKernelSizeNd);
  expect(told.count == 2 && told.d[0] == 1, "a kernel of 1 x 1");
  call(table(conv), VLayer_setName, "triple");
  expect(std::string(call<const char*>(table(conv), VLayer_getName)) == "triple", "a layer's name");
  void* between = call<void*>(table(conv), VLayer_getOutput, int32_t{0});
  void* relu = call<void*>(network, VNetworkDefinition_addActivation, between, kRelu);
  expect(call<int32_t>(own_table(relu), VActivationLayer_getActivationType) == kRelu, "a relu");
  void* y = call<void*>(table(relu), VLayer_getOutput, int32_t{0});
  call(table(y), VTensor_setName, "y");
  call(network, VNetworkDefinition_markOutput, y);
  expect(call<int32_t>(network, VNetworkDefinition_getNbLayers) == 2, "two layers");
  expect(call<void*>(network, VNetworkDefinition_getBuilder) == builder, "the network's builder");
  expect(call<void*>(handle, kOwnFunction) == builder, "the builder by the handle's own table");
  void* const no_tensor = nullptr;
  expect(call<void*>(network, VNetworkDefinition_addActivation, no_tensor, kRelu) == nullptr &&
             heard.find("null tensor") != std::string::npos,
         "a layer of a null tensor");
  void* config = call<void*>(table(builder), VBuilder_createBuilderConfig);
  call(table(config), VBuilderConfig_setFlag, kInt8Flag);
  call(config, kOwnFunction, 7);
  expect(call<int32_t>(table(config), VBuilderConfig_getAvgTimingIterations) == 7,
         "iterations by the handle's own table");
  call(table(config), VBuilderConfig_setInt8Calibrator, calibrator);
  void* plan = call<void*>(table(builder), VBuilder_buildSerializedNetwork, handle, config);
  static_cast<void>(get);
  destroy(config);
  destroy(handle);
  return plan;
}

void run(void* engine) {
  void* tables = table(engine);
  expect(call<int32_t>(tables, VCudaEngine_getNbIOTensors) == 2, "two bindings");
  expect(call<void*>(tables, VCudaEngine_getPImpl) == engine, "getPImpl");
  const Sizes shape = call<Sizes>(tables, VCudaEngine_getTensorShape, "x");
  expect(shape.count == 4 && shape.d[3] == 2, "the input's sizes");
  expect(call<Sizes>(tables, VCudaEngine_getProfileShape, "x", int32_t{0}, kOpt).count == 4,
         "a profile's sizes");
  void* context = call<void*>(tables, VCudaEngine_createExecutionContext, int32_t{0});
  float x[2] = {-2, 4}, y[2] = {-1, -1};
  call<bool>(table(context), VExecutionContext_setTensorAddress, "x", static_cast<void*>(x));
  call<bool>(table(context), VExecutionContext_setTensorAddress, "y", static_cast<void*>(y));
  expect(call<bool>(table(context), VExecutionContext_enqueueV3, static_cast<void*>(nullptr)),
         "enqueueV3");
  // One code of the output is about 0.2.
  expect(y[0] == 0 && y[1] > 12.5F && y[1] < 13.5F, "relu(3 x + 1) in codes");
  void* inspector = call<void*>(tables, VCudaEngine_createEngineInspector);
  const std::string text =
      call<const char*>(table(inspector), VEngineInspector_getEngineInformation, kJson);
  expect(text.find("triple") != std::string::npos, "the inspector's layers");
  beyond(table(context), 54, "nvinfer1::apiv::VExecutionContext");
  destroy(inspector);
  destroy(context);
}

// Classes whose functions clients call directly.
void beyond_classes(const Libraries& get, void* builder, void* logger) {
  beyond(get.operator()<void*>(get.infer, "getPluginRegistry"), 19, "IPluginRegistry");
  void* network = call<void*>(table(builder), VBuilder_createNetworkV2, uint32_t{1});
  void* parser =
      get.operator()<void*>(get.parser, "createNvOnnxParser_INTERNAL", network, logger, 100);
  beyond(parser, 25, "IParser");
  expect(!call<bool>(parser, IParser_parse, "?", size_t{1}, static_cast<const char*>(nullptr)),
         "a model of one byte");
  beyond(call<void*>(parser, IParser_getError, int32_t{0}), 10, "IParserError");
  call(parser, 9);  // its destructor
  destroy(network);
  // It looks at no refitter before it refits.
  void* refitter = get.operator()<void*>(get.parser, "createNvOnnxParserRefitter_INTERNAL", builder,
                                         logger, 100);
  beyond(refitter, 10, "IParserRefitter");
  call(refitter, 6);
}

// The first logger of the process may be gone when a later function is called.
void forgotten_logger(const Libraries& get, void** log_table) {
  Object* first = new Object{log_table};
  void* builder = get.operator()<void*>(get.infer, "createInferBuilder_INTERNAL",
                                        static_cast<void*>(first), kVersion);
  void* config = call<void*>(table(builder), VBuilder_createBuilderConfig);
  first->table = nullptr;
  delete first;
  beyond(table(config), 69, "VBuilderConfig");
  destroy(config);
  destroy(builder);
}

// References to nothing: refused with a line of the function.
template <class Work>
void refuses(const char* function, const Work& work) {
  heard.clear();
  const bool none = !work();
  expect(none && heard.find(std::string(function) + ": a null ") != std::string::npos,
         (std::string(function) + " of null: " + heard).c_str());
}
void of_nothing(void* builder) {
  void* handle = call<void*>(table(builder), VBuilder_createNetworkV2, uint32_t{1});
  void* network = table(handle);
  void* config = call<void*>(table(builder), VBuilder_createBuilderConfig);
  void* const none = nullptr;
  const Sizes sizes{1, {2}};
  void* x = call<void*>(network, VNetworkDefinition_addInput, "x", kFloat, &sizes);
  void* relu = call<void*>(network, VNetworkDefinition_addActivation, x, kRelu);
  const auto told_of = [&](const std::string& name, int place) {
    refuses(("INetworkDefinition::" + name).c_str(),
            [&] { return call(network, place, none), false; });
  };
  told_of("markOutput", VNetworkDefinition_markOutput);
  told_of("unmarkOutput", VNetworkDefinition_unmarkOutput);
  told_of("removeTensor", VNetworkDefinition_removeTensor);
  const auto false_of = [&](const std::string& name, int place) {
    refuses(("INetworkDefinition::" + name).c_str(),
            [&] { return call<bool>(network, place, none); });
  };
  false_of("markOutputForShapes", VNetworkDefinition_markOutputForShapes);
  false_of("unmarkOutputForShapes", VNetworkDefinition_unmarkOutputForShapes);
  false_of("markDebug", VNetworkDefinition_markDebug);
  const Values empty{kFloat, nullptr, 0};
  refuses("INetworkDefinition::addScale", [&] {
    return call<void*>(network, VNetworkDefinition_addScale, none, 0, empty, empty, empty);
  });
  refuses("ILayer::setInput", [&] { return call(table(relu), VLayer_setInput, 0, none), false; });
  expect(call<void*>(table(relu), VLayer_getInput, 0) == x, "the input that was there");
  for (const auto& [given, configured] : {std::pair(none, config), std::pair(handle, none)}) {
    const auto build_of = [&, network = given, config = configured](const char* name, int place) {
      refuses((std::string("IBuilder::") + name).c_str(),
              [&] { return call<void*>(table(builder), place, network, config); });
    };
    build_of("buildSerializedNetwork", VBuilder_buildSerializedNetwork);
    build_of("buildEngineWithConfig", VBuilder_buildEngineWithConfig);
  }
  destroy(config);
  destroy(handle);
}

// The one version whose networks have another order: addCumulative stands where getBuilder does in all others.
void order_of_10_8(const Libraries& get, void* logger) {
  void* builder = get.operator()<void*>(get.infer, "createInferBuilder_INTERNAL", logger, 100800);
  expect(builder != nullptr, "a program of TensorRT 10.8");
  if (builder == nullptr) return;
  void* handle = call<void*>(table(builder), VBuilder_createNetworkV2, uint32_t{1});
  void* network = table(handle);
  constexpr int kAddCumulative = VNetworkDefinition_getBuilder, kMoved = 1;
  const auto names = [&](const char* function, int place) {
    heard.clear();
    void* none = nullptr;
    const void* made = call<void*>(network, place, none, none, 0, 0, 0);
    expect(made == nullptr && heard.find(function) != std::string::npos, function);
  };
  expect(call<void*>(network, VNetworkDefinition_getBuilder + kMoved) == builder,
         "the builder's place");
  names("addCast", VNetworkDefinition_addCast);
  names("addCumulative", kAddCumulative);
  names("addUnsqueeze", VNetworkDefinition_addUnsqueeze + kMoved);
  names("addDynamicQuantize", VNetworkDefinition_addDynamicQuantize + kMoved);
  beyond(network, 91, "nvinfer1::apiv::VNetworkDefinition");
  beyond(network, 102, "nvinfer1::apiv::VNetworkDefinition");
  destroy(handle);
  destroy(builder);
}

// What wrong programs get: null and a line in the log.
void refused(const Libraries& get, void* logger) {
  const auto builder = [&](void* to, int32_t version) {
    heard.clear();
    return get.operator()<void*>(get.infer, "createInferBuilder_INTERNAL", to, version);
  };
  expect(builder(nullptr, kVersion) == nullptr, "no logger");
  expect(builder(logger, 8601) == nullptr && !heard.empty(), "a program of TensorRT 8");
  expect(builder(logger, 110000) == nullptr && !heard.empty(), "a program of TensorRT 11");
  void* later = builder(logger, 101700);
  expect(later != nullptr && heard.find("10.17") != std::string::npos, "one of a later version");
  destroy(later);
  void* runtime = get.operator()<void*>(get.infer, "createInferRuntime_INTERNAL", logger, kVersion);
  heard.clear();
  expect(call<void*>(table(runtime), VRuntime_deserializeCudaEngine, nullptr, size_t{8}) == nullptr,
         "a plan at null");
  expect(
      call<void*>(table(runtime), VRuntime_deserializeCudaEngine, "ftrt____", size_t{8}) == nullptr,
      "a plan of TensorRT's own");
  expect(!heard.empty(), "the log of wrong plans");
  destroy(runtime);
}

void versions(const Libraries& get) {
  expect(get.operator()<int32_t>(get.infer, "getInferLibVersion") == kVersion, "the version");
  expect(get.operator()<int32_t>(get.parser, "getNvOnnxParserVersion") == 100, "the parser's");
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string folder = arguments[1];
  Libraries get{open_library(folder + "/libnvinfer.so.10"),
                open_library(folder + "/libnvonnxparser.so.10"),
                open_library(folder + "/libnvinfer_plugin.so.10")};
  void* log_table[] = {code(log), code(nothing), code(nothing)};
  forgotten_logger(get, log_table);
  Object logger{log_table};
  void* calibrator_table[] = {code(language),   code(info),        code(nothing),
                              code(nothing),    code(batch_size),  code(batch),
                              code(read_cache), code(write_cache), code(algorithm)};
  Object calibrator{calibrator_table};
  versions(get);
  expect(
      get.operator()<bool>(get.plugins, "initLibNvInferPlugins", static_cast<void*>(&logger), ""),
      "the plugins");
  void* builder = get.operator()<void*>(get.infer, "createInferBuilder_INTERNAL",
                                        static_cast<void*>(&logger), kVersion);
  of_nothing(builder);
  order_of_10_8(get, &logger);
  beyond_classes(get, builder, &logger);
  void* plan = build(get, builder, &calibrator);
  expect(plan != nullptr, heard.c_str());
  if (plan == nullptr) return 1;
  expect(cache.starts_with("TRT-101601-EntropyCalibration2"), "the calibration cache");
  void* runtime = get.operator()<void*>(get.infer, "createInferRuntime_INTERNAL",
                                        static_cast<void*>(&logger), kVersion);
  void* engine = call<void*>(table(runtime), VRuntime_deserializeCudaEngine,
                             call<void*>(table(plan), VHostMemory_data),
                             call<size_t>(table(plan), VHostMemory_size));
  expect(engine != nullptr, heard.c_str());
  if (engine == nullptr) return 1;
  // What made an engine may go before it.
  destroy(plan);
  destroy(runtime);
  destroy(builder);
  run(engine);
  destroy(engine);
  refused(get, &logger);
  return failures == 0 ? 0 : 1;
}
