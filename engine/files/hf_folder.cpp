#include "engine/files/hf_folder.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/file.h"
#include "base/text.h"

namespace fx::engine {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMaxIndexBytes = std::size_t{64} << 20;

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> parts;
  for (const auto size : shape) parts.push_back(std::to_string(size));
  return "[" + join(parts, ", ") + "]";
}

// A name in an index comes from outside: it may not lead out of the folder.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name.find('\0') == std::string::npos && name != "..";
}

// The files that an index names, each once.
Result<std::set<std::string>> files_of_index(const fs::path& path) {
  const auto text = read_file(path, kMaxIndexBytes);
  if (!text) return text.error();
  const auto bad = [&](const std::string& what) {
    return invalid_argument(path.string(), what, "copy or download the model again");
  };
  // std::map inside: an index of a large model has many thousand names.
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (json.is_discarded()) return bad("not valid JSON");
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object())
    return bad("has no weight_map");
  std::set<std::string> files;
  for (const auto& [tensor, file] : json["weight_map"].items()) {
    if (!file.is_string() || !is_plain_name(file.get<std::string>())) {
      return bad("weight_map entry \"" + quote_input(tensor, 120) + "\" names no file of this folder");
    }
    files.insert(file.get<std::string>());
  }
  if (files.empty()) return bad("its weight_map is empty");
  return files;
}

bool is_trainable(FileDtype dtype) {
  return dtype == FileDtype::kF32 || dtype == FileDtype::kBF16 || dtype == FileDtype::kF16;
}

}  // namespace

Result<ModelShape> read_folder_shape(const fs::path& folder) {
  const fs::path config = folder / "config.json";
  std::error_code code;
  if (!fs::is_directory(folder, code)) {
    Error error =
        not_found("no such model folder", "give a Hugging Face folder with config.json and safetensors files");
    error.field = folder.string();
    return error;
  }
  const auto text = read_file(config, std::size_t{4} << 20);
  if (!text) return text.error();
  auto shape = read_model_shape_text(*text);
  if (!shape) {
    Error error = shape.error();
    error.field = config.string() + (error.field.empty() ? "" : ": " + error.field);
    for (auto& detail : error.details) detail.field = config.string() + ": " + detail.field;
    return error;
  }
  return shape;
}

Result<HfFolder> HfFolder::open(const fs::path& folder) {
  auto shape = read_folder_shape(folder);
  if (!shape) return shape.error();
  HfFolder out(folder, std::move(*shape));
  if (auto opened = out.open_files(); !opened) return opened.error();
  if (auto checked = out.check_parameters(); !checked) return checked.error();
  return out;
}

Result<void> HfFolder::open_files() {
  std::set<std::string> names = {"model.safetensors"};
  const fs::path index = folder_ / "model.safetensors.index.json";
  std::error_code code;
  if (!fs::exists(folder_ / "model.safetensors", code)) {
    if (!fs::exists(index, code)) {
      Error error = not_found("has neither model.safetensors nor model.safetensors.index.json",
                              "convert other formats first: from_pretrained(...).save_pretrained(folder)");
      error.field = folder_.string();
      return error;
    }
    auto listed = files_of_index(index);
    if (!listed) return listed.error();
    names = std::move(*listed);
  }
  for (const auto& name : names) {
    auto file = SafetensorsFile::open(folder_ / name);
    if (!file) return file.error();
    const auto& tensors = file->header().tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (!places_.emplace(tensors[i].name, Place{files_.size(), i}).second) {
        return invalid_argument((folder_ / name).string(),
                                "tensor \"" + quote_input(tensors[i].name, 120) + "\" is in an earlier file too",
                                "remove files of another model from the folder");
      }
    }
    files_.push_back(std::move(*file));
  }
  return {};
}

Result<void> HfFolder::check_parameters() const {
  std::vector<Error> errors;
  for (const auto& parameter : parameters_of(shape_)) {
    const TensorInfo* tensor = find(parameter.name);
    if (tensor == nullptr) {
      errors.push_back(invalid_argument(folder_.string(), "parameter " + parameter.name + " is in no file",
                                        "config.json and the weights must be of the same model"));
    } else if (tensor->shape != parameter.shape) {
      errors.push_back(invalid_argument(folder_.string(),
                                        "parameter " + parameter.name + " has shape " + shape_text(tensor->shape) +
                                            ", config.json asks for " + shape_text(parameter.shape),
                                        "config.json and the weights must be of the same model"));
    } else if (!is_trainable(tensor->dtype)) {
      errors.push_back(unsupported(
          folder_.string(), "parameter " + parameter.name + " is of type " + std::string(to_string(tensor->dtype)),
          "use F32, BF16 or F16 weights"));
    }
    if (errors.size() == 20) break;
  }
  if (!errors.empty()) return combine(std::move(errors));
  return {};
}

const TensorInfo* HfFolder::find(std::string_view parameter) const {
  const auto place = places_.find(parameter);
  return place == places_.end() ? nullptr : &files_[place->second.file].header().tensors[place->second.tensor];
}

Result<void> HfFolder::read_rows(std::string_view parameter, std::int64_t first, std::int64_t count,
                                 std::span<float> out) const {
  const auto place = places_.find(parameter);
  if (place == places_.end()) {
    return not_found("no parameter \"" + quote_input(parameter, 120) + "\" in " + folder_.string());
  }
  const auto& file = files_[place->second.file];
  return file.read_rows(file.header().tensors[place->second.tensor], first, count, out);
}

}  // namespace fx::engine
