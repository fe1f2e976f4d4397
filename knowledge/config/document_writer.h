// Settings as text in the syntaxes that configuration files have; what these write, our readers and the frameworks'
// own loaders read back as the same values.
#pragma once

#include <string>
#include <string_view>

#include "spec/json.h"

namespace fx::knowledge {

// Block style, YAML 1.1 as PyYAML reads it: a text that would turn into a bool, number or date is quoted.
std::string write_yaml(const Json& mapping);
// Tables after the plain keys of their parent; lists and mappings inside lists inline. Null values are left out.
std::string write_toml(const Json& mapping);
// "--key value" a line, booleans as True and False, mappings as JSON in single quotes.
std::string write_flags(const Json& mapping);

}  // namespace fx::knowledge
