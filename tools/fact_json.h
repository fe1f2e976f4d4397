// A fact as the tools print it.
#pragma once

#include "knowledge/store/fact.h"
#include "spec/json.h"

namespace fx::tools {

// {id, kind, title, text, source{}, contradicted_by[]}
Json fact_to_json(const knowledge::Fact& fact);

}  // namespace fx::tools
