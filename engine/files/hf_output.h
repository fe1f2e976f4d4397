// Writing a Hugging Face model folder by several ranks at once, each its own rows, and publishing it in one step.
//
//   HfOutput out(plan_hf_output(shape, dtype_of), staging);   // every rank, same arguments
//   rank 0: out.create(model_folder); barrier; every rank: out.open(), write_rows(...), sync(); barrier;
//   rank 0: publish_folder(staging, final_folder)  (publish.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/files/safetensors.h"
#include "spec/model_shape.h"

namespace fx::engine {

// Which parameter goes where: one model.safetensors, or several files and an index when larger than max_file_bytes.
struct HfOutputPlan {
  struct PlannedFile {
    std::string name;  // model.safetensors, model-00001-of-00002.safetensors
    SafetensorsHeader header;
  };
  std::vector<PlannedFile> files;
  std::uint64_t total_bytes = 0;  // of the tensors
};
using DtypeOf = std::function<FileDtype(std::string_view parameter)>;
HfOutputPlan plan_hf_output(const ModelShape& shape, const DtypeOf& dtype_of,
                            std::uint64_t max_file_bytes = 5'000'000'000);

// Tokenizer and chat template files of a model folder, those that are there.
Result<void> copy_tokenizer_files(const std::filesystem::path& from, const std::filesystem::path& to);

class HfOutput {
 public:
  HfOutput(HfOutputPlan plan, std::filesystem::path folder) : plan_(std::move(plan)), folder_(std::move(folder)) {}
  // One rank: makes the folder and its preallocated files, and copies config.json (with the first tensor's dtype),
  // generation and tokenizer files of the source model. A folder left by an interrupted save is removed first.
  Result<void> create(const std::filesystem::path& source_model) const;
  // Every rank, after create() returned on the one that called it.
  Result<void> open();
  Result<void> write_rows(std::string_view parameter, std::int64_t first, std::int64_t count,
                          std::span<const float> values);
  Result<void> sync();  // this process's bytes are on disk

 private:
  HfOutputPlan plan_;
  std::filesystem::path folder_;
  std::vector<SafetensorsWriter> writers_;
  std::map<std::string, std::size_t, std::less<>> file_of_;
};

}  // namespace fx::engine
