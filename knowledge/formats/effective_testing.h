// Shared by the tests of the effective run.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "knowledge/formats/effective.h"

namespace fx::knowledge {

using FlatFields = std::map<std::string, std::string>;

Input input_of(std::string_view text, Context context = {});
Context cluster(long long gpus, long long nodes);
// The text is read as this format, and its run has these fields ("" stands for a field that must stay open).
void expect_run(const Input& input, std::string_view format, const FlatFields& want);

}  // namespace fx::knowledge
