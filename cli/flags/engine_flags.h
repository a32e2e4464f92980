// SPDX-License-Identifier: Apache-2.0
// Flags and small helpers of the commands that work on an engine: --threads, --device, --shape, --json, and how layers are shown.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/samples/engine_source.h"
#include "octet/engine.h"
#include "octet/inspect.h"
#include "octet/tuning.h"

namespace octet::cli {

// ENGINE|MODEL.onnx, required.
CLI::Option* add_engine_argument(CLI::App& app, std::filesystem::path& engine);
CLI::Option* add_threads_flag(CLI::App& app, int& threads);
// The same where 0 stands for as many as the process has processors.
CLI::Option* add_processors_flag(CLI::App& app, int& threads);
// --device NAME: what runs the engine.
void add_device_flag(CLI::App& app, std::string& device);
// Of a command that takes several: --device NAME[,NAME...], or cuda:all, for devices_named().
void add_devices_flag(CLI::App& app, std::string& devices);
CLI::Option* add_shape_flag(CLI::App& app, std::vector<std::string>& shapes);
// --max-memory SIZE and --max-loop-trips N; zeros without them.
struct LimitFlags {
  int64_t memory = 0;
  int64_t loop_trips = 0;
  double work = 0;
};
void add_limit_flags(CLI::App& app, LimitFlags& flags);
CLI::Option* add_json_flag(CLI::App& app, bool& json);
// What ends the help of commands that read models: --weights-root, limits and --json.
void add_last_flags(CLI::App& app, std::filesystem::path& weights_root, LimitFlags& limits,
                    bool& json);

// What every command has that works on an engine.
struct EngineFlags {
  std::filesystem::path engine;
  int threads = 1;
  ModelFlags model_flags;
  LimitFlags limits;
  bool json = false;
};
void add_common_flags(CLI::App& app, EngineFlags& flags);

// Puts the limits in force; where no memory is given, what the size of `file` suggests.
void put_in_force(const LimitFlags& flags, const std::filesystem::path& file);
// --tuning FILE: choices that `octet bench --tune` measured.
void add_tuning_flag(CLI::App& app, std::filesystem::path& file);
// Null without a file.
std::shared_ptr<const Tuning> read_tuning(const std::filesystem::path& file);
// Of choices whose kernel no longer accepts its layer: the cost model chose instead.
void warn_of_stale_choices(const std::vector<LayerInfo>& layers, const std::filesystem::path& file);

// "image:1x3x224x224" texts by input name. Throws Error(invalid_argument) on anything else.
std::map<std::string, Shape> parse_shapes(const std::vector<std::string>& texts);

// One concrete shape for each input: what `shapes` says, else the engine's with `batch` for a dynamic first dimension, and the size of
// the images that its preprocessing gives. A later dimension that stays dynamic is an error that says how to give it.
std::vector<Shape> concrete_shapes(const Engine& engine, const std::map<std::string, Shape>& shapes,
                                   int64_t batch);

// Says in one line that `batch`, of `flag`, changed nothing: the model, or --shape, fixes the number of samples, and it is another.
void warn_of_fixed_batch(const Engine& engine, const std::vector<Shape>& shapes, int64_t batch,
                         std::string_view flag = "--batch");

// The shapes where nobody is asked, for looking at an engine: later dimensions have the sizes of sample_shapes().
std::vector<Shape> assumed_shapes(const Engine& engine);

uint64_t file_bytes(const std::filesystem::path& path);

std::string coverage_line(const Coverage& coverage);
std::vector<std::string> tensor_names(std::span<const TensorInfo> infos);
std::string joined(std::span<const std::string> names, const std::string& separator = ", ");

}  // namespace octet::cli
