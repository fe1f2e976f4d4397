// The tools over plain HTTP: POST /v1/tools/<name>, GET /v1/tools.
#pragma once

#include <string_view>
#include <vector>

#include "server/http.h"
#include "tools/tool.h"

namespace fx::server {

// The media type is application/json or application/*+json; an absent one is let pass.
bool is_json_type(std::string_view content_type);

// Calls the tool named by the path's last segment, which must exist. 200 with the answer, or a problem.
HttpResponse call_over_rest(const std::vector<tools::Tool>& catalogue, tools::ToolContext& context,
                            const HttpRequest& request);

HttpResponse list_over_rest(const std::vector<tools::Tool>& catalogue);

}  // namespace fx::server
