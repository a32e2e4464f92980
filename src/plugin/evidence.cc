// SPDX-License-Identifier: Apache-2.0
#include "plugin/evidence.h"

#include <cstring>

#include "plugin/check_trials.h"

namespace octet {
namespace {

class Writer {
 public:
  void number(s64 value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view text) {
    number(static_cast<s64>(text.size()));
    bytes_ += text;
  }
  void output(const std::string& name, const PortCodes& port, const Tensor& values) {
    text(name);
    number(static_cast<s64>(port.stored));
    number(port.format.symmetric);
    number(port.is_codes());
    const f32 scale = port.is_codes() ? port.scales[0] : 0;
    s32 bits = 0;
    std::memcpy(&bits, &scale, sizeof bits);
    number(bits);
    number(port.zero_point);
    number(static_cast<s64>(values.dtype()));
    number(values.shape().rank());
    for (const s64 size : values.shape()) number(size);
    text({reinterpret_cast<const char*>(values.data()), values.bytes()});
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  bool at_end() const { return bytes_.empty(); }

  s64 number() {
    s64 value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  s64 number(s64 least, s64 most) {
    const s64 value = number();
    if (value < least || value > most) wrong();
    return value;
  }
  std::string_view text() { return take(static_cast<size_t>(number(0, s64{kMostEvidence}))); }

  RecordedOutput output() {
    RecordedOutput output;
    output.name = text();
    output.port.stored = dtype();
    output.port.format.symmetric = number(0, 1) != 0;
    const bool codes = number(0, 1) != 0;
    const s32 bits = static_cast<s32>(number());
    f32 scale = 0;
    std::memcpy(&scale, &bits, sizeof scale);
    if (codes) output.port.scales = {scale};
    output.port.zero_point = static_cast<s32>(number());
    const Dtype of_values = dtype();
    Shape shape;
    for (s64 rank = number(0, OCTET_PLUGIN_MAX_RANK); rank > 0; --rank)
      shape.push_back(number(0, s64{kMostEvidence}));
    const std::string_view data = text();
    f64 wanted = static_cast<f64>(dtype_bytes(of_values));
    for (const s64 size : shape) wanted *= static_cast<f64>(size);
    if (wanted != static_cast<f64>(data.size())) wrong();
    output.values = Tensor(of_values, shape);
    if (!data.empty()) std::memcpy(output.values.mutable_data(), data.data(), data.size());
    return output;
  }

  [[noreturn]] static void wrong() {
    fail(kWrong, "its process does not give the results that it should have");
  }

 private:
  Dtype dtype() {
    const auto dtype = static_cast<Dtype>(number(0, kDtypeCount - 1));
    if (plugin_type(dtype) == OCTET_TYPE_NONE) wrong();
    return dtype;
  }
  std::string_view take(size_t count) {
    if (count > bytes_.size()) wrong();
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  std::string_view bytes_;
};

// Cases in their order, the first and as many more as have no more than so many elements: the same in each process.
class Recorder {
 public:
  void add(const Trial& trial, const std::vector<Tensor>& results) {
    constexpr s64 kMostElements = 1 << 21;
    for (const TensorType& type : trial.outputs) elements_ += type.shape.elements();
    if (!bytes_.empty() && elements_ > kMostElements) return;
    Writer one;
    one.text(trial.text());
    one.number(static_cast<s64>(results.size()));
    for (size_t i = 0; i < results.size(); ++i) {
      const bool read = !trial.of.omits_result(i);
      one.output(trial.op->declaration.output(i).name, read ? trial.form.outputs[i] : PortCodes{},
                 read ? results[i] : unread());
    }
    bytes_ += one.take();
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
  s64 elements_ = 0;
};

// As `wanted` is, which another process gave; `what` they are.
void same_kind(const RecordedCase& got, const RecordedCase& wanted, const std::string& what) {
  if (got.text != wanted.text || got.outputs.size() != wanted.outputs.size())
    fail(kWrong, "{}: another process that has loaded it gives {}", got.text, what);
}

const RecordedCase& same_case(const Evidence& of, size_t i, size_t count) {
  if (i >= of.size() || of.size() != count)
    fail(kWrong, "one process that has loaded it gives {} cases, another one {}", count, of.size());
  return of[i];
}

void hold_output(const RecordedCase& of, const RecordedOutput& got, const RecordedOutput& reals,
                 bool commutes) {
  PortCodes port = got.port;
  if (port.is_codes() && commutes) mean_moved_codes(port);
  // Results that data size are fewer than what their codes were fitted to, and are numbers.
  if (port.is_codes() && !commutes) {
    fit_codes(port, reals.values);
    if (port.scales != got.port.scales || port.zero_point != got.port.zero_point)
      fail(kWrong,
           "{}: the codes of output '{}' do not fit the float evaluation of another process",
           of.text, got.name);
  }
  if (got.values.shape() != reals.values.shape())
    fail(kWrong, "{}: output '{}' is {}, the float evaluation gives {} in another process", of.text,
         got.name, to_string(got.values.shape()), to_string(reals.values.shape()));
  const Allowed most = allowed(commutes, port.is_codes(), reals.values);
  for (s64 e = 0; e < got.values.elements(); ++e) {
    const f64 value = value_at(got.values, e),
              wanted = wanted_value(port, value_at(reals.values, e));
    if (!most.allows(value, wanted))
      fail(kWrong,
           "{}: element {} of output '{}' is {}, the float evaluation gives {} in another process: "
           "more than one {}",
           of.text, e, got.name, value, wanted, most.unit);
  }
}

}  // namespace

std::string record_outputs(const CheckContext& context, std::byte poison) {
  Recorder recorder;
  for_each_trial(context, "for the process that judges", [&](const Trial& trial) {
    recorder.add(trial, run_trial(context, trial, step_of(trial), RunMemory{.poison = poison}));
  });
  return recorder.take();
}

std::string record_reals(const CheckContext& context) {
  Recorder recorder;
  for_each_trial(context, "the float evaluation, for the process that judges",
                 [&](const Trial& trial) { recorder.add(trial, trial.reals); });
  return recorder.take();
}

Evidence read_evidence(std::string_view bytes) {
  constexpr s64 kMostOutputs = s64{kMaxPluginTensors};
  Reader reader(bytes);
  Evidence evidence;
  while (!reader.at_end()) {
    RecordedCase& next = evidence.emplace_back();
    next.text = reader.text();
    for (s64 count = reader.number(1, kMostOutputs); count > 0; --count)
      next.outputs.push_back(reader.output());
  }
  if (evidence.empty()) Reader::wrong();
  return evidence;
}

void same_evidence(const Evidence& a, const Evidence& b, const std::string& how) {
  for (size_t i = 0; i < a.size(); ++i) {
    const RecordedCase& other = same_case(b, i, a.size());
    same_kind(a[i], other, "other cases");
    for (size_t o = 0; o < a[i].outputs.size(); ++o) {
      const RecordedOutput &x = a[i].outputs[o], &y = other.outputs[o];
      const s64 at =
          x.values.dtype() == y.values.dtype() ? first_difference(x.values, y.values) : 0;
      if (at >= 0) fail(kWrong, "{}: element {} of output '{}' {}", a[i].text, at, x.name, how);
    }
  }
}

void hold_to_reals(const Evidence& got, const Evidence& reals, bool commutes) {
  for (size_t i = 0; i < got.size(); ++i) {
    const RecordedCase& wanted = same_case(reals, i, got.size());
    same_kind(got[i], wanted, "another float evaluation");
    for (size_t o = 0; o < got[i].outputs.size(); ++o)
      hold_output(got[i], got[i].outputs[o], wanted.outputs[o], commutes);
  }
}

}  // namespace octet
