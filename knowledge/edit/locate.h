// From a finding's place to the entry in the text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "knowledge/edit/change.h"
#include "knowledge/edit/entry.h"

namespace fx::knowledge {

std::optional<Entry> locate(const Input& input, const TextMap& map, const Place& place);
// The value as this entry's syntax writes it; old: the value it replaces, whose True or true is kept.
std::string render(const std::string& value, Entry::Form form, std::string_view old);
std::string last_part(const std::string& path);    // "a.b" -> "b"
std::string parent_part(const std::string& path);  // "a.b" -> "a", "a" -> ""

}  // namespace fx::knowledge
