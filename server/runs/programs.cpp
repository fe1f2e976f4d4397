#include "server/runs/programs.h"

#include <cstdlib>

namespace fx::server {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool is_file(const std::filesystem::path& path) {
  std::error_code code;
  return std::filesystem::is_regular_file(path, code);
}

}  // namespace

std::filesystem::path own_program() {
  std::error_code code;
  return std::filesystem::read_symlink("/proc/self/exe", code);
}

Result<std::filesystem::path> find_engine() {
  if (const std::string given = environment("FX_ENGINE"); !given.empty()) {
    if (is_file(given)) return std::filesystem::path(given);
    return unavailable("FX_ENGINE names no file: " + given, "let it name the fsdp-engine program, or unset it");
  }
  const auto beside = own_program().parent_path() / "fsdp-engine";
  if (is_file(beside)) return beside;
  return unavailable("the training engine is not installed: there is no " + beside.string(),
                     "build it (make build), or let FX_ENGINE name it");
}

std::string find_python() {
  if (const std::string given = environment("FX_PYTHON"); !given.empty()) return given;
  return is_file(FX_BUILD_PYTHON) ? FX_BUILD_PYTHON : "python3";
}

Result<std::filesystem::path> find_tokenizer() {
  if (const std::string given = environment("FX_TOKENIZER"); !given.empty()) return std::filesystem::path(given);
  const auto shared = own_program().parent_path().parent_path() / "share/fsdp-expert/tokenize.py";
  for (const std::filesystem::path& place : {shared, std::filesystem::path(FX_BUILD_TOKENIZER)}) {
    if (is_file(place)) return place;
  }
  return unavailable("the tokenizer script is not installed: there is no " + shared.string(),
                     "install it there, let FX_TOKENIZER name it, or give a token file (data.format tokens)");
}

}  // namespace fx::server
