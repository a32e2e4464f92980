// SPDX-License-Identifier: Apache-2.0
#include "pipeline/found_beside.h"

#include <system_error>

#include "core/check.h"
#include "core/file.h"
#include "data/preprocess.h"

namespace octet {
namespace {

constexpr u64 kMostBytes = 1 << 20;

struct Beside {
  std::string_view name;
  std::optional<FoundPreprocess> (*read)(std::string_view text, const std::string& file);
};

constexpr Beside kBeside[] = {{kHuggingFaceFile, &found_in_hugging_face},
                              {kTimmFile, &found_in_timm}};

std::optional<FoundPreprocess> found_in(const std::filesystem::path& folder, const Beside& beside) {
  const std::filesystem::path path = folder / beside.name;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  const std::vector<u8> bytes = read_file(path, kMostBytes);
  return beside.read({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                     std::string(beside.name));
}

std::optional<FoundPreprocess> beside_model(const std::filesystem::path& folder,
                                            std::vector<std::string>& notes) {
  for (const Beside& beside : kBeside) {
    try {
      if (auto found = found_in(folder, beside)) return found;
    } catch (const Error& error) {
      if (error.code() == Error::Code::internal || error.code() == Error::Code::out_of_memory)
        throw;
      notes.push_back(
          fmt::format("{} beside the model is not used: {}", beside.name, error.message()));
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<FoundPreprocess> find_preprocess(const FloatModel& model, const Metadata& metadata,
                                               const std::filesystem::path& folder,
                                               std::vector<std::string>& notes) {
  const Graph& graph = *model.graph;
  if (graph.inputs.size() != 1) return std::nullopt;
  const Value& input = graph.value(graph.inputs[0]);
  const int axis = image_channel_axis(input.type.shape);
  if (axis < 0) return std::nullopt;
  auto found = found_in_metadata(metadata);
  if (!found && !folder.empty()) found = beside_model(folder, notes);
  if (!found) return std::nullopt;
  found->preprocess.layout = axis == input.type.shape.rank() - 1 ? "nhwc" : "nchw";
  try {
    found->preprocess = resolve_preprocess(found->preprocess, input.type, input.name);
  } catch (const Error& error) {
    notes.push_back(fmt::format("{} is not used: {}", found->from, error.message()));
    return std::nullopt;
  }
  notes.insert(notes.end(), found->notes.begin(), found->notes.end());
  return found;
}

}  // namespace octet
