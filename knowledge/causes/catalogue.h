// The ordered list of causes, and their marks compiled into one table.
#pragma once

#include <vector>

#include "knowledge/causes/cause.h"
#include "knowledge/store/page.h"

namespace fx::knowledge {

const std::vector<CauseRule>& cause_rules();
const MarkTable& cause_marks();  // the core events' marks and every cause's, group = cause id
// Parsed on first use; throws when a page is missing or broken (a fault of the build).
const Page& cause_page(const std::string& id);

}  // namespace fx::knowledge
