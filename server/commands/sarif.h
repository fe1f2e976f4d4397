// SARIF 2.1.0, which code hosts and editors show beside the lines.
#pragma once

#include "spec/json.h"

namespace fx::server {

// rows: [{"file", "answer": validate_config's answer} or {"file", "error": why it could not be read}].
Json sarif_document(const Json& rows);

}  // namespace fx::server
