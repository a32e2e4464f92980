// SPDX-License-Identifier: Apache-2.0
// What one machine knows of an engine.
#include "octet/case.h"

#include <algorithm>
#include <cstring>

#include "calibrate/cache_details.h"
#include "core/check.h"
#include "core/content_hash.h"
#include "core/file.h"
#include "core/memory.h"
#include "inspect/json.h"
#include "octet/weights.h"
#include "onnx/import.h"

namespace octet {
namespace {

// As JSON keeps it: names come from models, and need not be UTF-8.
std::string as_utf8(const std::string& name) {
  return nlohmann::json::parse(json_text(name)).get<std::string>();
}

std::vector<std::string> tensor_names(const std::vector<TensorInfo>& infos) {
  std::vector<std::string> names;
  for (const TensorInfo& info : infos) names.push_back(as_utf8(info.name));
  return names;
}

void add_inspection(const Inspection& inspection, Case& into) {
  for (const NodePrecision& node : inspection.nodes) {
    into.decisions.push_back({as_utf8(node.node), as_utf8(node.layer),
                              std::string(to_string(node.resolved)),
                              std::string(to_string(node.reason_code))});
  }
  for (const LayerInfo& layer : inspection.layers) {
    if (!layer.conversion) into.kernels.emplace_back(as_utf8(layer.name), layer.kernel);
  }
}

Tensor bytes_tensor(std::span<const std::byte> bytes) {
  Tensor tensor(Dtype::u8, Shape{static_cast<s64>(bytes.size())});
  if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
  return tensor;
}

Tensor file_tensor(const std::filesystem::path& path) {
  const File file(path);
  check_fits(static_cast<s64>(file.size()), "'" + path.string() + "'");
  Tensor tensor(Dtype::u8, Shape{static_cast<s64>(file.size())});
  file.read_at(0, {reinterpret_cast<u8*>(tensor.mutable_data()), tensor.bytes()});
  return tensor;
}

}  // namespace

Case make_case(const Engine& engine, const std::vector<Shape>& input_shapes, int threads) {
  return without_bad_alloc([&] {
    Case made;
    made.version = octet_version();
    made.compiler = octet_compiler();
    made.device = device_info("cpu");
    const std::vector<std::byte> file = engine.to_bytes();
    made.engine_hash = digest_of(file).hex();
    made.engine = bytes_tensor(file);
    made.provenance = provenance(engine);
    made.inputs = tensor_names(engine.inputs());
    made.outputs = tensor_names(engine.outputs());
    InspectOptions options;
    options.input_shapes = input_shapes;
    options.threads = threads;
    add_inspection(inspect(engine, options), made);
    return made;
  });
}

void add_model(Case& into, const std::filesystem::path& onnx_file) {
  without_bad_alloc([&] {
    if (const auto weights = weights_files(onnx_file); !weights.empty()) {
      fail(Error::Code::unsupported,
           "'{}' keeps weights in {} files of their own, which a case does not hold; leave the "
           "model out, and give it to whoever reproduces the case",
           onnx_file.string(), weights.size());
    }
    Tensor model = file_tensor(onnx_file);
    const std::string hash = model_hash({model.data(), model.bytes()});
    if (into.provenance && into.provenance->model_hash != hash) {
      fail(Error::Code::invalid_argument,
           "'{}' is not the model that the engine was built from: its hash is {}, that one's {}",
           onnx_file.string(), hash, into.provenance->model_hash);
    }
    into.model = std::move(model);
  });
}

namespace {

// Of an engine whose scales came from no cache: it was calibrated itself, and a cache of Octet's says of what.
void check_origin(const Provenance& engine, const CalibrationCache& cache) {
  if (engine.data_hash.empty() && engine.ranges_hash.empty()) {
    fail(Error::Code::invalid_argument,
         "'{}' is no cache of this engine, whose ranges came neither from data nor from a cache",
         cache.name);
  }
  if (cache.details.empty()) {
    fail(Error::Code::invalid_argument,
         "'{}' does not say what it was made of, and the engine was calibrated on data; give the "
         "cache that its build wrote, with '{}' beside it",
         cache.name, details_path(cache.name).string());
  }
  const CacheDetails details = read_cache_details(cache.details, cache.name);
  const bool same_data = details.data_hash == engine.data_hash;
  if (same_data && details.model_hash == engine.model_hash) return;
  fail(Error::Code::invalid_argument,
       "'{}' is not the cache of the engine's calibration: it was made of {}", cache.name,
       same_data ? "another model" : "other data");
}

}  // namespace

void add_cache(Case& into, CalibrationCache cache) {
  const std::string text = to_text(cache);
  const std::string hash = digest_of(std::as_bytes(std::span(text))).hex();
  const bool known = into.provenance && !into.provenance->cache_hash.empty();
  if (known && into.provenance->cache_hash != hash) {
    fail(Error::Code::invalid_argument,
         "'{}' is not the cache that the engine's scales came from: its hash is {}, that one's {}",
         cache.name, hash, into.provenance->cache_hash);
  }
  if (!known && into.provenance) check_origin(*into.provenance, cache);
  into.cache = std::move(cache);
}

std::string missing_for_build(const Case& from, bool model_given) {
  if (!from.model && !model_given) return "the case holds no model";
  if (!from.provenance) return "its engine does not say how it was built";
  const bool from_data =
      !from.provenance->data_hash.empty() || !from.provenance->cache_hash.empty();
  if (from_data && !from.cache)
    return "its ranges came from data, and the case holds no calibration cache";
  return {};
}

}  // namespace octet
