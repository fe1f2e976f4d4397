// A Hugging Face model folder: config.json and the weights in one safetensors file or several with an index.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/files/safetensors.h"
#include "spec/model_shape.h"

namespace fx::engine {

// The shape of the model in a folder, from its config.json alone. Errors name the file and the field.
Result<ModelShape> read_folder_shape(const std::filesystem::path& folder);

class HfFolder {
 public:
  // Reads config.json and every file's header, and checks that each parameter of the model is there with its shape and
  // a float dtype: all that is missing or wrong is reported at once. Reads no weights.
  static Result<HfFolder> open(const std::filesystem::path& folder);

  const std::filesystem::path& folder() const { return folder_; }
  const ModelShape& shape() const { return shape_; }
  const TensorInfo* find(std::string_view parameter) const;
  // Rows [first, first + count) of a parameter as floats, row-major. kNotFound for an unknown name. Threads may share
  // it.
  Result<void> read_rows(std::string_view parameter, std::int64_t first, std::int64_t count,
                         std::span<float> out) const;

 private:
  HfFolder(std::filesystem::path folder, ModelShape shape) : folder_(std::move(folder)), shape_(std::move(shape)) {}
  Result<void> open_files();
  Result<void> check_parameters() const;
  std::filesystem::path folder_;
  ModelShape shape_;
  std::vector<SafetensorsFile> files_;
  struct Place {
    std::size_t file = 0;
    std::size_t tensor = 0;
  };
  std::map<std::string, Place, std::less<>> places_;
};

}  // namespace fx::engine
