// Which format a text is, from its content; the file's name is only a hint.
#pragma once

#include <string>
#include <string_view>

#include "knowledge/formats/input.h"

namespace fx::knowledge {

// "yaml", "json", "toml", "python", "shell" or "text".
std::string guess_syntax(std::string_view text, std::string_view filename);
bool is_env_line(std::string_view line);  // NAME=..., with or without export
KeyNames key_names(const Document& document, std::string_view text, const std::string& syntax);
// Sets applicable, format, formats or seems and pointer.
void recognise_structured(Input& input, const KeyNames& names);
void recognise_script(Input& input);
void recognise_other(Input& input, const KeyNames& names);  // fills seems and pointer

}  // namespace fx::knowledge
