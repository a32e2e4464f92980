// SPDX-License-Identifier: Apache-2.0
// An operator over the bare C interface, z = gain * x + y, and by -DFAULT_... one of the mistakes that octet plugin check must find.
// Without one it passes.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "octet/plugin.h"

namespace {

struct Instance {
  float gain;
  const octet_plugin_value* attributes = nullptr;
  float scale = 0;  // of the first call
};

std::atomic<int> calls = 0;

#if defined(__x86_64__)
[[maybe_unused]] void flush_small_numbers() {
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
}
#elif defined(__aarch64__)
[[maybe_unused]] void flush_small_numbers() {
  uint64_t mode = 0;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  asm volatile("msr fpcr, %0" ::"r"(mode | 1u << 24));
}
#endif
#ifdef FAULT_LOADS_FAST_MATH
[[maybe_unused]] const int loaded = (flush_small_numbers(), 0);
#endif

int64_t count_of(const octet_plugin_tensor& t) {
  int64_t count = 1;
  for (int i = 0; i < t.rank; ++i) count *= t.dims[i];
  return count;
}

int32_t refuse(char* message, uint64_t capacity, const char* why) {
#ifndef FAULT_REFUSES_WITHOUT_A_WORD
  std::snprintf(message, capacity, "%s", why);
#endif
#ifdef FAULT_SAYS_TOO_MUCH
  std::memset(message, 'x', capacity + 100);
#endif
  (void)message, (void)capacity, (void)why;
  return OCTET_PLUGIN_REFUSED;
}

int32_t infer(octet_plugin_call* call) {
  const octet_plugin_tensor &x = call->inputs[0], &y = call->inputs[1];
  if (x.rank != y.rank || !std::equal(x.dims, x.dims + x.rank, y.dims))
    return refuse(call->message, call->message_capacity, "x and y have other shapes");
  octet_plugin_tensor& z = call->outputs[0];
#ifndef FAULT_SETS_NO_SHAPE
  z.rank = x.rank;
#endif
  std::copy(x.dims, x.dims + x.rank, z.dims);
#ifdef FAULT_NEGATIVE_DIMENSION
  z.dims[0] = -7;
#endif
#ifdef FAULT_SAYS_THAT_DATA_SIZE_IT
  z.open_dims = 1;
#endif
#ifdef FAULT_TOO_MANY_DIMENSIONS
  z.rank = 9;
#endif
#ifdef FAULT_SHAPE_CHANGES
  if (z.rank > 0) z.dims[0] += calls++ % 2;
#endif
#ifdef FAULT_DIES_ON_EMPTY_SHAPES
  if (count_of(x) == 0) std::abort();
#endif
  return OCTET_PLUGIN_OK;
}

int32_t create(octet_plugin_creation* creation) {
  float gain = creation->attributes[0].floats[0];
#ifdef FAULT_CREATE_RETURNS_NOTHING
  return OCTET_PLUGIN_OK;
#endif
#ifdef FAULT_DIES_AT_THE_EDGE
  if (gain == 0) std::abort();
#endif
#ifdef FAULT_REFUSES_WITHOUT_A_WORD
  if (gain == 0) return refuse(creation->message, creation->message_capacity, "");
#endif
  if (creation->state != nullptr) {
#ifndef FAULT_BELIEVES_ITS_STATE
    if (creation->state_bytes != sizeof gain)
      return refuse(creation->message, creation->message_capacity, "no state of mine");
#endif
    std::memcpy(&gain, creation->state, sizeof gain);
#ifdef FAULT_BELIEVES_ITS_STATE
    if (creation->state_bytes != sizeof gain) *reinterpret_cast<volatile int*>(1) = 0;
#endif
  }
  creation->instance = new Instance{gain, creation->attributes};
  return OCTET_PLUGIN_OK;
}

void destroy(const octet_plugin_operator*, void* instance) {
#ifdef FAULT_DESTROY_THROWS
  throw std::runtime_error("thrown at the end");
#endif
#ifndef FAULT_LEAKS_INSTANCES
  delete static_cast<Instance*>(instance);
#endif
  (void)instance;
}

int64_t serialize(const octet_plugin_operator*, const void* instance, void* buffer,
                  uint64_t capacity) {
  float gain = static_cast<const Instance*>(instance)->gain;
#ifdef FAULT_STATE_DRIFTS
  gain += 1;
#endif
#ifdef FAULT_IGNORES_CAPACITY
  capacity = sizeof gain;
#endif
  if (buffer != nullptr && capacity >= sizeof gain) std::memcpy(buffer, &gain, sizeof gain);
  return sizeof gain;
}

int64_t workspace(octet_plugin_call* call) {
#ifdef FAULT_WORKSPACE_TOO_SMALL
  return count_of(call->inputs[0]) * 2;
#else
  return count_of(call->inputs[0]) * 4;
#endif
}

// What others in the process, or after the call, would feel.
void disturbs(float* z) {
#ifdef FAULT_FLUSHES_SMALL_NUMBERS
  flush_small_numbers();
#endif
#ifdef FAULT_WORKS_ON
  std::thread([z] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    z[0] = 0;
  }).detach();
#endif
  (void)z;
}

// What should never happen. True: it fails.
bool misbehaves(const float* x, float* z, int64_t count) {
#ifdef FAULT_THROWS
  throw std::runtime_error("thrown across the border");
#endif
#ifdef FAULT_NEVER_RETURNS
  for (volatile int forever = 1; forever != 0;) {
  }
#endif
#ifdef FAULT_LEAVES
  std::exit(0);
#endif
#ifdef FAULT_FAILS_WITHOUT_A_WORD
  return true;
#endif
#ifdef FAULT_LEAKS
  auto* leaked = new volatile char[100];
  leaked[0] = 1;
#endif
#ifdef FAULT_WRITES_BEFORE
  z[-1] = 0;
#endif
#ifdef FAULT_WRITES_FAR_PAST
  z[count + 16] = 0;
#endif
#ifdef FAULT_WRITES_ONE_PAST
  z[count] = 0;
#endif
#ifdef FAULT_WRITES_TO_INPUT
  const_cast<float*>(x)[0] = 0;
#endif
#ifdef FAULT_READS_PAST
  z[0] = x[count + 16];
#endif
  (void)x, (void)z, (void)count;
  return false;
}

void add(octet_plugin_call* call, const float* own, const float* y, float* z, int64_t count) {
#ifdef FAULT_ONE_PIECE
  struct Task {
    const float *own, *y;
    float* z;
  } task = {own, y, z};
  const auto piece = [](void* user, int64_t begin, int64_t end) {
    const Task& t = *static_cast<Task*>(user);
    for (int64_t i = 0; i < end - begin; ++i) t.z[i] = t.own[i] + t.y[i];
  };
  call->parallel(call->host, count, piece, &task);
#else
  for (int64_t i = 0; i < count; ++i) z[i] = own[i] + y[i];
#endif
  (void)call;
}

// Between 0 and the last, for every number; for what is none the comparisons are false.
[[maybe_unused]] void index_by_value(const float* x, const float* own, float* z, int64_t count) {
  const float last = static_cast<float>(count - 1);
  for (int64_t i = 0; i < count; ++i) {
    const float place = std::min(std::max(x[i], 0.0f), last);
    z[i] += 0 * own[static_cast<int>(place)];
  }
}

int32_t reals(octet_plugin_call* call) {
  const auto* x = static_cast<const float*>(call->inputs[0].data);
  const auto* y = static_cast<const float*>(call->inputs[1].data);
  auto* z = static_cast<float*>(call->outputs[0].data);
  auto* own = static_cast<float*>(call->workspace);
#ifdef FAULT_KEEPS_ITS_ATTRIBUTES
  const float gain = *static_cast<const Instance*>(call->instance)->attributes[0].floats;
#else
  const float gain = static_cast<const Instance*>(call->instance)->gain;
#endif
  int64_t count = count_of(call->inputs[0]);
  disturbs(z);
  if (misbehaves(x, z, count)) return OCTET_PLUGIN_FAILED;
#ifdef FAULT_FORGETS_THE_LAST
  --count;
#endif
#ifdef FAULT_CHANNELS_OF_THREE
  const int64_t* dims = call->inputs[0].dims;
  count = dims[0] * ((dims[1] + 2) / 3 * 3) * dims[2] * dims[3];
#endif
#ifdef FAULT_SHARES_A_BUFFER
  static float shared[1 << 16];
  own = shared;
#endif
#ifndef FAULT_READS_ITS_WORKSPACE_FIRST
  for (int64_t i = 0; i < count; ++i) own[i] = gain * x[i];
#endif
  add(call, own, y, z, count);
#ifdef FAULT_INDEX_BY_VALUE
  index_by_value(x, own, z, count);
#endif
#ifdef FAULT_CHANGES_FROM_RUN_TO_RUN
  z[0] += static_cast<float>(calls++);
#endif
  return OCTET_PLUGIN_OK;
}

uint8_t code_of(float real, const octet_plugin_tensor& t) {
  const float code = std::nearbyint(real / t.scales[0]) + static_cast<float>(t.zero_points[0]);
  return static_cast<uint8_t>(std::min(255.0f, std::max(0.0f, code)));
}

int32_t codes(octet_plugin_call* call) {
  const octet_plugin_tensor &x = call->inputs[0], &z = call->outputs[0];
#ifdef FAULT_ONE_SCALE_FOR_ALL
  const octet_plugin_tensor& y = x;
#else
  const octet_plugin_tensor& y = call->inputs[1];
#endif
  const float gain = static_cast<const Instance*>(call->instance)->gain;
  float scale = x.scales[0];
#ifdef FAULT_KEEPS_THE_FIRST_SCALE
  float& first = static_cast<Instance*>(call->instance)->scale;
  if (first == 0) first = scale;
  scale = first;
#endif
  for (int64_t i = 0; i < count_of(x); ++i) {
    const int a = static_cast<const uint8_t*>(x.data)[i] - x.zero_points[0];
    const int b = static_cast<const uint8_t*>(call->inputs[1].data)[i] - y.zero_points[0];
    float real = gain * scale * static_cast<float>(a) + y.scales[0] * static_cast<float>(b);
#ifdef FAULT_THREE_CODES_OFF
    real += 3 * z.scales[0];
#endif
    static_cast<uint8_t*>(z.data)[i] = code_of(real, z);
  }
  return OCTET_PLUGIN_OK;
}

#ifdef FAULT_COSTS_NO_NUMBER
double cost(octet_plugin_call*) { return std::nan(""); }
#else
constexpr double (*cost)(octet_plugin_call*) = nullptr;
#endif

// The elements lie in another order, which an elementwise operator need not know.
int32_t nhwc(octet_plugin_call* call) {
  const int32_t status = reals(call);
#ifdef FAULT_LAYOUTS_DIFFER
  static_cast<float*>(call->outputs[0].data)[0] += 1;
#endif
  return status;
}

#ifdef FAULT_OTHER_SYMBOLS
}  // namespace
extern "C" __attribute__((visibility("default"))) int everybody_sees_this() { return 1; }
namespace {
#endif

constexpr octet_plugin_format format(uint32_t type, uint32_t layout, uint32_t params) {
  return {sizeof(octet_plugin_format), type, layout, params, 0, 0, 0};
}
constexpr auto kReal = format(OCTET_TYPE_F32, OCTET_LAYOUT_LINEAR, OCTET_PARAMS_NONE);
constexpr auto kNhwc = format(OCTET_TYPE_F32, OCTET_LAYOUT_NHWC, OCTET_PARAMS_NONE);
constexpr auto kCode = format(OCTET_TYPE_U8, OCTET_LAYOUT_LINEAR, OCTET_PARAMS_PER_TENSOR);
#ifdef FAULT_SCALED_REALS
constexpr auto kOdd = format(OCTET_TYPE_F32, OCTET_LAYOUT_LINEAR, OCTET_PARAMS_PER_TENSOR);
#else
constexpr auto kOdd = kReal;
#endif
const octet_plugin_format kReals[] = {kOdd, kReal}, kNhwcs[] = {kNhwc, kNhwc},
                          kCodes[] = {kCode, kCode};

#ifdef FAULT_SHORT_STRUCT
constexpr uint64_t kCombinationBytes = 16;
#else
constexpr uint64_t kCombinationBytes = sizeof(octet_plugin_combination);
#endif
#ifdef FAULT_ONE_NAME_FOR_TWO
constexpr const char* kSecond = "reals";
#else
constexpr const char* kSecond = "int8";
#endif
#ifdef FAULT_NOTHING_TO_RUN
constexpr int32_t (*kRun)(octet_plugin_call*) = nullptr;
#else
constexpr int32_t (*kRun)(octet_plugin_call*) = reals;
#endif

const octet_plugin_combination kCombinations[] = {
    {kCombinationBytes, "reals", OCTET_DEVICE_HOST, 0, kReals, kReals + 1, kRun, workspace, cost},
    {kCombinationBytes, kSecond, OCTET_DEVICE_HOST, 0, kCodes, kCodes, codes, nullptr, nullptr},
    {kCombinationBytes, "nhwc", OCTET_DEVICE_HOST, 0, kNhwcs, kNhwcs, nhwc, workspace, nullptr}};

#ifdef FAULT_DEFAULT_OUTSIDE
const float kGain[] = {5};
#else
const float kGain[] = {0.5f};
#endif
const octet_plugin_value kDefault = {sizeof kDefault, "gain", OCTET_ATTRIBUTE_FLOAT, 0, 1, nullptr,
                                     kGain,           nullptr};
const octet_plugin_attribute kAttributes[] = {{sizeof(octet_plugin_attribute), "gain",
                                               OCTET_ATTRIBUTE_FLOAT, 0, &kDefault, 0, 2, 0, 0,
                                               nullptr}};
const octet_plugin_port kInputs[] = {{sizeof(octet_plugin_port), "x", 0, 1, 4, 4},
                                     {sizeof(octet_plugin_port), "y", 0, 1, 4, 4}};
#ifdef FAULT_DATA_SIZE_CODES
constexpr uint32_t kOutputFlags = OCTET_PORT_DATA_SIZED;
#else
constexpr uint32_t kOutputFlags = 0;
#endif
const octet_plugin_port kOutputs[] = {{sizeof(octet_plugin_port), "z", kOutputFlags, 1, 4, 4}};
const int32_t kRanks[] = {4, 4};
#ifdef FAULT_REFUSES_ITS_EXAMPLE
const int64_t kDims[] = {2, 3, 4, 5, 2, 3, 4, 6};
#else
const int64_t kDims[] = {2, 3, 4, 5, 2, 3, 4, 5};
#endif
#ifdef FAULT_EXAMPLE_OF_ONE_INPUT
constexpr uint64_t kCaseInputs = 1;
#else
constexpr uint64_t kCaseInputs = 2;
#endif
const octet_plugin_case kCases[] = {
    {sizeof(octet_plugin_case), 0, nullptr, kCaseInputs, kRanks, kDims}};

#ifdef FAULT_COMPUTES_AND_COMMUTES
constexpr uint32_t kFlags = OCTET_OPERATOR_CONCURRENT | OCTET_OPERATOR_COMMUTES;
#else
constexpr uint32_t kFlags = OCTET_OPERATOR_CONCURRENT;
#endif
#ifdef FAULT_ODD_NAME
constexpr const char* kName = "Gained Sum";
#else
constexpr const char* kName = "GainedSum";
#endif
const octet_plugin_operator kOperator = {
    sizeof kOperator, kName,   "org.faults", 1,      kFlags,        1, kAttributes, 2,
    kInputs,          1,       kOutputs,     3,      kCombinations, 1, kCases,      infer,
    create,           destroy, serialize,    nullptr};
const octet_plugin_operator* const kOperators[] = {&kOperator};
#ifdef FAULT_OTHER_INTERFACE
constexpr uint32_t kAbi = 99;
#else
constexpr uint32_t kAbi = OCTET_PLUGIN_ABI;
#endif
const octet_plugin kPlugin = {sizeof kPlugin, kAbi, 0, "faulty", "1.0", 1, kOperators};

}  // namespace

const octet_plugin* octet_plugin_entry(const octet_plugin_host*) { return &kPlugin; }
