// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <fmt/format.h>

#include <algorithm>

#include "failure.h"
#include "model_files.h"
#include "octet/limits.h"
#include "octet/machine.h"
#include "octet/provenance.h"
#include "trial.h"

namespace octet::triton {
namespace {

const Backend& backend_of(TRITONBACKEND_Model* model) {
  TRITONBACKEND_Backend* backend = nullptr;
  check(TRITONBACKEND_ModelBackend(model, &backend));
  void* state = nullptr;
  check(TRITONBACKEND_BackendState(backend, &state));
  return *static_cast<const Backend*>(state);
}

// A message of the server's, deleted in the end.
class Message {
 public:
  explicit Message(const std::string& json) {
    check(TRITONSERVER_MessageNewFromSerializedJson(&message_, json.data(), json.size()));
  }
  explicit Message(TRITONSERVER_Message* message) : message_(message) {}
  ~Message() { ignore(TRITONSERVER_MessageDelete(message_)); }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  TRITONSERVER_Message* get() const { return message_; }

 private:
  TRITONSERVER_Message* message_ = nullptr;
};

Json config_of(TRITONBACKEND_Model* model) {
  TRITONSERVER_Message* message = nullptr;
  check(TRITONBACKEND_ModelConfig(model, 1, &message));
  return parse_message(Message(message).get());
}

std::string name_of(TRITONBACKEND_Model* model) {
  const char* name = nullptr;
  check(TRITONBACKEND_ModelName(model, &name));
  return name;
}

uint64_t version_of(TRITONBACKEND_Model* model) {
  uint64_t version = 0;
  check(TRITONBACKEND_ModelVersion(model, &version));
  return version;
}

std::filesystem::path folder_of(TRITONBACKEND_Model* model) {
  TRITONBACKEND_ArtifactType type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
  const char* location = nullptr;
  check(TRITONBACKEND_ModelRepository(model, &type, &location));
  if (type != TRITONBACKEND_ARTIFACT_FILESYSTEM)
    throw Error(Error::Code::unsupported, "the model repository is no folder");
  return std::filesystem::path(location) / std::to_string(version_of(model));
}

Labels labels_of(TRITONBACKEND_Model* model) {
  return {{"model", name_of(model)}, {"version", std::to_string(version_of(model))}};
}

Labels with_engine(Labels labels, const Engine& engine) {
  labels.emplace_back("engine", engine_hash(engine));
  if (const std::optional<Provenance> made = provenance(engine)) {
    labels.emplace_back("octet", made->version);
    labels.emplace_back("model_hash", made->model_hash);
    labels.emplace_back("data_hash", made->data_hash);
    labels.emplace_back("calibration", made->methods);
    labels.emplace_back("samples", std::to_string(made->samples));
  }
  return labels;
}

// Instances of the configuration that share this machine's processors; `all`: whatever their groups say.
int64_t cpu_instances(const Json& config, bool all) {
  int64_t count = 0;
  for (const Json& group : config.value("instance_group", Json::array())) {
    const bool gpu = group.value("kind", "") == "KIND_GPU";
    if (gpu && !all) continue;
    const auto gpus = static_cast<int64_t>(group.value("gpus", Json::array()).size());
    count += whole_number(group.value("count", Json(1))) * std::max<int64_t>(gpu ? gpus : 1, 1);
  }
  return std::max<int64_t>(count, 1);
}

// Of a run, as far as shapes are not open.
bool all_static(const SampleShapes& sample) {
  return std::ranges::all_of(sample,
                             [](const Shape& s) { return !s.is_unknown() && s.is_static(); });
}

}  // namespace

Backend::Backend(TRITONBACKEND_Backend* server) {
  TRITONSERVER_Message* config = nullptr;
  check(TRITONBACKEND_BackendConfig(server, &config));  // stays the server's
  settings = backend_settings(parse_message(config));
  if (settings.memory_limit > 0) {
    Limits wanted = limits();
    wanted.memory = settings.memory_limit;
    set_limits(wanted);
  }
}

ServedModel::ServedModel(TRITONBACKEND_Model* server) : ServedModel(server, backend_of(server)) {}

ServedModel::ServedModel(TRITONBACKEND_Model* server, const Backend& backend)
    : server_(server),
      title_(fmt::format("{} version {}", name_of(server), version_of(server))),
      default_threads_(backend.settings.threads),
      settings_(model_settings(config())),
      engine_(load_engine(folder_of(server), config().value("default_model_filename", ""),
                          settings_, usable_processors())),
      metrics_(backend.families, labels_of(server)),
      info_(backend.families.engine_info, with_engine(labels_of(server), engine_)) {
  bool asked = false;
  check(TRITONBACKEND_ModelAutoCompleteConfig(server, &asked));
  if (asked) complete(backend);
  signature_ = agreed(config(), engine_);
  parse_sample_shapes(settings_.shapes,
                      signature_.inputs);  // of what was written wrongly the load tells
  info_.set(1);
  watch_clipping(backend);
}

// Beside what is served, and nothing that it needs.
void ServedModel::watch_clipping(const Backend& backend) {
  const double percent = settings_.clip_watch.value_or(backend.settings.clip_watch);
  if (percent == 0) return;
  try {
    clip_metrics_ =
        std::make_unique<ClipMetrics>(engine_, percent / 100, backend.families, labels_of(server_));
  } catch (const Error& error) {
    clip_metrics_.reset();
    const bool nothing = error.code() == Error::Code::unsupported;
    log(nothing ? TRITONSERVER_LOG_VERBOSE : TRITONSERVER_LOG_WARN,
        fmt::format("{}: clipped values are not counted: {}", title_, error.what()));
  }
}

int64_t ServedModel::counted_rows() const {
  return signature_.batched() ? std::max<int64_t>(signature_.fixed_batch, 1) : 0;
}

Json ServedModel::config() const { return config_of(server_); }

void ServedModel::complete(const Backend& backend) {
  Json given = config();
  int64_t max_batch = whole_number(given.value("max_batch_size", Json(0)));
  const bool open = given.value("input", Json::array()).empty() && max_batch == 0;
  if (open) max_batch = batch_to_offer(backend);
  const Json made = completed(std::move(given), engine_.inputs(), engine_.outputs(), max_batch);
  check(TRITONBACKEND_ModelSetConfig(server_, 1, Message(made.dump()).get()));
}

// How many rows a model without a configuration takes at once: requests share a run only where that changes no answer.
int64_t ServedModel::batch_to_offer(const Backend& backend) {
  const int64_t wanted = settings_.batch_sizes.empty() ? backend.settings.default_max_batch
                                                       : settings_.batch_sizes.back();
  const Signature tried{engine_.inputs(), engine_.outputs(), wanted, 0};
  if (wanted < 1 || !begins_open(tried.inputs)) return 0;
  std::string reason;
  try {
    Runner runner(engine_, "cpu", usable_processors());
    const std::vector<SampleShapes> samples = parse_sample_shapes(settings_.shapes, tried.inputs);
    reason =
        mixes_rows(runner, tried, samples.empty() ? guessed_sample(tried.inputs) : samples[0], 3);
  } catch (const Error& error) {
    reason = fmt::format(
        "a batch of made-up data does not run (parameter 'shapes' names sizes): {}", error.what());
  }
  if (reason.empty()) {
    mixing_ = "";
    return wanted;
  }
  log(TRITONSERVER_LOG_WARN, fmt::format("{}: max_batch_size is 0: {}", title_, reason));
  return 0;
}

std::string ServedModel::device_for(TRITONBACKEND_ModelInstance* instance) const {
  if (!settings_.device.empty()) return settings_.device;
  TRITONSERVER_InstanceGroupKind kind = TRITONSERVER_INSTANCEGROUPKIND_AUTO;
  check(TRITONBACKEND_ModelInstanceKind(instance, &kind));
  if (kind != TRITONSERVER_INSTANCEGROUPKIND_GPU) return "cpu";
  int32_t number = 0;
  check(TRITONBACKEND_ModelInstanceDeviceId(instance, &number));
  return fmt::format("cuda:{}", number);
}

int ServedModel::threads_for(const std::string& device) {
  if (settings_.threads) return *settings_.threads;
  if (default_threads_ > 0) return default_threads_;
  if (device != "cpu") return 1;  // what a GPU does not run is little
  return static_cast<int>(std::max<int64_t>(
      1, usable_processors() / cpu_instances(config(), settings_.device == "cpu")));
}

// What can be planned before a request: the engine's own sizes, or those that the configuration names.
std::vector<SampleShapes> ServedModel::known_samples() const {
  std::vector<SampleShapes> samples = parse_sample_shapes(settings_.shapes, signature_.inputs);
  if (!samples.empty()) return samples;
  SampleShapes own;
  for (const TensorInfo& info : signature_.inputs) {
    const Shape& shape = info.type.shape;
    own.push_back(signature_.batched() ? Shape(shape.dims().subspan(1)) : shape);
  }
  if (all_static(own)) return {own};
  log(TRITONSERVER_LOG_WARN,
      fmt::format("{}: sizes of its inputs are open, and each new one is planned by its first "
                  "request; parameter 'shapes' names those to plan while the model is loaded",
                  title_));
  return {};
}

std::vector<int64_t> ServedModel::batch_sizes() const {
  if (!signature_.batched()) return {0};
  std::vector<int64_t> sizes = settings_.batch_sizes;
  if (sizes.empty() || signature_.fixed_batch > 0)
    return usual_batches(signature_.max_batch, signature_.fixed_batch);
  if (sizes.back() > signature_.max_batch)
    throw Error(Error::Code::invalid_argument,
                fmt::format("parameter 'batch_sizes' has {}, max_batch_size is {}", sizes.back(),
                            signature_.max_batch));
  return sizes;
}

void ServedModel::prepare(Runner& runner, const SampleShapes& sample,
                          std::vector<BatchCost>& costs) const {
  const std::vector<int64_t> sizes = batch_sizes();
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::vector<Shape> shapes = shapes_of(sample, sizes[i]);
    if (runner.is_gpu()) runner.prepare(shapes, true);
    const Runner::Prepared& prepared = runner.prepare(shapes, false);
    if (signature_.batched()) check_rows(prepared, sizes[i]);
    BatchCost cost{std::max<int64_t>(sizes[i], 1), static_cast<double>(sizes[i] + 1)};
    if (settings_.warm_up) {
      try {
        const bool by_rows = signature_.runs_by_rows(sizes[i], runner.is_gpu());
        cost.seconds = timed_run(prepared, signature_.inputs, by_rows);
      } catch (const Error& error) {
        log(TRITONSERVER_LOG_WARN,
            fmt::format("{}: no warm-up, made-up data do not run: {}", title_, error.what()));
      }
    }
    if (costs.size() < sizes.size()) costs.push_back(cost);
  }
}

void ServedModel::refuse_batches(const std::string& reason) const {
  throw Error(Error::Code::invalid_argument,
              fmt::format("{}: max_batch_size is {}, but {}: set it to 0", title_,
                          signature_.max_batch, reason));
}

void ServedModel::check_rows(const Runner::Prepared& prepared, int64_t rows) const {
  const std::string reason = unlike_rows(prepared, signature_, rows);
  if (!reason.empty()) refuse_batches(reason);
}

void ServedModel::check_rows(Runner& runner, const SampleShapes& sample, bool guessed) {
  const std::lock_guard lock(trying_);
  const bool empty = std::ranges::any_of(
      sample, [](const Shape& s) { return s.is_static() && s.elements() == 0; });
  if (!mixing_ && !empty) {
    const int64_t fixed = signature_.fixed_batch;
    const int64_t rows = fixed > 0 ? fixed : std::min<int64_t>(batch_sizes().back(), 3);
    // Sizes that the engine does not take tell nothing.
    if (!guessed) runner.find(shapes_of(sample, rows), false);
    try {
      mixing_ = mixes_rows(runner, signature_, sample, rows);
    } catch (const Error& error) {
      if (!guessed) mixing_ = "";
      const char* what = guessed ? "its first request tells whether rows are independent"
                                 : "rows are taken to be independent, as its max_batch_size says";
      log(TRITONSERVER_LOG_WARN,
          fmt::format("{}: {}: made-up data do not run: {}", title_, what, error.what()));
    }
  }
  if (mixing_ && !mixing_->empty()) refuse_batches(*mixing_);
}

BatchPlan ServedModel::warm_up(Runner& runner) {
  const std::lock_guard lock(warming_);
  std::vector<BatchCost> costs;
  const std::vector<SampleShapes> samples = known_samples();
  if (signature_.batched()) {
    const bool guessed = samples.empty();
    check_rows(runner, guessed ? guessed_sample(signature_.inputs) : samples[0], guessed);
  }
  for (const SampleShapes& sample : samples) prepare(runner, sample, costs);
  for (const int64_t size : batch_sizes()) {
    if (samples.empty())
      costs.push_back({std::max<int64_t>(size, 1), static_cast<double>(size + 1)});
  }
  if (costs_.empty()) {
    costs_ = costs;
    // What fails here fails again beside a request, and nobody waits for it there.
    for (const SampleShapes& sample : samples) {
      if (clip_metrics_ != nullptr)
        ignore(guarded([&] { clip_metrics_->prepare(shapes_of(sample, counted_rows())); }));
    }
  }
  return BatchPlan(costs_);
}

}  // namespace octet::triton
