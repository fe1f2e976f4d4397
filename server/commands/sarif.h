// SARIF 2.1.0, which code hosts show beside the lines.
#pragma once

#include "spec/json.h"

namespace fx::server {

// answers: [{"file", "answer": validate_config's answer}].
Json sarif_document(const Json& answers);

}  // namespace fx::server
