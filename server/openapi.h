// The OpenAPI 3.1 document of the REST interface, made from the catalogue.
#pragma once

#include <vector>

#include "tools/tool.h"

namespace fx::server {

Json openapi_document(const std::vector<tools::Tool>& catalogue);

}  // namespace fx::server
