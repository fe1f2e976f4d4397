// Runs every rule over one input and turns hits into findings with the words of the rules' pages.
#pragma once

#include <span>
#include <vector>

#include "base/embedded_file.h"
#include "knowledge/formats/input.h"
#include "spec/finding.h"

namespace fx::embedded {
std::span<const EmbeddedFile> rule_pages();  // "accelerate/accelerate-unknown-top-key.md", text
}

namespace fx::knowledge {

// Sorted: errors first, then by line. Pages are parsed only for rules that hit.
std::vector<Finding> validate(const Input& input);

}  // namespace fx::knowledge
