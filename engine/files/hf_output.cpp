#include "engine/files/hf_output.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "spec/json.h"

namespace fx::engine {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string>& tokenizer_files() {
  static const std::vector<std::string> names = {
      "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json",
      "merges.txt",     "tokenizer.model",       "chat_template.jinja",     "chat_template.json"};
  return names;
}

std::string_view config_dtype(FileDtype dtype) {
  return dtype == FileDtype::kF32 ? "float32" : dtype == FileDtype::kF16 ? "float16" : "bfloat16";
}

Result<void> copy_if_there(const fs::path& from, const fs::path& to, const std::string& name) {
  std::error_code code;
  if (!fs::exists(from / name, code)) return {};
  fs::copy_file(from / name, to / name, fs::copy_options::overwrite_existing, code);
  if (code) return file_error(to / name, "cannot copy", code.value());
  return {};
}

// config.json as it was, but for the dtype that the new files hold.
Result<void> write_config(const fs::path& from, const fs::path& to, FileDtype dtype) {
  const auto text = read_file(from / "config.json", std::size_t{4} << 20);
  if (!text) return text.error();
  auto json = parse_json(*text);
  if (!json || !json->is_object()) return invalid_argument((from / "config.json").string(), "not a JSON object");
  (*json)[json->contains("dtype") ? "dtype" : "torch_dtype"] = config_dtype(dtype);
  return write_file_atomic(to / "config.json", to_text(*json, 2) + "\n");
}

Result<void> write_index(const HfOutputPlan& plan, const fs::path& folder) {
  Json map = Json::object();
  for (const auto& file : plan.files) {
    for (const auto& tensor : file.header.tensors) map[tensor.name] = file.name;
  }
  const Json index = {{"metadata", {{"total_size", plan.total_bytes}}}, {"weight_map", std::move(map)}};
  return write_file_atomic(folder / "model.safetensors.index.json", to_text(index, 2) + "\n");
}

}  // namespace

Result<void> copy_tokenizer_files(const fs::path& from, const fs::path& to) {
  for (const auto& name : tokenizer_files()) {
    if (auto copied = copy_if_there(from, to, name); !copied) return copied;
  }
  return {};
}

HfOutputPlan plan_hf_output(const ModelShape& shape, const DtypeOf& dtype_of, std::uint64_t max_file_bytes) {
  HfOutputPlan plan;
  std::vector<std::vector<TensorPlan>> files(1);
  std::uint64_t in_file = 0;
  for (auto& parameter : parameters_of(shape)) {
    const FileDtype dtype = dtype_of(parameter.name);
    const std::uint64_t bytes = static_cast<std::uint64_t>(parameter.count()) * size_of(dtype);
    if (in_file > 0 && in_file + bytes > max_file_bytes) {
      files.emplace_back();
      in_file = 0;
    }
    in_file += bytes;
    plan.total_bytes += bytes;
    files.back().push_back({std::move(parameter.name), dtype, std::move(parameter.shape)});
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    char name[64];
    std::snprintf(name, sizeof(name), "model-%05zu-of-%05zu.safetensors", i + 1, files.size());
    plan.files.push_back({files.size() == 1 ? "model.safetensors" : name, plan_safetensors(files[i])});
  }
  return plan;
}

Result<void> HfOutput::create(const fs::path& source_model) const {
  std::error_code code;
  fs::remove_all(folder_, code);
  fs::create_directories(folder_, code);
  if (code) return file_error(folder_, "cannot create the folder", code.value());
  for (const auto& file : plan_.files) {
    if (auto made = create_safetensors(folder_ / file.name, file.header); !made) return made;
  }
  if (plan_.files.size() > 1) {
    if (auto made = write_index(plan_, folder_); !made) return made;
  }
  if (auto copied = copy_tokenizer_files(source_model, folder_); !copied) return copied;
  if (auto copied = copy_if_there(source_model, folder_, "generation_config.json"); !copied) return copied;
  return write_config(source_model, folder_, plan_.files.front().header.tensors.front().dtype);
}

Result<void> HfOutput::open() {
  for (const auto& file : plan_.files) {
    auto writer = SafetensorsWriter::open(folder_ / file.name, file.header);
    if (!writer) return writer.error();
    for (const auto& tensor : file.header.tensors) file_of_[tensor.name] = writers_.size();
    writers_.push_back(std::move(*writer));
  }
  return {};
}

Result<void> HfOutput::write_rows(std::string_view parameter, std::int64_t first, std::int64_t count,
                                  std::span<const float> values) {
  const auto file = file_of_.find(parameter);
  if (file == file_of_.end()) return not_found("no parameter \"" + quote_input(parameter, 120) + "\" in the output");
  return writers_[file->second].write_rows(parameter, first, count, values);
}

Result<void> HfOutput::sync() {
  for (auto& writer : writers_) {
    if (auto synced = writer.sync(); !synced) return synced;
  }
  return {};
}

}  // namespace fx::engine
