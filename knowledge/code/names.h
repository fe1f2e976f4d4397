// One name for one thing: the many paths under which torch, accelerate and others offer the same class or function.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace fx::knowledge::code {

// "torch.utils.data.distributed.DistributedSampler" -> "torch.utils.data.DistributedSampler".
std::string canonical_name(std::string_view dotted);
// "pkg.sub.name" -> "name".
std::string_view last_part(std::string_view dotted);
bool ends_with_part(std::string_view dotted, std::string_view part);  // part, without dots, is the last component
bool is_class_like(std::string_view dotted);                          // the last component begins with a capital
// Some part stands in the name, in capitals or not.
bool mentions(std::string_view name, std::initializer_list<std::string_view> parts);

}  // namespace fx::knowledge::code
