// Where the programs lie that a run starts.
#pragma once

#include <filesystem>
#include <string>

#include "base/result.h"

namespace fx::server {

std::filesystem::path own_program();

// $FX_ENGINE, else fsdp-engine beside our own program. Error: kUnavailable.
Result<std::filesystem::path> find_engine();
// $FX_PYTHON, else the interpreter of this build's virtual environment, else python3 in PATH.
std::string find_python();
// The script that turns text into token files: $FX_TOKENIZER, else ../share/fsdp-expert/tokenize.py beside our own
// program, else the one this program was built with. Error: kUnavailable.
Result<std::filesystem::path> find_tokenizer();

}  // namespace fx::server
