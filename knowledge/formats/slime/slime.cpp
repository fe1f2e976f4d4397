#include "knowledge/formats/slime/slime.h"

#include "base/text.h"
#include "knowledge/formats/launch/cluster.h"

namespace fx::knowledge {

SlimeView slime_view(const Input& input) {
  SlimeView view;
  view.flags.kind = Node::Kind::kMap;
  view.relax = contains(input.text, "relax.entrypoints");
  view.miles = contains_ignoring_case(input.text, "miles");
  if (const Launch* launch = input.launch_with("train_backend")) {
    view.flags = launch->arguments;
    view.complete = !has_open_arguments(*launch);
    return view;
  }
  for (const auto& command : input.script.commands) {  // a launcher we do not know
    Node flags = read_flags(command.words, 0);
    if (flags.find("train_backend") == nullptr) continue;
    view.flags = std::move(flags);
    return view;
  }
  for (const auto& assignment : input.script.assignments) {  // arrays alone, without their launch line
    if (view.flags.children.size() > 5000) break;
    Node flags = read_flags(assignment.items, 0);
    for (auto& flag : flags.children) view.flags.children.push_back(std::move(flag));
  }
  return view;
}

}  // namespace fx::knowledge
