// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/bounded_json.h"
#include "core/memory.h"
#include "octet/attachment.h"
#include "octet/tensorrt_plan.h"

namespace octet {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kMagic[8] = {'O', 'C', 'T', 'T', 'R', 'T', '0', '1'};
constexpr size_t kHead = sizeof kMagic + sizeof(u64);
constexpr int kMaxDepth = 12;
// What a parsed number takes for each byte of its text, at most.
constexpr s64 kParsedBytes = 12;
constexpr s64 kMostSize = std::numeric_limits<s32>::max();
constexpr size_t kMostValues = 4096;  // of a shape input
constexpr size_t kMostProfiles = 4096;
constexpr s64 kMostFormat = 64;
constexpr s64 kVerbosities = 3;

struct Reader : JsonFields {
  bool flag(const char* key) const {
    const Json& value = at(key);
    if (!value.is_boolean()) wrong("'{}' is neither true nor false", key);
    return value.get<bool>();
  }

  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> found;
    for (const Json& value : list(key)) {
      if (!value.is_string()) wrong("'{}' holds something that is no text", key);
      found.push_back(value.get<std::string>());
    }
    return found;
  }

  std::vector<s64> numbers(const std::string& what, const Json& given, s64 least, s64 most) const {
    if (!given.is_array() || given.size() > kMostValues) wrong("{} are no list", what);
    std::vector<s64> found;
    for (const Json& value : given) {
      const bool fits = value.is_number_unsigned()
                            ? value.get<u64>() <= static_cast<u64>(std::numeric_limits<s64>::max())
                            : value.is_number_integer();
      const s64 number = fits ? value.get<s64>() : 0;
      if (!fits || number < least || number > most)
        wrong("{} hold {}", what, value.dump(-1, ' ', true, Json::error_handler_t::replace));
      found.push_back(number);
    }
    return found;
  }

  std::map<std::string, ProfileSizes> ends(const char* key, s64 least, s64 most) const {
    const Json& given = at(key);
    if (!given.is_object()) wrong("'{}' is not an object", key);
    std::map<std::string, ProfileSizes> found;
    for (const auto& [name, sizes] : given.items()) {
      if (!sizes.is_array() || sizes.size() != 3) wrong("'{}' of '{}' are not three", key, name);
      for (size_t end = 0; end < 3; ++end)
        found[name][end] =
            numbers(fmt::format("the {} of '{}'", key, name), sizes[end], least, most);
    }
    return found;
  }
};

Json to_json(const TensorRtBinding& binding) {
  return {{"name", binding.name},     {"value", binding.value}, {"input", binding.is_input},
          {"type", binding.type},     {"dims", binding.dims},   {"scale", binding.scale},
          {"format", binding.format}, {"host", binding.on_host}};
}

TensorRtBinding read_binding(const Reader& reader) {
  TensorRtBinding binding;
  binding.name = reader.text("name");
  binding.value = reader.text("value");
  binding.is_input = reader.flag("input");
  binding.type = reader.text("type");
  binding.dims = reader.numbers(fmt::format("the sizes of '{}'", binding.name), reader.at("dims"),
                                -1, kMostSize);
  if (binding.dims.size() > Shape::kMaxRank)
    reader.wrong("the sizes of '{}' are {}", binding.name, binding.dims.size());
  const f64 scale = reader.number(reader.at("scale"), "scale");
  if (scale < 0 || !std::isfinite(static_cast<f32>(scale))) reader.wrong("its scale is {}", scale);
  binding.scale = static_cast<f32>(scale);
  const s64 format = reader.integer("format", -kMostFormat, kMostFormat);
  if (format < 0) reader.wrong("the format of '{}' is {}", binding.name, format);
  binding.format = static_cast<s32>(format);
  binding.on_host = reader.flag("host");
  return binding;
}

OptimizationProfile read_profile(const Reader& reader) {
  OptimizationProfile profile;
  profile.shapes = reader.ends("shapes", 0, kMostSize);
  profile.values =
      reader.ends("values", std::numeric_limits<s64>::min(), std::numeric_limits<s64>::max());
  return profile;
}

// `read` of each entry of a list.
template <class Read>
auto read_list(const Reader& reader, const char* key, const char* what, const Read& read) {
  std::vector<decltype(read(reader))> found;
  for (const Json& value : reader.list(key)) {
    const Reader entry{
        {value, reader.file, reader.expected, fmt::format("{} {}: ", what, found.size())}};
    entry.check_object();
    found.push_back(read(entry));
  }
  return found;
}

TensorRtPlan read_plan(const Reader& reader) {
  reader.check_object();
  TensorRtPlan plan;
  plan.name = reader.text("name");
  plan.implicit_batch = reader.flag("implicit");
  plan.max_batch = reader.integer("max_batch", 1, kMostSize);
  plan.verbosity = static_cast<s32>(reader.integer("verbosity", 0, kVerbosities - 1));
  plan.refittable = reader.flag("refittable");
  plan.bindings = read_list(reader, "bindings", "binding", read_binding);
  plan.profiles = read_list(reader, "profiles", "profile", read_profile);
  plan.debug_tensors = reader.texts("debug");
  plan.tuning = reader.text("tuning");
  plan.refit_options = reader.text("refit");
  // Elder plans have none.
  if (reader.object.contains("plugins"))
    plan.plugins = reader.list("plugins").dump(-1, ' ', false, Json::error_handler_t::replace);
  return plan;
}

[[noreturn]] void damaged(const std::string& why) {
  fail(Error::Code::invalid_model, "what the plan says of itself is damaged: {}", why);
}

// The axes where `one` and `other` disagree are none. Sizes that the plan leaves open are always right for an output, whose sizes follow;
// an implicit batch is open whatever the engine says.
bool fits(const TensorRtBinding& binding, const Shape& shape, bool implicit) {
  if (shape.is_unknown()) return true;
  if (binding.dims.size() != static_cast<size_t>(shape.rank())) return false;
  for (int i = 0; i < shape.rank(); ++i) {
    const s64 dim = binding.dims[static_cast<size_t>(i)];
    const bool may_be_open = !binding.is_input || (implicit && i == 0) || shape[i] < 0;
    if (dim < 0 ? !may_be_open : dim != shape[i]) return false;
  }
  return true;
}

void check_bindings(const TensorRtPlan& plan, std::span<const TensorInfo> inputs,
                    std::span<const TensorInfo> outputs) {
  if (plan.bindings.size() != inputs.size() + outputs.size())
    damaged(fmt::format("it has {} bindings", plan.bindings.size()));
  for (size_t i = 0; i < plan.bindings.size(); ++i) {
    const TensorRtBinding& binding = plan.bindings[i];
    const bool is_input = i < inputs.size();
    const TensorInfo& value = is_input ? inputs[i] : outputs[i - inputs.size()];
    if (binding.is_input != is_input || binding.value != value.name)
      damaged(fmt::format("binding '{}' is no value of the engine", binding.name));
    if (!fits(binding, value.type.shape, plan.implicit_batch))
      damaged(fmt::format("the sizes of '{}' are not those of the engine, {}", binding.name,
                          to_string(value.type.shape)));
  }
}

// The engine's input that goes by this name.
const TensorInfo* find_input(const TensorRtPlan& plan, std::span<const TensorInfo> inputs,
                             const std::string& name) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if ((plan.bindings.empty() ? inputs[i].name : plan.bindings[i].name) == name) return &inputs[i];
  }
  return nullptr;
}

void check_profile(const TensorRtPlan& plan, std::span<const TensorInfo> inputs, size_t index) {
  const auto check_entry = [&](const std::string& name, const auto& problem) {
    const TensorInfo* input = find_input(plan, inputs, name);
    const std::string wrong = input == nullptr ? "no input has that name" : problem(*input);
    if (!wrong.empty()) damaged(fmt::format("profile {}, '{}': {}", index, name, wrong));
  };
  for (const auto& entry : plan.profiles[index].shapes) {
    check_entry(entry.first, [&](const TensorInfo& input) {
      return profile_problem(entry.second, input.type.shape);
    });
  }
  for (const auto& entry : plan.profiles[index].values)
    check_entry(entry.first, [&](const TensorInfo&) { return order_problem(entry.second); });
}

}  // namespace

std::string order_problem(const ProfileSizes& values) {
  const auto& [least, usual, most] = values;
  if (usual.size() > kMostValues)
    return fmt::format("{} sizes; expected {} at most", usual.size(), kMostValues);
  if (least.size() != usual.size() || usual.size() != most.size())
    return fmt::format("{}, {} and {} sizes for min, opt and max; expected equally many",
                       least.size(), usual.size(), most.size());
  for (size_t i = 0; i < least.size(); ++i) {
    if (least[i] <= usual[i] && usual[i] <= most[i]) continue;
    return fmt::format("min {}, opt {}, max {} at axis {}; expected min <= opt <= max", least[i],
                       usual[i], most[i], i);
  }
  return {};
}

std::string profile_problem(const ProfileSizes& sizes, const Shape& shape) {
  if (std::string wrong = order_problem(sizes); !wrong.empty()) return wrong;
  const std::vector<s64>& usual = sizes[1];
  const bool rank_fits = shape.is_unknown() || usual.size() == static_cast<size_t>(shape.rank());
  if (!rank_fits || usual.size() > Shape::kMaxRank)
    return fmt::format("{} sizes; the input is {}", usual.size(), to_string(shape));
  for (size_t i = 0; i < usual.size(); ++i) {
    if (sizes[0][i] < 0) return fmt::format("min {} at axis {}", sizes[0][i], i);
    if (sizes[2][i] > kMostSize) return fmt::format("max {} at axis {}", sizes[2][i], i);
    const s64 fixed = shape.is_unknown() ? -1 : shape[static_cast<int>(i)];
    if (fixed >= 0 && (sizes[0][i] != fixed || sizes[2][i] != fixed))
      return fmt::format("{} to {} at axis {}; the input is {}", sizes[0][i], sizes[2][i], i,
                         to_string(shape));
  }
  return {};
}

std::string to_bytes(const TensorRtPlan& plan) {
  Json bindings = Json::array(), profiles = Json::array();
  for (const TensorRtBinding& binding : plan.bindings) bindings.push_back(to_json(binding));
  for (const OptimizationProfile& profile : plan.profiles)
    profiles.push_back({{"shapes", profile.shapes}, {"values", profile.values}});
  const Json all = {{"name", plan.name},
                    {"implicit", plan.implicit_batch},
                    {"max_batch", plan.max_batch},
                    {"verbosity", plan.verbosity},
                    {"refittable", plan.refittable},
                    {"bindings", bindings},
                    {"profiles", profiles},
                    {"debug", plan.debug_tensors},
                    {"tuning", plan.tuning},
                    {"refit", plan.refit_options},
                    {"plugins", Json::parse(plan.plugins)}};
  const std::string text = all.dump(-1, ' ', false, Json::error_handler_t::replace);
  const u64 bytes = text.size();
  std::string out(kMagic, sizeof kMagic);
  out.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  return out + text + plan.rest;
}

std::optional<TensorRtPlan> tensorrt_plan(std::span<const std::byte> attached) {
  const std::string_view bytes(reinterpret_cast<const char*>(attached.data()), attached.size());
  if (bytes.size() < kHead || !bytes.starts_with(std::string_view(kMagic, sizeof kMagic)))
    return std::nullopt;
  u64 length = 0;
  std::memcpy(&length, bytes.data() + sizeof kMagic, sizeof length);
  if (length > bytes.size() - kHead) damaged("its length");
  check_fits(static_cast<s64>(length) * kParsedBytes, "what a plan says of itself");
  try {
    const std::string file = "the plan";
    const OrderedJsonTree tree = parse_bounded_json(bytes.substr(kHead, length), file, kMaxDepth);
    TensorRtPlan plan = read_plan({{tree.value, file, "what a build attaches to its engine"}});
    plan.rest = bytes.substr(kHead + length);
    return plan;
  } catch (const Error& error) {
    damaged(error.message());
  }
}

std::optional<TensorRtPlan> tensorrt_plan(const Engine& engine) {
  std::optional<TensorRtPlan> plan = tensorrt_plan(attachment(engine));
  if (plan) check_plan(*plan, engine);
  return plan;
}

void check_plan(const TensorRtPlan& plan, const Engine& engine) {
  const std::vector<TensorInfo> inputs = engine.inputs(), outputs = engine.outputs();
  if (!plan.bindings.empty()) check_bindings(plan, inputs, outputs);
  if (plan.profiles.size() > kMostProfiles)
    damaged(fmt::format("{} profiles; expected {} at most", plan.profiles.size(), kMostProfiles));
  for (size_t p = 0; p < plan.profiles.size(); ++p) check_profile(plan, inputs, p);
}

}  // namespace octet
