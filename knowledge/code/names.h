// One name for one thing: the many paths under which torch, accelerate and others offer the same class or function.
#pragma once

#include <string>
#include <string_view>

namespace fx::knowledge::code {

// "torch.utils.data.distributed.DistributedSampler" -> "torch.utils.data.DistributedSampler".
std::string canonical_name(std::string_view dotted);
// "pkg.sub.name" -> "name".
std::string_view last_part(std::string_view dotted);
bool ends_with_part(std::string_view dotted, std::string_view part);  // part is the last component
bool is_class_like(std::string_view dotted);                          // the last component begins with a capital

bool is_method_of_modules(std::string_view name);  // of every nn.Module: "eval", "parameters"

}  // namespace fx::knowledge::code
