// SPDX-License-Identifier: Apache-2.0
#include "tensorrt/plugins/formats.h"

#include <algorithm>
#include <set>

#include "tensorrt/shared/block_format.h"

namespace octet_trt {
namespace {

constexpr size_t kMostCombos = 4096;  // of an operator (docs/plugins.md)
constexpr int64_t kMostQuestions = 1 << 18;

// In what a plugin may be asked to take or give a tensor that the network has as `type`.
std::vector<DataType> types_for(DataType type) {
  if (type == DataType::kFLOAT) return {DataType::kFLOAT, DataType::kINT8};
  return {type};
}

bool has_formats(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kINT8;
}

bool fits(const FormatInfo& info, const Dims& dims) {
  return info.format == TensorFormat::kLINEAR || dims.nbDims >= info.spatial + 1;
}

class Search {
 public:
  Search(const PluginObject& plugin, PluginIo& io) : plugin_(plugin), io_(io) {
    for (const auto& tensor : io.tensors) types_.push_back(types_for(tensor.desc.type));
  }

  // Row-major first; then channels last, which Octet has, too; then blocks for what neither of these does.
  void run() {
    formats_ = {TensorFormat::kLINEAR};
    explore(0);
    formats_ = {TensorFormat::kHWC, TensorFormat::kLINEAR};
    explore(0);
    formats_.clear();
    for (const FormatInfo& info : known_formats()) formats_.push_back(info.format);
    only_new_ = true;
    explore(0);
  }

  std::vector<PluginCombo> combos;
  bool cut = false;

 private:
  void explore(size_t at) {
    if (at == io_.tensors.size()) return keep();
    PluginTensorDesc& desc = io_.tensors[at].desc;
    const PluginTensorDesc before = desc;
    for (const DataType type : types_[at]) {
      desc.type = type;
      for (const TensorFormat format : formats_of(desc)) {
        desc.format = format;
        if (cut || asked_++ >= kMostQuestions) {
          cut = true;
          continue;
        }
        if (plugin_.supports(static_cast<int32_t>(at), io_)) explore(at + 1);
      }
    }
    desc = before;
  }

  // Integers lie row-major. Of channels last and rows a tensor has the one that it can have.
  std::vector<TensorFormat> formats_of(const PluginTensorDesc& desc) const {
    std::vector<TensorFormat> fitting;
    for (const TensorFormat format : formats_) {
      const bool is_linear = format == TensorFormat::kLINEAR;
      if ((is_linear || has_formats(desc.type)) && fits(*format_info(format), desc.dims))
        fitting.push_back(format);
    }
    if (formats_.size() == 2) fitting.resize(1);
    return fitting;
  }

  void keep() {
    PluginCombo combo;
    std::vector<DataType> types;
    for (const auto& tensor : io_.tensors) {
      combo.push_back({tensor.desc.type, tensor.desc.format});
      types.push_back(tensor.desc.type);
    }
    const bool is_new = known_.insert(types).second;
    if (only_new_ && !is_new) return;
    if (std::ranges::find(combos, combo) != combos.end()) return;
    if (combos.size() < kMostCombos) {
      combos.push_back(std::move(combo));
    } else {
      cut = true;
    }
  }

  const PluginObject& plugin_;
  PluginIo& io_;
  std::vector<std::vector<DataType>> types_;
  std::vector<TensorFormat> formats_;
  std::set<std::vector<DataType>> known_;
  bool only_new_ = false;
  int64_t asked_ = 0;
};

// All that tensor `at` could be; it is left as the first of these that the plugin takes.
std::string cells(const PluginObject& plugin, PluginIo& io, size_t at) {
  PluginTensorDesc& desc = io.tensors[at].desc;
  const PluginTensorDesc offered = desc;
  PluginTensorDesc kept = offered;
  bool found = false;
  std::string text;
  const auto ask = [&](DataType type, const FormatInfo& info) {
    desc.type = type;
    desc.format = info.format;
    const bool takes = plugin.supports(static_cast<int32_t>(at), io);
    const std::string cell = std::string(name_of(type)) + " " + info.name;
    text += takes ? " " + cell : " [" + cell + "]";
    if (takes && !found) kept = desc;
    found = found || takes;
  };
  std::vector<DataType> types = {offered.type};
  if (has_formats(offered.type)) types = {DataType::kFLOAT, DataType::kHALF, DataType::kINT8};
  for (const DataType type : types) {
    for (const FormatInfo& info : known_formats()) {
      const bool is_linear = info.format == TensorFormat::kLINEAR;
      if (is_linear || (has_formats(type) && fits(info, offered.dims))) ask(type, info);
    }
  }
  desc = kept;
  return text;
}

// For people: for each tensor what the network offers, and every cell that the plugin was asked about, those that it refuses in brackets.
std::string matrix(const PluginObject& plugin, PluginIo io) {
  std::string text;
  for (size_t at = 0; at < io.tensors.size(); ++at) {
    const PluginTensorDesc& offered = io.tensors[at].desc;
    const bool is_input = at < static_cast<size_t>(io.inputs);
    const size_t number = is_input ? at : at - static_cast<size_t>(io.inputs);
    text += std::string("\n  ") + (is_input ? "input " : "output ") + std::to_string(number) +
            ", " + name_of(offered.type) + " " + to_string(offered.dims) + ":";
    text += cells(plugin, io, at);
  }
  return text + "\n  [ ]: refused by supportsFormatCombination()";
}

bool is_of_reals(const PluginCombo& combo, const PluginIo& io) {
  for (size_t i = 0; i < combo.size(); ++i)
    if (combo[i].type != io.tensors[i].desc.type) return false;
  return true;
}

// Reals as halves, for a plugin that takes no others.
PluginIo as_halves(PluginIo io) {
  for (auto& tensor : io.tensors)
    if (tensor.desc.type == DataType::kFLOAT) tensor.desc.type = DataType::kHALF;
  return io;
}

// The combinations for these types, that of the types themselves first; none where that one is not among them.
struct Found {
  Found(const PluginObject& plugin, const PluginIo& offered) {
    PluginIo io = offered;
    Search search(plugin, io);
    search.run();
    cut = search.cut;
    const auto reals = std::ranges::find_if(
        search.combos, [&](const PluginCombo& combo) { return is_of_reals(combo, offered); });
    if (reals == search.combos.end()) return;
    std::rotate(search.combos.begin(), reals, reals + 1);
    combos = std::move(search.combos);
  }
  std::vector<PluginCombo> combos;
  bool cut = false;
};

}  // namespace

PluginSignature negotiate(const PluginObject& plugin, const PluginName& name, const PluginIo& io,
                          const Reporter& reporter) {
  Found found(plugin, io);
  if (found.combos.empty()) found = Found(plugin, as_halves(io));
  if (found.combos.empty()) {
    plugin_failed(name,
                  "could not find any supported formats consistent with input/output data types; "
                  "calibration and every network without INT8 need the types that are offered, or "
                  "Half for Float:" +
                      matrix(plugin, io));
  }
  if (found.cut) {
    reporter.warn(name.text() + ": it supports more than " + std::to_string(kMostCombos) +
                  " combinations of formats, or needs more than " + std::to_string(kMostQuestions) +
                  " questions; the first " + std::to_string(found.combos.size()) +
                  " are considered");
  }
  PluginSignature signature;
  signature.type = name.type;
  signature.inputs = io.inputs;
  for (const auto& tensor : io.tensors) signature.ranks.push_back(tensor.desc.dims.nbDims);
  signature.combos = std::move(found.combos);
  return signature;
}

}  // namespace octet_trt
