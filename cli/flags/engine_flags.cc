// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/engine_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "cli/fail.h"
#include "cli/flags/number_range.h"
#include "cli/output/messages.h"
#include "cli/output/terminal.h"
#include "octet/closest.h"
#include "octet/data.h"
#include "octet/limits.h"
#include "octet/work_limit.h"

namespace octet::cli {
namespace {

constexpr int kMaxThreads = 256;

std::pair<std::string, Shape> parse_shape(const std::string& text) {
  const auto wrong = [&]() {
    fail(Error::Code::invalid_argument,
         "--shape {}: expected NAME:DIMxDIMx..., for example image:1x3x224x224", text);
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) wrong();
  std::vector<int64_t> dims;
  const char* at = text.data() + colon + 1;
  const char* end = text.data() + text.size();
  while (true) {
    int64_t dim = 0;
    const auto [rest, error] = std::from_chars(at, end, dim);
    if (error != std::errc() || dim < 1) wrong();
    dims.push_back(dim);
    if (rest == end) break;
    if (*rest != 'x') wrong();
    at = rest + 1;
  }
  return {text.substr(0, colon), Shape(dims)};
}

void check_names(const Engine& engine, const std::map<std::string, Shape>& shapes) {
  const auto inputs = engine.inputs();
  for (const auto& entry : shapes) {
    const std::string& name = entry.first;
    if (std::any_of(inputs.begin(), inputs.end(), [&](const auto& i) { return i.name == name; }))
      continue;
    const std::vector<std::string> names = tensor_names(inputs);
    fail(Error::Code::invalid_argument, "--shape {}: no such input; the inputs are {}{}", name,
         joined(names), did_you_mean(name, names));
  }
}

// The size that every image ends with, in the dynamic height and width of an image input.
Shape with_image_size(Shape shape, const std::optional<Preprocess>& preprocess) {
  if (!preprocess || shape.rank() < 3 || shape.rank() > 4) return shape;
  const std::optional<Preprocess::Size> size = preprocess->crop        ? preprocess->crop
                                               : preprocess->letterbox ? preprocess->letterbox
                                                                       : preprocess->resize;
  if (!size) return shape;
  const int height = preprocess->layout == "nhwc" ? shape.rank() - 3 : shape.rank() - 2;
  if (shape[height] == Shape::kDynamic) shape[height] = size->height;
  if (shape[height + 1] == Shape::kDynamic) shape[height + 1] = size->width;
  return shape;
}

}  // namespace

CLI::Option* add_engine_argument(CLI::App& app, std::filesystem::path& engine) {
  return app
      .add_option("engine", engine, "engine file, or an ONNX model, which is compiled in memory")
      ->required()
      ->type_name("ENGINE|MODEL.onnx");
}

CLI::Option* add_threads_flag(CLI::App& app, int& threads) {
  return app.add_option("--threads", threads, "threads to use")
      ->type_name("N")
      ->capture_default_str()
      ->check(from_to(1, kMaxThreads));
}

CLI::Option* add_processors_flag(CLI::App& app, int& threads) {
  return app
      .add_option("--threads", threads,
                  "threads to use [as many as the process has processors]; results are the same")
      ->type_name("N")
      ->check(from_to(1, kMaxThreads));
}

void add_device_flag(CLI::App& app, std::string& device) {
  app.add_option(
         "--device", device,
         "what runs the engine: cpu, cuda:N (an NVIDIA GPU), or test:N to test copies and waits")
      ->type_name("NAME")
      ->capture_default_str();
}

void add_devices_flag(CLI::App& app, std::string& devices) {
  app.add_option("--device", devices,
                 "what runs the engine: cpu, cuda:N (an NVIDIA GPU), test:N to test copies and "
                 "waits, several of them, or cuda:all")
      ->type_name("NAME[,NAME...]")
      ->capture_default_str();
}

CLI::Option* add_shape_flag(CLI::App& app, std::vector<std::string>& shapes) {
  return app.add_option("--shape", shapes, "size of a dynamic input, repeatable")
      ->type_name("NAME:1x3x224x224")
      ->allow_extra_args(false);
}

void add_limit_flags(CLI::App& app, LimitFlags& flags) {
  app.add_option("--max-memory", flags.memory, "refuse what needs more [4 x the file, at least 8G]")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->check(number_within(int64_t{1} << 20, int64_t{1} << 60, {"from 1M", "not from 1M on"}));
  app.add_option("--max-loop-trips", flags.loop_trips,
                 "stop a Loop that goes on after so many trips [1000000]")
      ->type_name("N")
      ->check(from(int64_t{1}));
  app.add_option("--max-work", flags.work,
                 "refuse a run that takes more steps without kernels [2e11: some minutes]")
      ->type_name("STEPS")
      ->check(from(1.0));
  // What looks at files before the command runs (cli/output/outputs.h) keeps to the limit, too.
  app.parse_complete_callback([&flags] {
    if (flags.memory == 0) return;
    Limits now = limits();
    now.memory = flags.memory;
    set_limits(now);
  });
}

void put_in_force(const LimitFlags& flags, const std::filesystem::path& file) {
  Limits limits;
  limits.memory = flags.memory > 0 ? flags.memory : default_memory_limit(file_bytes(file));
  if (flags.loop_trips > 0) limits.loop_trips = flags.loop_trips;
  set_limits(limits);
  set_work_limit(flags.work);
  detail(fmt::format("limits: {} of memory, {} loop trips",
                     human_bytes(static_cast<uint64_t>(limits.memory)), limits.loop_trips));
}

void add_tuning_flag(CLI::App& app, std::filesystem::path& file) {
  app.add_option("--tuning", file, "kernels as octet bench --tune FILE measured them; same results")
      ->type_name("FILE");
}

std::shared_ptr<const Tuning> read_tuning(const std::filesystem::path& file) {
  return file.empty() ? nullptr : std::make_shared<const Tuning>(load_tuning(file));
}

void warn_of_stale_choices(const std::vector<LayerInfo>& layers,
                           const std::filesystem::path& file) {
  const auto stale = [](const LayerInfo& layer) { return !layer.choice.missing.empty(); };
  const auto count = std::count_if(layers.begin(), layers.end(), stale);
  if (count == 0) return;
  const LayerInfo& first = *std::find_if(layers.begin(), layers.end(), stale);
  print_warning(fmt::format("{}: {} of its choices fall back to the cost model; '{}': {}",
                            file.string(), count, first.name, to_string(first.choice)));
}

CLI::Option* add_json_flag(CLI::App& app, bool& json) {
  return app.add_flag("--json", json, "print one JSON object instead of text");
}

void add_last_flags(CLI::App& app, std::filesystem::path& weights_root, LimitFlags& limits,
                    bool& json) {
  add_weights_root_flag(app, weights_root);
  add_limit_flags(app, limits);
  add_json_flag(app, json);
}

void add_common_flags(CLI::App& app, EngineFlags& flags) {
  add_last_flags(app, flags.model_flags.weights_root, flags.limits, flags.json);
}

std::map<std::string, Shape> parse_shapes(const std::vector<std::string>& texts) {
  std::map<std::string, Shape> shapes;
  for (const std::string& text : texts) {
    const auto [at, is_new] = shapes.insert(parse_shape(text));
    if (is_new) continue;
    fail(Error::Code::invalid_argument, "--shape {}: the size of '{}' is given before, as {}", text,
         at->first, to_string(at->second));
  }
  return shapes;
}

std::vector<Shape> concrete_shapes(const Engine& engine, const std::map<std::string, Shape>& shapes,
                                   int64_t batch) {
  check_names(engine, shapes);
  std::vector<Shape> result;
  const std::vector<TensorInfo> inputs = engine.inputs();
  for (size_t n = 0; n < inputs.size(); ++n) {
    const TensorInfo& input = inputs[n];
    Shape shape = input.type.shape;
    const auto given = shapes.find(input.name);
    if (given != shapes.end()) {
      shape = given->second;
    } else if (inputs.size() == 1) {
      shape = with_image_size(shape, engine.preprocess());
    }
    for (int i = 0; i < shape.rank(); ++i) {
      if (shape[i] != Shape::kDynamic) continue;
      if (i > 0 && i != sample_axis(inputs, n)) {
        fail(Error::Code::invalid_argument,
             "input '{}' is {}: its size is not fixed; give it with --shape {}:...", input.name,
             to_string(shape), input.name);
      }
      shape[i] = batch;
    }
    result.push_back(shape);
  }
  return result;
}

void warn_of_fixed_batch(const Engine& engine, const std::vector<Shape>& shapes, int64_t batch,
                         std::string_view flag) {
  const std::vector<TensorInfo> inputs = engine.inputs();
  std::string sizes;
  for (size_t n = 0; n < inputs.size(); ++n) {
    const int axis = sample_axis(inputs, n);
    if (axis < 0 || axis >= shapes[n].rank()) continue;
    if (shapes[n][axis] == batch) return;
    if (sizes.empty())
      sizes = fmt::format("input '{}' is {}", inputs[n].name, to_string(shapes[n]));
  }
  print_warning(fmt::format("{} {} has no effect: {}", flag, batch,
                            sizes.empty() ? "no input has samples" : sizes));
}

std::vector<Shape> assumed_shapes(const Engine& engine) {
  std::vector<Shape> shapes = sample_shapes(engine);
  const std::vector<TensorInfo> inputs = engine.inputs();
  if (inputs.size() != 1) return shapes;
  const Shape sized = with_image_size(inputs[0].type.shape, engine.preprocess());
  for (int d = 0; d < sized.rank(); ++d) {
    if (sized[d] != Shape::kDynamic) shapes[0][d] = sized[d];
  }
  return shapes;
}

uint64_t file_bytes(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

std::string coverage_line(const Coverage& coverage) {
  if (coverage.layers == 0) return "no layer that could be INT8";
  const std::string macs = coverage.macs > 0 ? percent(coverage.mac_share()) + " of multiplications"
                                             : std::string("no multiplications");
  const std::string time =
      coverage.us > 0 ? fmt::format(", {} of time", percent(coverage.time_share())) : "";
  return fmt::format("{} of {} layers ({}), {}, {} of bytes{} in INT8", coverage.int8_layers,
                     coverage.layers, percent(coverage.layer_share()), macs,
                     percent(coverage.byte_share()), time);
}

std::vector<std::string> tensor_names(std::span<const TensorInfo> infos) {
  std::vector<std::string> names;
  for (const TensorInfo& info : infos) names.push_back(info.name);
  return names;
}

std::string joined(std::span<const std::string> names, const std::string& separator) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : separator) + name;
  return out;
}

}  // namespace octet::cli
